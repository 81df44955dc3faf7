/** What a run inherits of the run at whose checkpoint it begins. That one is only read. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { copyStore } from '../../contents/store.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import type { Json } from '../../core/json.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import { type Layout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { CallRecord, RunRecord, StartRecord } from '../../core/records/visit.ts';
import { forkHistory } from '../../git/fork-history.ts';
import { ForeignHistory, foreignHistoryText } from '../../git/guard.ts';
import type { SealedHoldout } from '../../holdout/mount.ts';
import { writeSealed } from '../../holdout/vault.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { GitError } from '../../platform/git.ts';
import { answersOf } from '../../run/answers.ts';
import { manifestHash, storeTexts } from '../../run/inputs.ts';
import { openRunJournal, type RunHistory } from '../../run/run-journal.ts';
import { messageOf } from '../../run/unreadable.ts';
import { stateAfter } from '../../run/visits.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { costsIn } from './budget.ts';
import { copyArtifacts, copyRecord, withOwnArtifacts } from './copy-artifacts.ts';

/** SHA-256 of records as they are in the journal. */
export function hashOfRecords(records: readonly RunRecord[]): string {
  const hash = createHash('sha256');
  for (const record of records) hash.update(`${JSON.stringify(record)}\n`);
  return hash.digest('hex');
}

type Problem = { readonly problem: Diagnostic };

/** Copies what a run in the directory `at` inherits of the run in `from`: its history, and its workspace at a checkpoint;
 *  a replay also gets the record that it follows. */
export async function copyRun(
  from: string,
  at: Layout,
  prefix: {
    readonly old: Manifest;
    /** The records of that run up to the checkpoint, and the snapshot of its workspace there. */
    readonly records: readonly RunRecord[];
    readonly snapshot: string;
    /** Those of the new run, for its content store. */
    readonly texts: readonly string[];
    /** Of a replay: all of that run, and whether its records answer tools and verifications as well. */
    readonly replayed: { readonly history: RunHistory; readonly tools: boolean } | undefined;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): Promise<
  { readonly snapshots: Snapshots; readonly before: Snapshot; readonly notes: readonly string[] } | Problem
> {
  const { old, records, replayed, env } = prefix;
  const source = layout(from);
  await copyStore(source.contents, at.contents);
  await storeTexts(at.root, prefix.texts, false);
  await mkdir(at.workspace);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  if (replayed !== undefined) {
    const begins = replayed.tools ? records.length : undefined;
    const problem = await copyRecord(from, at.root, replayed.history, begins, snapshots.store);
    if (problem !== undefined) return { problem };
  }
  const before = await loaded(snapshots, prefix.snapshot);
  await snapshots.restore(before);
  if (old.git !== undefined) {
    const { tool_state: toolState } = stateAfter(records);
    const place = { from: source.history, to: at.history, workspace: at.workspace };
    try {
      await forkHistory({ ...place, toolState, env, keepLater: replayed !== undefined });
    } catch (error) {
      if (error instanceof GitError) return { problem: historyProblem(old.run_id, error) };
      throw error;
    }
  }
  return { snapshots, before, notes: [] };
}

const historyProblem = (runId: string, error: GitError): Diagnostic => ({
  code: 'git-history',
  severity: 'error',
  message: `the history of run ${runId} cannot be copied: ${error.message}`,
  fix:
    error instanceof ForeignHistory
      ? foreignHistoryText
      : error.missing
        ? 'install git'
        : 'restore the run directory from a copy if there is one',
});

/** The holdout of the old run, in a separate store with another key. */
export async function sealAgain(
  { holdout }: Manifest,
  sealed: SealedHoldout | undefined,
  building: string,
  env: Parameters<typeof writeSealed>[2],
) {
  if (sealed === undefined || holdout === undefined) return { holdout: undefined, files: [], notes: [] };
  const written = await writeSealed(building, sealed.files(), env);
  return 'problem' in written ? written : { holdout: { ...holdout, ...written }, files: [], notes: [] };
}

/** Copies the folders of the executions in `from.records`, and writes the journal with these executions and what they have spent. */
export async function writeCopiedJournal(
  from: {
    readonly dir: string;
    /** All paths that its records may have for it. */
    readonly paths: readonly string[];
    readonly records: readonly RunRecord[];
    readonly calls: readonly CallRecord[];
    readonly exchanges: readonly Exchange[];
    /** Of the new run's pipeline, which may be another one. */
    readonly goal: Json | undefined;
  },
  to: {
    readonly building: string;
    /** Its directory to be. */
    readonly final: string;
    readonly manifest: Manifest;
    readonly snapshot: string;
  },
): Promise<{ readonly history: undefined; readonly notes: readonly string[] }> {
  const { building, final, manifest, snapshot } = to;
  const lost = await copyArtifacts(from.dir, building, from.records, manifest.marker);
  const records = from.records.map((record) =>
    record.type === 'Start'
      ? withGoal(record, from.goal)
      : withOwnArtifacts(record, lost.includes(`${record.node}@${record.visit}`), from.paths, final),
  );
  const runId = manifest.run_id;
  const manifest_sha256 = manifestHash(manifest);
  const journal = await openRunJournal(building, { runId, epoch: 1, sync: false });
  const calls = byExecution(from.calls);
  const exchanges = byExecution(answersOf(from.records, from.exchanges).values());
  const paid: CallRecord[] = [];
  for (const record of records) {
    const its = record.type === 'Start' ? [] : (calls.get(callOf(record)) ?? []);
    for (const call of its) journal.note(call);
    if (record.type === 'Visit') for (const one of exchanges.get(callOf(record)) ?? []) journal.note(one);
    paid.push(...its);
    journal.note(record.type === 'Start' ? { ...record, manifest_sha256 } : record);
  }
  const { completed_nodes: _, ...state } = stateAfter(records);
  const spent = costsIn(paid, manifest).run();
  const { elapsed_ms } = state;
  const resumed = { type: 'Resumed', at: state.at, elapsed_ms, spent, snapshot } as const;
  await journal.commit({ ...resumed, manifest_sha256 }, { ...state, run_id: runId });
  await journal.close();
  const notes = lost.map((execution) => `the artifacts of ${execution} no longer exist and are not copied`);
  return { history: undefined, notes };
}

type Execution = { readonly node: string; readonly visit: number };

const callOf = ({ node, visit }: Execution): string => `${node} ${visit}`;

function byExecution<T extends Execution>(all: Iterable<T>): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const its = found.get(callOf(one));
    if (its === undefined) found.set(callOf(one), [one]);
    else its.push(one);
  }
  return found;
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
