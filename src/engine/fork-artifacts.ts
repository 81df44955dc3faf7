/** What the stages of a run left behind, taken over by a run that was forked from it. */
import { constants, mkdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../model/json.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { isMissing, makeFolder } from '../system/files.ts';
import { below } from '../workspace/names.ts';
import { namesIn, walk } from '../workspace/walk.ts';
import { readStage, writeStage } from './node-dir.ts';

/** How often a folder is looked for again that its run moves away meanwhile. */
const patience = 20;
/** Nodes that are copied at once. */
const atOnce = 16;

/** Copies the folders of the visits in `records` from the run in `from` to the one in `to`, each where it stood after
 *  the last of them. Answers with the visits whose folders are not there any more, as `node@visit`. */
export async function copyArtifacts(
  from: string,
  to: string,
  records: readonly RunRecord[],
  marker: string,
): Promise<string[]> {
  const last = new Map<string, number>();
  for (const record of records) if (record.type === 'Visit') last.set(record.node, record.visit);
  const lost: string[] = [];
  const nodes = [...last];
  for (let at = 0; at < nodes.length; at += atOnce) {
    const some = nodes.slice(at, at + atOnce).map(async ([node, visits]) => {
      const [source, target] = [layout(from).node(node), layout(to).node(node)];
      for (let visit = 1; visit <= visits; visit++) {
        const folder = visit === visits ? target : join(nodeLayout(target).visits, String(visit));
        if (!(await copyVisit(source, visit, folder))) lost.push(`${node}@${visit}`);
        // Its processes are the other run's, which a resume of this one must not end.
        else await writeStage(folder, { visit, attempt: 1, marker, process: null });
      }
    });
    await Promise.all(some);
  }
  return lost.sort();
}

async function copyVisit(source: string, visit: number, target: string): Promise<boolean> {
  for (let tries = 0; tries < patience; tries++) {
    const archive = join(nodeLayout(source).visits, String(visit));
    const top = (await readStage(source))?.visit === visit;
    const copied = await copyFolder(top ? source : archive, target, top);
    // A visit that begins meanwhile moves the one before it, file by file and the stage file last.
    const moving = top && namesIn(archive, '').length > 0;
    const isTop = (await readStage(source))?.visit === visit;
    if (copied && !moving && isTop === top) return true;
    await clear(target);
    if (!copied && !top && !isTop) return false;
  }
  return false;
}

/** All but the folders of other visits goes. */
async function clear(target: string): Promise<void> {
  for (const name of namesIn(target, '')) {
    if (name !== 'visits') await rm(below(target, name), { recursive: true, force: true });
  }
}

/** False when the folder, or something that was in it, is gone. */
async function copyFolder(from: string, to: string, withoutVisits: boolean): Promise<boolean> {
  if (namesIn(from, '').length === 0) return false;
  makeFolder(to);
  const isOut = (path: string) =>
    !path.includes('/') && (path.endsWith('.tmp') || (withoutVisits && path === 'visits'));
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

/** The records with paths of artifacts, which the engine tells later stages of, in the new run's folder. */
export function withOwnPaths(
  records: readonly RunRecord[],
  from: readonly string[],
  to: string,
): RunRecord[] {
  const key = 'last_failure.artifacts';
  return records.map((record) => {
    if (record.type !== 'Visit' || !Object.hasOwn(record.context.set, key)) return record;
    const artifacts = moved(record.context.set[key] ?? null, from, to);
    return { ...record, context: { ...record.context, set: { ...record.context.set, [key]: artifacts } } };
  });
}

function moved(value: Json, from: readonly string[], to: string): Json {
  if (typeof value === 'string') {
    const folder = from.find((one) => value.startsWith(`${one}/`));
    return folder === undefined ? value : `${to}${value.slice(folder.length)}`;
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, moved(text, from, to)]));
}
