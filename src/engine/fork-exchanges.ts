/** The recorded exchanges of a run, copied to a run that is forked from it or replays it. */
import { constants, lstatSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { exchangesLayout, followedLayout, layout, nodeLayout } from '../model/layout.ts';
import type { RunRecord, VisitRecord } from '../model/visit-record.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { readExchanges } from '../store/exchanges.ts';
import { isMissing, makeFolder, writeFileAtomic } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { answersOf } from './replay.ts';

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
    let found = (await hashFile(to(hash))) === hash;
    // A run that is under way moves files from the first place to the second.
    for (const place of [dir, archive])
      found ||= (await copied(join(place, name), to(hash))) && (await hashFile(to(hash))) === hash;
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
