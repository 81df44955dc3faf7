/** Copies the artifacts of another run, which is only read: the recorded answers, and the folders of executions. */
import { constants, lstatSync, mkdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { own } from '../../core/json.ts';
import { exchangesLayout, followedLayout, layout, nodeLayout } from '../../core/records/layout.ts';
import type { RunRecord, VisitRecord } from '../../core/records/visit.ts';
import { below } from '../../platform/files/names.ts';
import { namesIn } from '../../platform/files/read.ts';
import { isMissing, makeFolder, writeFileAtomic } from '../../platform/files/write.ts';
import { answersOf } from '../../run/answers.ts';
import { hashArtifact } from '../../run/artifacts.ts';
import { renameDirsIn } from '../../run/comparable.ts';
import { readExchanges } from '../../run/exchanges.ts';
import { readStage, writeStage } from '../../run/node-directory.ts';
import { entryNames, walk } from '../../workspace/walk.ts';

/* The recorded exchanges of a run, copied to a run that is forked from it or replays it. */

/** Copies the exchanges that the executions in `records` made from the run in `from` to the one in `to`. Returns why they
 *  cannot be copied, or undefined. */
export async function copyExchanges(
  from: string,
  to: string,
  records: readonly RunRecord[],
): Promise<string | undefined> {
  const [source, target] = [layout(from).exchanges, layout(to).exchanges];
  const read = await readExchanges(source);
  if (!read.ok) return read.missing ? undefined : `exchanges are not copied: ${read.why}`;
  const counted = new Set(answersOf(records, read.exchanges).values());
  if (counted.size === 0) return undefined;
  await copyBodies(source, target);
  const lines = read.exchanges.filter((stored) => counted.has(stored)).map(({ line }) => `${line}\n`);
  await writeFileAtomic(exchangesLayout(target).calls, lines.join(''), { sync: true });
  return undefined;
}

/** Puts the record of the run in `from` into the directory of a run that replays it: all exchanges and executions, and the
 *  artifacts of tools and verifications from the record numbered `begins` on (of none where that is undefined). */
export async function copyRecord(
  from: string,
  to: string,
  records: readonly RunRecord[],
  begins: number | undefined,
): Promise<Diagnostic | undefined> {
  const source = layout(from).exchanges;
  const at = followedLayout(layout(to).followed);
  await copyBodies(source, at.exchanges);
  await copied(exchangesLayout(source).calls, exchangesLayout(at.exchanges).calls);
  await writeFileAtomic(at.visits, linesOf(records), { sync: true });
  makeFolder(at.artifacts);
  for (const record of begins === undefined ? [] : records.slice(begins)) {
    if (record.type !== 'Visit' || !['tool', 'verification'].includes(record.node_type)) continue;
    const damaged = await copyArtifactsOf(record, layout(from).node(record.node), at.artifact);
    if (damaged !== undefined)
      return {
        code: 'replay-damaged',
        severity: 'error',
        message: `an artifact of ${record.node}@${record.visit} was changed or removed: ${damaged}`,
        fix: 'restore that file, or run tools and verifications again with --run-tools; nothing was replayed',
      };
  }
  return undefined;
}

/** Line by line: all lines of a long run are more than one text can hold. */
function* linesOf(records: readonly RunRecord[]): Iterable<Buffer> {
  for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
}

/** Copies the artifacts of an execution, each to where its hash says. Returns the path of one that is not as recorded. */
async function copyArtifactsOf(
  { visit, artifacts = {} }: VisitRecord,
  dir: string,
  to: (sha256: string) => string,
): Promise<string | undefined> {
  const archive = join(nodeLayout(dir).visits, String(visit));
  for (const [name, hash] of Object.entries(artifacts)) {
    let found = (await hashArtifact(to(hash))) === hash;
    // A run that is under way moves files from the first place to the second.
    for (const place of [dir, archive])
      found ||= (await copied(join(place, name), to(hash))) && (await hashArtifact(to(hash))) === hash;
    if (!found) return join(isFile(join(archive, name)) ? archive : dir, name);
  }
  return undefined;
}

async function copyBodies(from: string, to: string): Promise<void> {
  const [source, target] = [exchangesLayout(from), exchangesLayout(to)];
  makeFolder(target.bodies);
  for (const name of namesIn(source.bodies))
    if (/^[0-9a-f]{64}$/.test(name)) await copied(source.body(name), target.body(name));
}

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** False when there is no such file. */
async function copied(from: string, to: string): Promise<boolean> {
  if (!isFile(from)) return false;
  try {
    // An earlier copy may be read-only.
    await rm(to, { force: true });
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/* The node directories of a run, copied to a run that is forked from it. */

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
    entryNames(archive, '').length === 0 && (await readStage(source))?.visit === visit;
  // A run that is under way may move it to its archive meanwhile.
  if ((await isLatest()) && (await copyFolder(source, target)) && (await isLatest())) return true;
  for (const name of entryNames(target, ''))
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

/** The record with paths of artifacts in the new run's directory. Artifacts that are gone get no hashes. */
export function withOwnArtifacts(
  record: VisitRecord,
  isLost: boolean,
  from: readonly string[],
  to: string,
): VisitRecord {
  // These are of the other run.
  const { artifacts, spent: _, ended: __, marks: ___, ...rest } = record;
  const kept = isLost || artifacts === undefined ? rest : { ...rest, artifacts };
  const key = 'last_failure.artifacts';
  const paths = own(record.context.set, key);
  if (paths === undefined) return kept;
  const set = { ...record.context.set, [key]: renameDirsIn(paths, from, to) };
  return { ...kept, context: { ...record.context, set } };
}
