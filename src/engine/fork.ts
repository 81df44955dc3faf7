/** Creates the directory of a run that begins at a checkpoint of another run, which is only read. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallRecord } from '../model/call-record.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Json } from '../model/json.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import type { RunRecord, StartRecord, VisitRecord } from '../model/visit-record.ts';
import { manifestHash } from '../store/inputs.ts';
import { messageOf } from '../store/problem.ts';
import { openRunJournal } from '../store/run-journal.ts';
import { writeSealed } from '../store/sealed.ts';
import { stateAfter } from '../store/visits.ts';
import { writeFileAtomic, writeJson } from '../system/files.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { copyStore } from '../workspace/store.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { openBooks } from './books.ts';
import { type Made, makeWhole, type NotMade } from './building.ts';
import { copyArtifacts } from './fork-artifacts.ts';
import { copyExchanges, copyRecord } from './fork-exchanges.ts';
import { keptFiles } from './kept.ts';
import { renameDirsIn } from './normal.ts';
import { pricesOf } from './price-file.ts';

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
export const createFork = (wanted: NewFork): Promise<Made | NotMade> =>
  makeWhole(wanted, 'snapshots', (building, final) =>
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
  await copyStore(from.snapshots, at.snapshots);
  await mkdir(at.workspace);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots, sync: false });
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
    files: await keptFiles(building),
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
  const spent = openBooks(paid, pricesOf(manifest), () => {}).run();
  const { elapsed_ms } = state;
  const resumed = { type: 'Resumed', at: state.at, elapsed_ms, spent, snapshot } as const;
  await journal.commit(
    { schema_version: 1, ...resumed, manifest_sha256: manifestHash(manifest) },
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
