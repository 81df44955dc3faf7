/** The exchanges of a run, taken over by a run that begins at one of its moments or that follows it. */
import { constants, existsSync, lstatSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inHistory } from '../builder/in-history.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { exchangesLayout, followedLayout, layout, nodeLayout } from '../model/layout.ts';
import type { RunRecord, VisitRecord } from '../model/visit-record.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { bodiesOf, readExchanges } from '../store/exchanges.ts';
import { isMissing, makeFolder, writeFileAtomic } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { readStage } from './node-dir.ts';
import { answersOf } from './replay.ts';

export type TakenOver = {
  /** Snapshots that the exchanges name. */
  readonly snapshots: readonly string[];
  /** What could not be taken over, in words. */
  readonly notes: readonly string[];
};

/** Copies the exchanges that the visits in `records` made from the run in `from` to the one in `to`. */
export async function copyExchanges(
  from: string,
  to: string,
  records: readonly RunRecord[],
): Promise<TakenOver> {
  const source = exchangesLayout(layout(from).exchanges);
  const target = exchangesLayout(layout(to).exchanges);
  const read = await readExchanges(source.root);
  if (!read.ok)
    return { snapshots: [], notes: read.missing ? [] : [`exchanges are not taken over: ${read.why}`] };
  const counted = new Set(answersOf(records, read.exchanges).values());
  const taken = read.exchanges.filter((stored) => counted.has(stored));
  if (taken.length === 0) return { snapshots: [], notes: [] };
  makeFolder(target.bodies);
  const notes: string[] = [];
  for (const { exchange } of taken) {
    for (const body of bodiesOf(exchange)) {
      if (typeof body === 'string') continue;
      if (!(await copied(source.body(body.sha256), target.body(body.sha256))))
        notes.push(
          `a text of call ${exchange.call} of "${exchange.node}" is no longer there: ${source.body(body.sha256)}`,
        );
    }
  }
  await writeFileAtomic(target.calls, taken.map(({ line }) => `${line}\n`).join(''), { sync: true });
  return { snapshots: snapshotsOf(taken), notes };
}

/** Puts all that a replay follows into the run directory `to`: the other run's exchanges and visits, and what the tools
 *  and checks of those from the record numbered `begins` on left (of none where that is undefined). */
export async function copyFollowed(
  from: string,
  to: string,
  records: readonly RunRecord[],
  begins: number | undefined,
): Promise<TakenOver | { readonly problem: Diagnostic }> {
  const source = exchangesLayout(layout(from).exchanges);
  const at = followedLayout(layout(to).followed);
  const target = exchangesLayout(at.exchanges);
  makeFolder(target.bodies);
  await copied(source.calls, target.calls);
  for (const name of namesIn(source.bodies))
    if (/^[0-9a-f]{64}$/.test(name)) await copied(source.body(name), target.body(name));
  await writeFileAtomic(at.visits, linesOf(records), { sync: true });
  const stages = begins === undefined ? [] : records.slice(begins).filter(isStage);
  makeFolder(at.artifacts);
  for (const stage of stages) {
    const lost = await keptOf(from, stage, at.artifact);
    if (lost !== undefined)
      return {
        problem: {
          code: 'replay-damaged',
          severity: 'error',
          message: `what ${stage.node}@${stage.visit} of the run left is damaged: ${lost}`,
          fix: 'put back a copy of that file, or run tools and checks again: --run-tools; nothing of it was used',
        },
      };
  }
  await copied(inHistory(layout(from).history).proof, at.proof);
  const read = await readExchanges(target.root);
  return {
    snapshots: [
      ...(read.ok ? snapshotsOf([...answersOf(records, read.exchanges).values()]) : []),
      ...stages.flatMap(({ before, after }) => [before, after]),
    ],
    notes: [],
  };
}

/** Line by line: of a long run with large contexts all of them are more than one text can hold. */
function* linesOf(records: readonly RunRecord[]): Iterable<Buffer> {
  for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
}

/** Visits that a record can answer besides those of agents. */
const isStage = (record: RunRecord): record is VisitRecord =>
  record.type === 'Visit' && (record.node_type === 'tool' || record.node_type === 'verification');

/** Copies what a visit left in its folder, each file to where its hash says; answers with what is not as it was. */
async function keptOf(
  runDir: string,
  { node, visit, artifacts = {} }: VisitRecord,
  to: (sha256: string) => string,
): Promise<string | undefined> {
  const dir = layout(runDir).node(node);
  const archive = join(nodeLayout(dir).visits, String(visit));
  const places = (await readStage(dir))?.visit === visit ? [dir, archive] : [archive, dir];
  for (const [name, hash] of Object.entries(artifacts)) {
    let found = existsSync(to(hash));
    // A visit that begins meanwhile moves the files of the one before it, one by one; the hash tells whose one is.
    for (const place of [...places, ...places])
      found ||= (await copied(join(place, name), to(hash))) && (await hashFile(to(hash))) === hash;
    const [usual] = places;
    if (!found && usual !== undefined)
      return `${join(usual, name)} ${existsSync(join(usual, name)) ? 'is changed' : 'is missing'}`;
  }
  return undefined;
}

const snapshotsOf = (
  taken: readonly { readonly exchange: { files: { before: string; after: string } | null } }[],
) => taken.flatMap(({ exchange: { files } }) => (files === null ? [] : [files.before, files.after]));

/** False when there is no such file: a folder or a pipe in its place is none. */
async function copied(from: string, to: string): Promise<boolean> {
  if (lstatSync(from, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
