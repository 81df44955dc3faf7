/** What a run inherits of the run at whose checkpoint it begins. That one is only read. */
import { mkdir } from 'node:fs/promises';
import { copyStore } from '../../contents/store.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { type Layout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { forkHistory } from '../../git/fork-history.ts';
import { ForeignHistory, foreignHistoryText } from '../../git/guard.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { GitError } from '../../platform/git.ts';
import { storeTexts } from '../../run/inputs.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { messageOf } from '../../run/unreadable.ts';
import { stateAfter } from '../../run/visits.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { copyRecord } from './copy-artifacts.ts';

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

/** A snapshot that cannot be read is a problem of the run, not an internal error. */
const loaded = (snapshots: Snapshots, id: string): Promise<Snapshot> =>
  snapshots.load(id).catch((error: unknown) => {
    throw error instanceof WorkspaceError ? error : new WorkspaceError(messageOf(error), { cause: error });
  });
