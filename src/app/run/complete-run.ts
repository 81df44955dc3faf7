/** Completes runs whose process was killed after their end, before all of it was on the disk or reported. */
import { isDeepStrictEqual } from 'node:util';
import type { Refusal } from '../../core/diagnostic.ts';
import { snapshotNow } from '../../core/fork.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { RunResult } from '../../core/records/result.ts';
import { testStop } from '../../engine/loop.ts';
import { openHoldout, revealHoldout } from '../../holdout/mount.ts';
import { fence } from '../../platform/files/fence.ts';
import { acquireLock, type Lock, notReleased } from '../../run/lock.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import type { Finished, Host } from '../types.ts';
import { hasLeftovers, removeLeftovers } from './leftovers.ts';
import { openEndRecords } from './open-records.ts';
import { restoreProblem } from './restore-workspace.ts';
import { endOf, hasResult, releaseLock, settleRun, writeResult } from './run-end.ts';
import { checkRunOwner } from './run-state.ts';

/** The result of a run that ended at no exit, if its engine was killed before it could report it: this resume reports it, and
 *  only the next one repeats the node. Undefined for any other run, for one with another owner, and for one that a disk error
 *  stopped: its result could not be written, and the disk has space again now. */
export async function unreportedEnd(
  reader: RunReader,
  manifest: Manifest,
  history: RunHistory,
  takeOver: boolean,
  host: Host,
): Promise<Finished | Refusal | undefined> {
  const { dir: runDir } = reader;
  const state = history.checkpoint;
  if (state.ended === null || state.ended.disk === true) return undefined;
  const end = await endOf(manifest, history, runDir, host);
  if (end === undefined || end.result.reason === testStop.reason) return undefined;
  const isWritten = () => hasResult(runDir, end.result);
  const written = await isWritten();
  // The result was written, but a lock that was not released shows that it may not have been printed.
  if (written && !(await notReleased(runDir, state.epoch))) return undefined;
  const about = { manifest, state, result: end.result };
  const completed = written
    ? await completeOwned(reader, about, takeOver, host)
    : await completeResult(reader, about, takeOver, host);
  if (typeof completed === 'object') return completed;
  // Another engine may have completed it, or may still be running.
  return completed === undefined || (!written && (await isWritten())) ? end : undefined;
}

type KnownEnd = { readonly manifest: Manifest; readonly state: Checkpoint; readonly result: RunResult };

/** Completes a run whose engine was killed after its end or its suspension: removes leftovers, brings its records up to date,
 *  writes the result; of one that has ended, also restores the workspace with its holdout files, which a power cut may have
 *  damaged. `state` is its last one. Changes nothing if the run is complete, or `theirs`: it is being completed by its owner, or
 *  was resumed meanwhile. Refuses if the holdout cannot be read, or if the run belongs to another user. */
export async function completeResult(
  reader: RunReader,
  end: KnownEnd,
  takeOver: boolean,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const { dir: runDir } = reader;
  const isWritten = await hasResult(runDir, end.result);
  if (isWritten && !(await hasLeftovers(runDir))) return undefined;
  const wrongOwner = checkRunOwner(runDir);
  if (wrongOwner !== undefined) return isWritten ? undefined : wrongOwner;
  return completeOwned(reader, end, takeOver, host);
}

async function completeOwned(
  reader: RunReader,
  end: KnownEnd,
  takeOver: boolean,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const { dir: runDir } = reader;
  const answer = await acquireLock(runDir, { clock: host.clock, takeOver });
  if (answer.kind === 'refused') return 'theirs';
  const { lock } = answer;
  const open = fence(runDir, lock.assertOwner, lock.successor);
  let ending: RunResult | undefined = end.result;
  try {
    await removeLeftovers(runDir);
    if (await hasResult(runDir, end.result)) return undefined;
    const completed = await completeFiles(lock, reader, end, host);
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
  reader: RunReader,
  { manifest, state, result }: KnownEnd,
  host: Host,
): Promise<Refusal | 'theirs' | undefined> {
  const { dir: runDir } = reader;
  const at = layout(runDir);
  const recorded = await reader.stored();
  if ('problems' in recorded) return recorded;
  if (!isDeepStrictEqual(recorded.history.checkpoint, state)) return 'theirs';
  const { ended } = state;
  const snapshot = snapshotNow(state);
  // The workspace of a suspended run is restored by its resume.
  if (ended !== null) {
    const holdout = await openHoldout(runDir, manifest, host.env);
    if ('problems' in holdout) return holdout;
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
    if (snapshot !== null) await snapshots.restore(await snapshots.load(snapshot));
    revealHoldout(at.workspace, holdout.sealed);
  }
  const { events, trace } = await openEndRecords(runDir, recorded, lock.epoch, host);
  events.close();
  trace.close();
  await settleRun(runDir, ended === null);
  // Computed again: it contains the hashes of the journals.
  const whole = await endOf(manifest, recorded.history, runDir, host);
  await writeResult(runDir, whole?.result ?? result);
  return undefined;
}
