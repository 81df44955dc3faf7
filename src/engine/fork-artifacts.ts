/** The node directories of a run, copied to a run that is forked from it. */
import { constants, mkdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { layout, nodeLayout } from '../model/layout.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { isMissing, makeFolder } from '../system/files.ts';
import { below } from '../workspace/names.ts';
import { namesIn, walk } from '../workspace/walk.ts';
import { readStage, writeStage } from './node-dir.ts';

/** Copies the directories of the executions in `records` from the run in `from` to the one in `to`, each to where it was
 *  after the last of them. Returns the executions whose directory is gone, as `node@visit`. */
export async function copyArtifacts(
  from: string,
  to: string,
  records: readonly RunRecord[],
  marker: string,
): Promise<string[]> {
  const latest = new Map<string, number>();
  for (const record of records) if (record.type === 'Visit') latest.set(record.node, record.visit);
  const lost: string[] = [];
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    const { node, visit } = record;
    const [source, target] = [layout(from).node(node), layout(to).node(node)];
    const dir = latest.get(node) === visit ? target : join(nodeLayout(target).visits, String(visit));
    // Its processes are those of the forked run, which a resume of this one must not end.
    if (await copyExecution(source, visit, dir))
      await writeStage(dir, { visit, attempt: 1, marker, process: null });
    else lost.push(`${node}@${visit}`);
  }
  return lost.sort();
}

/** False where the directory is gone. */
async function copyExecution(source: string, visit: number, target: string): Promise<boolean> {
  const archive = join(nodeLayout(source).visits, String(visit));
  const isLatest = async () =>
    namesIn(archive, '').length === 0 && (await readStage(source))?.visit === visit;
  // A run that is under way may move it to its archive meanwhile.
  if ((await isLatest()) && (await copyFolder(source, target)) && (await isLatest())) return true;
  for (const name of namesIn(target, ''))
    if (name !== 'visits') await rm(below(target, name), { recursive: true, force: true });
  // The stage file is moved last.
  return (await readStage(archive)) !== undefined && copyFolder(archive, target);
}

/** Copies all except archived executions. False when something in the folder is gone meanwhile. */
async function copyFolder(from: string, to: string): Promise<boolean> {
  makeFolder(to);
  const isOut = (path: string) => !path.includes('/') && (path.endsWith('.tmp') || path === 'visits');
  for (const { path, kind } of walk(from, { enter: (folder) => !isOut(folder.path) })) {
    if (isOut(path)) continue;
    try {
      if (kind === 'dir') mkdirSync(below(to, path), { recursive: true });
      else if (kind === 'file')
        await copyFile(below(from, path), below(to, path), constants.COPYFILE_FICLONE);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }
  return true;
}
