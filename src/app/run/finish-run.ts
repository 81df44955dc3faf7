/** The end of runs: results, records that a crash left out, leftover files, the message about a full disk. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Refusal } from '../../core/diagnostic.ts';
import type { ParsedGraph } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import { exchangesLayout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { type RunResult, runResultSchema } from '../../core/records/result.ts';
import { readGraph } from '../../dot/read.ts';
import { nodeInput } from '../../engine/event-log.ts';
import { testStop } from '../../engine/loop.ts';
import { treesOf } from '../../git/history.ts';
import { openHoldout, revealHoldout } from '../../holdout/mount.ts';
import { DiskStop, isFull } from '../../platform/files/disk-error.ts';
import { fence } from '../../platform/files/fence.ts';
import { settleTree } from '../../platform/files/flush-tree.ts';
import { readPlain } from '../../platform/files/read.ts';
import { hasTempSiblings, removeGitLocks, removeTempSiblings } from '../../platform/files/remove.ts';
import { systemWords, writeFileAtomic } from '../../platform/files/write.ts';
import { withOwnHash } from '../../run/chain.ts';
import { visitsAmong } from '../../run/evidence.ts';
import { removeLiveTexts } from '../../run/live-texts.ts';
import { acquireLock, type Lock, notReleased } from '../../run/lock.ts';
import { rebuildViews } from '../../run/rebuild.ts';
import { resultOf } from '../../run/result.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { ViewFile } from '../../run/view-file.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import type { Finished, Host } from '../types.ts';
import { restoreProblem } from './restore-workspace.ts';
import { checkRunOwner, loadRunState, type RunStanding } from './run-state.ts';

/** The result of a run that has reached an exit; undefined for any other run. */
export async function finishedRun(
  manifest: Manifest,
  history: RunHistory,
  runDir: string,
  host: Pick<Host, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  const { ended } = history.checkpoint;
  return ended?.exit_node == null ? undefined : endOf(manifest, history, runDir, host);
}

/** The result of a run that ended at no exit, if its engine was killed before it could report it: this resume reports it, and
 *  only the next one repeats the node. Undefined for any other run, for one with another owner, and for one that a disk error
 *  stopped: its result could not be written, and the disk has space again now. */
export async function unreportedEnd(
  runDir: string,
  manifest: Manifest,
  history: RunHistory,
  takeOver: boolean,
  host: Host,
): Promise<Finished | Refusal | undefined> {
  const state = history.checkpoint;
  if (state.ended === null || state.ended.disk === true) return undefined;
  const end = await endOf(manifest, history, runDir, host);
  if (end === undefined || end.result.reason === testStop.reason) return undefined;
  const isWritten = () => hasResult(layout(runDir).result, end.result);
  const written = await isWritten();
  // The result was written, but a lock that was not released shows that it may not have been printed.
  if (written && !(await notReleased(runDir, state.epoch))) return undefined;
  const about = { manifest, state, result: end.result };
  const completed = written
    ? await completeOwned(runDir, about, takeOver, host)
    : await completeResult(runDir, about, takeOver, host);
  if (typeof completed === 'object') return completed;
  // Another engine may have completed it, or may still be running.
  return completed === undefined || (!written && (await isWritten())) ? end : undefined;
}

/** The result of a run that has ended or is suspended; undefined for any other. */
export async function endOf(
  manifest: Manifest,
  { checkpoint: state, records, calls, whole }: RunHistory,
  runDir: string,
  host: Pick<Host, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  const { ended, parked } = state;
  const ending =
    ended !== null
      ? { ok: ended.ok, exitNode: ended.exit_node, reason: ended.reason, code: ended.code }
      : parked && { ok: false, exitNode: null, reason: `${parked.node}: ${parked.reason}`, code: 75 };
  if (ending === undefined) return undefined;
  const end = { state, ending, interrupted: false, ...(ended === null ? { parked } : {}) };
  const visits = visitsAmong(records, calls).now(whole);
  const result = await resultOf(manifest, runDir, treesOf, end, visits, host.cwd, host.called);
  return { result, code: ending.code };
}

type KnownEnd = { readonly manifest: Manifest; readonly state: Checkpoint; readonly result: RunResult };

/** Completes a run whose engine was killed after its end or its suspension: removes leftovers, brings its records up to date,
 *  writes the result; of one that has ended, also restores the workspace with its holdout files, which a power cut may have
 *  damaged. `state` is its last one. Changes nothing if the run is complete, or `theirs`: it is being completed by its owner, or
 *  was resumed meanwhile. Refuses if the holdout cannot be read, or if the run belongs to another user. */
export async function completeResult(
  runDir: string,
  end: KnownEnd,
  takeOver: boolean,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const isWritten = await hasResult(layout(runDir).result, end.result);
  if (isWritten && !(await hasLeftovers(runDir))) return undefined;
  const wrongOwner = checkRunOwner(runDir);
  if (wrongOwner !== undefined) return isWritten ? undefined : wrongOwner;
  return completeOwned(runDir, end, takeOver, host);
}

async function completeOwned(
  runDir: string,
  end: KnownEnd,
  takeOver: boolean,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const answer = await acquireLock(runDir, { clock: host.clock, takeOver });
  if (answer.kind === 'refused') return 'theirs';
  const { lock } = answer;
  const open = fence(runDir, lock.assertOwner, lock.successor);
  let ending: RunResult | undefined = end.result;
  try {
    await removeLeftovers(runDir);
    if (await hasResult(layout(runDir).result, end.result)) return undefined;
    const completed = await completeFiles(lock, runDir, end, host);
    if (completed === 'theirs') ending = undefined;
    return completed;
  } catch (error) {
    const trouble = restoreProblem(error);
    if (trouble !== undefined) return trouble;
    throw error;
  } finally {
    await releaseLock(lock, ending, host);
    open();
  }
}

async function completeFiles(
  lock: Lock,
  runDir: string,
  { manifest, state, result }: KnownEnd,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const at = layout(runDir);
  const stands = await loadRunState(runDir);
  if ('problems' in stands) return stands;
  if (!isDeepStrictEqual(stands.history.checkpoint, state)) return 'theirs';
  const { ended, snapshot } = state;
  // The workspace of a suspended run is restored by its resume.
  if (ended !== null) {
    const holdout = await openHoldout(runDir, manifest, host.env);
    if ('problems' in holdout) return holdout;
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
    if (snapshot !== null) await snapshots.restore(await snapshots.load(snapshot));
    revealHoldout(at.workspace, holdout.sealed);
  }
  const { events, trace } = await openEndRecords(runDir, stands, lock.epoch, host);
  events.close();
  trace.close();
  await settleRun(runDir, ended === null ? [at.workspace] : []);
  // Computed again: it contains the hashes of the journals.
  const whole = await endOf(manifest, stands.history, runDir, host);
  await writeFileAtomic(at.result, withOwnHash(whole?.result ?? result), flushed);
  return undefined;
}

/** Opens the events and the trace of a run after the views of its journal were brought up to date. */
export async function openEndRecords(
  runDir: string,
  stands: RunStanding,
  epoch: number,
  { log }: Pick<Host, 'log'>,
): Promise<{ readonly events: ViewFile; readonly trace: ViewFile }> {
  const { manifest } = stands;
  let graph: ParsedGraph | undefined;
  const input = (id: string) => {
    graph ??= readGraph(manifest.pipeline_path, manifest.pipeline.text).graph;
    const node = graph?.nodes.get(id);
    const unknown = { node_type: '', node_shape: '', node_attrs: {}, workspace: manifest.workspace_path };
    return node === undefined ? unknown : nodeInput(node, manifest.workspace_path);
  };
  const owner = { runId: manifest.run_id, epoch };
  const { events, trace, rewritten } = await rebuildViews(stands, owner, { runDir, input });
  for (const line of rewritten) log('info', line);
  return { events, trace };
}

/** Flushes a run that has ended or is suspended, except its contents and history, which are flushed already, and `others`. */
export async function settleRun(runDir: string, others: readonly string[] = []): Promise<void> {
  const { contents, history } = layout(runDir);
  await settleTree(runDir, [contents, history, ...others]);
}

/** Releases the run's lock; for a run that failed at no exit only after its result is printed, right before the process ends:
 *  a lock that was not released tells the next resume to report the end first instead of repeating the node. */
export async function releaseLock(lock: Lock, end: RunResult | undefined, host: Host): Promise<void> {
  // An error that broke the run may break this too, and is reported there. A lock that cannot be released is free as soon as
  // this process has ended.
  const release = () =>
    lock.release().catch((error: unknown) => {
      host.log('warn', 'could not release the lock of the run', { why: systemWords(error) });
    });
  if (end?.status === 'failed' && end.exit_node === null && host.atLast !== undefined) host.atLast(release);
  else await release();
}

/** Options for `result.json`, which says that the run is complete: flushed, with its folder. */
export const flushed = { sync: true, syncFolder: true, evenFolder: true } as const;

/** Whether the file has the result of that end, not of an earlier one that was resumed. False if it cannot be read. */
async function hasResult(path: string, end: RunResult): Promise<boolean> {
  const written = resultFactsSchema().safeParse(parsed(path)).data;
  // A run may have stopped at the same node before, for another reason.
  const alike =
    end.exit_node !== null ||
    (written?.status === end.status && written.reason === end.reason && written.wake_at === end.wake_at);
  return written?.stages === end.stages && alike;
}

const resultFactsSchema = once(() =>
  runResultSchema().pick({ stages: true, status: true, reason: true, wake_at: true }),
);

const parsed = (path: string): unknown => {
  try {
    const read = readPlain(path);
    return read.kind === 'text' ? JSON.parse(read.text) : undefined;
  } catch {
    return undefined;
  }
};

/** Removes temporary files that a killed engine left in the run directory, except in the workspace, which is
 *  restored as a whole. */
export async function removeLeftovers(runDir: string): Promise<void> {
  for (const folder of await ownFolders(runDir)) await removeTempSiblings(folder);
  await removeGitLocks(layout(runDir).history);
  removeLiveTexts(runDir);
}

async function hasLeftovers(runDir: string): Promise<boolean> {
  for (const folder of await ownFolders(runDir)) if (await hasTempSiblings(folder)) return true;
  return false;
}

/** The folders of a run in which the engine replaces files. In the workspace, the hidden files and the scratch folder, files
 *  belong to the nodes, whatever their names, and folders may be unreadable. */
async function ownFolders(runDir: string): Promise<readonly string[]> {
  const at = layout(runDir);
  const folders = (await readdir(runDir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(runDir, entry.name))
    .filter((path) => path !== at.workspace && path !== at.hidden && path !== at.scratch);
  return [runDir, exchangesLayout(at.exchanges).bodies, ...folders];
}

/** The message about a disk error: the file, the error, and how to resume. `next` is the command. A full disk needs only space. */
export function diskStop(
  runDir: string,
  { path, error }: { readonly path: string | undefined; readonly error: Error },
  cause: unknown,
  next: string,
): DiskStop {
  const what = `${path ?? runDir}: ${systemWords(error)}; the run can be resumed from its checkpoint`;
  return new DiskStop(
    what,
    `fix that (space, permissions, the disk or its mount), then: ${next}`,
    cause,
    isFull(error) ? 75 : undefined,
  );
}
