/** Creates the directory of a run that begins at a checkpoint of another run, which is only read. */
import { createHash } from 'node:crypto';
import { constants, lstatSync, mkdirSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copyStore } from '../../contents/store.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { type Json, own } from '../../core/json.ts';
import {
  exchangesLayout,
  followedLayout,
  inWorkspace,
  layout,
  nodeLayout,
} from '../../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../../core/records/manifest.ts';
import type { CallRecord, RunRecord, StartRecord, VisitRecord } from '../../core/records/visit.ts';
import { openCostLedger } from '../../engine/cost-ledger.ts';
import { writeSealed } from '../../holdout/vault.ts';
import { below } from '../../platform/files/names.ts';
import { namesIn } from '../../platform/files/read.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { isMissing, makeFolder, writeFileAtomic, writeJson } from '../../platform/files/write.ts';
import { answersOf } from '../../run/answers.ts';
import { hashArtifact } from '../../run/artifacts.ts';
import { renameDirsIn } from '../../run/comparable.ts';
import { readExchanges } from '../../run/exchanges.ts';
import { immutableFiles, manifestHash } from '../../run/inputs.ts';
import { readStage, writeStage } from '../../run/node-directory.ts';
import { openRunJournal } from '../../run/run-journal.ts';
import { messageOf } from '../../run/unreadable.ts';
import { stateAfter } from '../../run/visits.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { entryNames, walk } from '../../workspace/walk.ts';
import { pricesOf } from './budget.ts';
import { type CreatedRun, createAtomically, type NotCreated } from './run-directory.ts';

export type NewFork = {
  readonly runId: string;
  /** A word that no other process uses. */
  readonly unique: string;
  readonly runsDir: string;
  /** Directory of the forked run, and other paths that its records may have for it. */
  readonly from: string;
  readonly otherPaths: readonly string[];
  /** The records of the forked run up to the checkpoint, and the snapshot of its workspace there. */
  readonly records: readonly RunRecord[];
  readonly snapshot: string;
  /** The calls of the forked run. */
  readonly calls: readonly CallRecord[];
  readonly startedAt: string;
  /** Fires: what was made until then is removed. */
  readonly signal: AbortSignal;
  /** Texts of file variables, by name in `inputs/`; those in `changed` are written to the workspace too. */
  readonly files: Readonly<Record<string, string>>;
  readonly changed: ReadonlySet<string>;
  /** Of the pipeline, which may be another one than the forked run had. */
  readonly goal: Json | undefined;
  /** Other files that the run keeps, by name in `inputs/`. */
  readonly keep: Readonly<Record<string, string>>;
  /** The holdout of the forked run; this one gets its own store and key. */
  readonly sealed: { readonly holdout: Holdout; readonly files: readonly SealedFile[] } | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly manifest: (workspace: string, holdout: Holdout | undefined) => Manifest;
  /** Of a replay: all records of the recorded run, and whether they answer tools and verifications as well. */
  readonly replay: { readonly records: readonly RunRecord[]; readonly tools: boolean } | undefined;
  /** Copies the history; undefined for a run without commits. `workspace` has the state of the checkpoint. */
  readonly history: ((from: string, to: string, workspace: string) => Promise<void>) | undefined;
};

/** SHA-256 of records as they are in the journal. */
export function hashOfRecords(records: readonly RunRecord[]): string {
  const hash = createHash('sha256');
  for (const record of records) hash.update(`${JSON.stringify(record)}\n`);
  return hash.digest('hex');
}

/** Creates the run directory. Nothing is left behind when it refuses or fails. */
export const createFork = (wanted: NewFork): Promise<CreatedRun | NotCreated> =>
  createAtomically(wanted, 'snapshots', (building, final) =>
    fill(wanted, building, final).catch((error: unknown) => {
      // The folder that is being filled is removed; the same file is in the forked run.
      if (error instanceof WorkspaceError)
        error.message = error.message.replaceAll(building, () => wanted.from);
      throw error;
    }),
  );

async function fill(
  wanted: NewFork,
  building: string,
  final: string,
): Promise<{ notes: string[] } | { problem: Diagnostic }> {
  const at = layout(building);
  const from = layout(wanted.from);
  const { replay } = wanted;
  const uncopied = await copyExchanges(wanted.from, building, wanted.records);
  if (replay !== undefined) {
    const begins = replay.tools ? wanted.records.length : undefined;
    const problem = await copyRecord(wanted.from, building, replay.records, begins);
    if (problem !== undefined) return { problem };
  }
  await copyStore(from.contents, at.contents);
  await mkdir(at.workspace);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const then = await loaded(snapshots, wanted.snapshot);
  await snapshots.restore(then);
  await wanted.history?.(from.history, at.history, at.workspace);
  for (const [stored, text] of Object.entries({ ...wanted.files, ...wanted.keep })) {
    await writeFileAtomic(join(at.inputs, stored), text);
    if (wanted.changed.has(stored))
      await writeFileAtomic(join(at.workspace, inWorkspace.inputs, stored), text);
  }
  const { id } = await snapshots.take(then);

  // The `type` of a package around the runs directory must not reach the product's files.
  await writeJson(at.barrier, { private: true });
  let holdout: Holdout | undefined;
  if (wanted.sealed !== undefined) {
    const written = await writeSealed(building, wanted.sealed.files, wanted.env);
    if ('problem' in written) return written;
    holdout = { ...wanted.sealed.holdout, ...written };
  }
  const manifest = {
    ...wanted.manifest(layout(final).workspace, holdout),
    files: await immutableFiles(building),
  };
  const lost = await copyArtifacts(wanted.from, building, wanted.records, manifest.marker);
  const paths = [wanted.from, ...wanted.otherPaths];
  const records = wanted.records.map((record) =>
    record.type === 'Start'
      ? withGoal(record, wanted.goal)
      : withOwnArtifacts(record, lost.includes(`${record.node}@${record.visit}`), paths, final),
  );
  await writeRecords({ building, snapshot: id }, wanted, records, manifest);
  return {
    notes: [
      ...lost.map((execution) => `the artifacts of ${execution} no longer exist and are not copied`),
      ...(uncopied === undefined ? [] : [uncopied]),
    ],
  };
}

/** Writes the manifest, and the journal with the copied executions and what they have spent. */
async function writeRecords(
  { building, snapshot }: { readonly building: string; readonly snapshot: string },
  wanted: NewFork,
  records: readonly RunRecord[],
  manifest: Manifest,
): Promise<void> {
  await writeJson(layout(building).manifest, manifest);
  const options = { runId: wanted.runId, epoch: 1 };
  const journal = await openRunJournal(building, { ...options, sync: false });
  const calls = new Map<string, CallRecord[]>();
  for (const call of wanted.calls) calls.set(callOf(call), [...(calls.get(callOf(call)) ?? []), call]);
  const paid: CallRecord[] = [];
  for (const record of records) {
    const its = record.type === 'Start' ? [] : (calls.get(callOf(record)) ?? []);
    for (const call of its) journal.note(call);
    paid.push(...its);
    journal.note(record.type === 'Start' ? { ...record, manifest_sha256: manifestHash(manifest) } : record);
  }
  const { completed_nodes: _, ...state } = stateAfter(records);
  const spent = openCostLedger(paid, pricesOf(manifest), () => {}).run();
  const { elapsed_ms } = state;
  const resumed = { type: 'Resumed', at: state.at, elapsed_ms, spent, snapshot } as const;
  await journal.commit(
    { ...resumed, manifest_sha256: manifestHash(manifest) },
    { ...state, run_id: wanted.runId },
  );
  await journal.close();
}

const callOf = ({ node, visit }: { readonly node: string; readonly visit: number }): string =>
  `${node} ${visit}`;

/** The record with paths of artifacts in the new run's directory. Artifacts that are gone get no hashes. */
function withOwnArtifacts(
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

/** The goal is the pipeline's, and no node can set it: what it is now, it was from the beginning. */
function withGoal(record: StartRecord, goal: Json | undefined): StartRecord {
  const key = 'graph.goal';
  const { [key]: _, ...context } = record.context;
  const { [key]: __, ...origins } = record.origins;
  return goal === undefined
    ? { ...record, context, origins }
    : { ...record, context: { ...context, [key]: goal }, origins: { ...origins, [key]: 'engine' } };
}

/** A snapshot that cannot be read is a problem of the run, not an internal error. */
const loaded = (snapshots: Snapshots, id: string): Promise<Snapshot> =>
  snapshots.load(id).catch((error: unknown) => {
    throw error instanceof WorkspaceError ? error : new WorkspaceError(messageOf(error), { cause: error });
  });

/* The recorded exchanges of a run, copied to a run that is forked from it or replays it. */

/** Copies the exchanges that the executions in `records` made from the run in `from` to the one in `to`. Returns why they
 *  cannot be copied, or undefined. */
async function copyExchanges(
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
async function copyRecord(
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
