/** A run that begins at a moment of another one: its folder is made whole, the other one is only read. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Json } from '../model/json.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Prices } from '../model/prices.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import type { Spent } from '../model/spent.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { saveCheckpoint } from '../store/checkpoint.ts';
import { type JournalOptions, openJournal, readRecords } from '../store/journal.ts';
import { messageOf } from '../store/problem.ts';
import { writeSealed } from '../store/sealed.ts';
import { openVisits, stateAfter } from '../store/visits.ts';
import { writeFileAtomic, writeJson } from '../system/files.ts';
import { copyStore } from '../workspace/copy-store.ts';
import { realOf } from '../workspace/dirs.ts';
import { filesNaming, noteOf } from '../workspace/own-place.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { callRecords, openBooks } from './books.ts';
import { type Made, makeWhole, type NotMade } from './building.ts';
import { copyArtifacts, withOwnPaths } from './fork-artifacts.ts';
import { copyExchanges, copyFollowed } from './fork-exchanges.ts';
import { keptFiles, manifestHash } from './kept.ts';
import { pricesOf } from './price-file.ts';

export type NewFork = {
  readonly runId: string;
  /** A word that no other process uses. */
  readonly unique: string;
  readonly runsDir: string;
  /** The folder of the other run, and other names that it may have in its records. */
  readonly from: string;
  readonly alsoCalled: readonly string[];
  /** The records of the other run up to the moment, and the snapshot of its workspace then. */
  readonly records: readonly RunRecord[];
  readonly snapshot: string;
  readonly startedAt: string;
  /** Fires: what was made until then goes. */
  readonly signal: AbortSignal;
  /** The file variables' texts, by the name of the file in `inputs/`; those in `changed` are placed in the workspace
   *  anew. */
  readonly files: Readonly<Record<string, string>>;
  readonly changed: ReadonlySet<string>;
  /** The pipeline's, which may be another one than the other run had. */
  readonly goal: Json | undefined;
  /** Other files that the run keeps, by name in `inputs/`. */
  readonly keep: Readonly<Record<string, string>>;
  /** What the other run has sealed; this one gets a store and a key of its own. */
  readonly sealed: { readonly holdout: Holdout; readonly files: readonly SealedFile[] } | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly manifest: (workspace: string, holdout: Holdout | undefined) => Manifest;
  /** All records of the other run, where the new one replays it. */
  readonly follow: readonly RunRecord[] | undefined;
  /** Whether tools and checks of those are answered as well. */
  readonly takesTools: boolean;
  /** Undefined for a run without commits; `workspace` stands as it did at the moment. */
  readonly history: ((from: string, to: string, workspace: string) => Promise<void>) | undefined;
};

/** SHA-256 of records as they stand in `visits.jsonl`. */
export function hashOfRecords(records: readonly RunRecord[]): string {
  const hash = createHash('sha256');
  for (const record of records) hash.update(`${JSON.stringify(record)}\n`);
  return hash.digest('hex');
}

/** Makes the run directory. Nothing is left behind when it refuses or fails. */
export const makeFork = (wanted: NewFork): Promise<Made | NotMade> =>
  makeWhole(wanted, 'snapshots', (building, final) =>
    fill(wanted, building, final).catch((error: unknown) => {
      // The folder that is being filled goes; the same file lies in the other run.
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
  // A build goes back to snapshots that stand in the workspace's own files; no other run knows their names.
  const exchanges = await copyExchanges(wanted.from, building, wanted.records);
  const begins = wanted.takesTools ? wanted.records.length : undefined;
  const followed =
    wanted.follow === undefined
      ? undefined
      : await copyFollowed(wanted.from, building, wanted.follow, begins);
  if (followed !== undefined && 'problem' in followed) return followed;
  const named =
    wanted.history === undefined
      ? new Set([
          ...snapshotsIn(wanted.records, wanted.snapshot),
          ...exchanges.snapshots,
          ...(followed?.snapshots ?? []),
        ])
      : undefined;
  await copyStore(from.snapshots, at.snapshots, named);
  await mkdir(at.workspace);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots, sync: false });
  const then = await loaded(snapshots, wanted.snapshot);
  await snapshots.restore(then);
  const old = realOf(from.workspace);
  const namingOld = await filesNaming(old, then.tree, at.workspace);
  await wanted.history?.(from.history, at.history, at.workspace);
  for (const [stored, text] of Object.entries(wanted.files)) {
    await writeFileAtomic(join(at.inputs, stored), text);
    if (wanted.changed.has(stored))
      await writeFileAtomic(join(at.workspace, inWorkspace.inputs, stored), text);
  }
  for (const [name, text] of Object.entries(wanted.keep)) await writeFileAtomic(join(at.inputs, name), text);
  const { id } = await snapshots.take(then);

  // Where the runs directory lies in somebody's package, its `type` must not reach the product's files.
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
  const taken = withGoal(wanted.records, wanted.goal);
  const records = withOwnPaths(withoutLost(taken, lost), [wanted.from, ...wanted.alsoCalled], final);
  const state = stateAfter(records);
  const visits = await openVisits(at.visits, 0, { runId: wanted.runId, epoch: 1, sync: false });
  for (const record of records) visits.append(record);
  const { sha256: chain } = visits.marks().written;
  await visits.close();
  const spent = await copyCalls(
    { from: from.calls, to: at.calls, prices: pricesOf(manifest) },
    { runId: wanted.runId, epoch: 1 },
    records,
  );
  await writeJson(at.manifest, manifest);
  const { completed_nodes: completed, ...rest } = state;
  await saveCheckpoint(
    at.checkpoint,
    { ...rest, run_id: wanted.runId, epoch: 1, snapshot: id, spent },
    {
      seq: records.length,
      completed,
      sha256: chain,
      sync: false,
      cover: { manifest_sha256: manifestHash(manifest), journals: {} },
    },
  );
  return {
    notes: [
      ...lost.map((visit) => `the artifacts of ${visit} are no longer there, and not taken over`),
      ...exchanges.notes,
      ...noteOf(namingOld, old),
    ],
  };
}

/** What the visits that are taken over have spent counts for the new run as well. */
async function copyCalls(
  { from, to, prices }: { readonly from: string; readonly to: string; readonly prices: Prices },
  options: JournalOptions,
  visits: readonly RunRecord[],
): Promise<Spent> {
  const taken = new Set(visits.flatMap((one) => (one.type === 'Visit' ? [`${one.node} ${one.visit}`] : [])));
  const read = await readRecords(from);
  const records = callRecords(read.records).filter(({ node, visit }) => taken.has(`${node} ${visit}`));
  if (records.length > 0) {
    const journal = await openJournal(to, options);
    for (const record of records) journal.append(record);
    await journal.close();
  }
  return openBooks(records, prices, async () => {}).run();
}

const snapshotsIn = (records: readonly RunRecord[], snapshot: string): ReadonlySet<string> =>
  new Set([
    snapshot,
    ...records.flatMap((one) => (one.type === 'Start' ? [one.snapshot] : [one.before, one.after])),
  ]);

/** Artifacts that are gone are not vouched for; `lost` names their visits. */
const withoutLost = (records: readonly RunRecord[], lost: readonly string[]): RunRecord[] =>
  records.map((record) => {
    if (record.type !== 'Visit' || !lost.includes(`${record.node}@${record.visit}`)) return record;
    const { artifacts: _, ...rest } = record;
    return rest;
  });

/** The goal is the pipeline's, and no stage can set it: what it is now, it was from the beginning. */
function withGoal(records: readonly RunRecord[], goal: Json | undefined): RunRecord[] {
  const key = 'graph.goal';
  return records.map((record) => {
    if (record.type !== 'Start') return record;
    const { [key]: _, ...context } = record.context;
    const { [key]: __, ...origins } = record.origins;
    return goal === undefined
      ? { ...record, context, origins }
      : { ...record, context: { ...context, [key]: goal }, origins: { ...origins, [key]: 'engine' } };
  });
}

/** A snapshot that cannot be had is no mistake of ours. */
const loaded = (snapshots: Snapshots, id: string): Promise<Snapshot> =>
  snapshots.load(id).catch((error: unknown) => {
    throw error instanceof WorkspaceError ? error : new WorkspaceError(messageOf(error), { cause: error });
  });
