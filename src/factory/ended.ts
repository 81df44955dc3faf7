/** Runs that are at their end, or whose disk is: what is said of them, and what is left of their files. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Begun } from '../engine/building.ts';
import type { Refusal } from '../engine/casting.ts';
import { resultOf } from '../engine/result.ts';
import { writeMissingRecords } from '../engine/retell.ts';
import { testStop } from '../engine/run.ts';
import { eventWriter } from '../engine/teller.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { exchangesLayout, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Parked } from '../model/park.ts';
import { RunResult } from '../model/result.ts';
import { allOpen, openJournal } from '../store/journal.ts';
import { acquireLock, type Lock, notReleased } from '../store/lock.ts';
import { mendJournals } from '../store/marks.ts';
import { withOwnHash } from '../store/own-hash.ts';
import { DiskStop } from '../system/disk-trouble.ts';
import { fence } from '../system/fence.ts';
import { systemWords, writeFileAtomic, writeJson } from '../system/files.ts';
import { hasNeighbours, removeGitLocks, removeNeighbours } from '../system/leftovers.ts';
import { readPlain } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { groundTrouble } from './ground.ts';
import { readJudge, unseal } from './judge.ts';
import { standing } from './stands.ts';
import type { Doors, Finished } from './types.ts';
import { changedRecords } from './vouched.ts';
import { anothers } from './whose.ts';

/** A run that has reached an exit, as it ended; undefined for one that goes on. */
export async function finishedRun(
  manifest: Manifest,
  state: Checkpoint,
  runDir: string,
  doors: Pick<Doors, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  return state.ended?.exit_node == null ? undefined : endOf(manifest, state, runDir, doors);
}

/** The end of a run that no exit has ended, where its engine was killed before it could tell: whoever resumes is told, and
 *  only the next resume makes the stage once more. Undefined for any other run, and for one that has another owner; and for
 *  one that the disk has stopped: a full disk takes no result and no lock either, and is full no more by now. */
export async function untoldEnd(
  runDir: string,
  manifest: Manifest,
  state: Checkpoint,
  takeOver: boolean,
  doors: Doors,
): Promise<Finished | Refusal | undefined> {
  if (state.ended?.disk === true) return undefined;
  const end = await endOf(manifest, state, runDir, doors);
  if (end === undefined || end.result.reason === testStop.reason) return undefined;
  const isTold = () => tellsOf(layout(runDir).result, end.result);
  if (await isTold()) {
    // Told to the disk, it may have been told to nobody else.
    if (!(await notReleased(runDir, state.epoch))) return undefined;
    const answer = await acquireLock(runDir, { clock: doors.clock, takeOver });
    if (answer.kind === 'refused') return undefined;
    const put = await putRight(answer.lock, runDir, manifest, state, end.result, doors);
    return put === 'gone on' ? undefined : (put ?? end);
  }
  const refusal = await completeResult(runDir, manifest, state, end.result, takeOver, doors);
  // Another engine may still be at work.
  return refusal ?? ((await isTold()) ? end : undefined);
}

async function endOf(
  manifest: Manifest,
  state: Checkpoint,
  runDir: string,
  doors: Pick<Doors, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  const { ended } = state;
  if (ended === null) return undefined;
  const ending = { ok: ended.ok, exitNode: ended.exit_node, reason: ended.reason, code: ended.code };
  const end = { state, ending, interrupted: false };
  return { result: await resultOf(manifest, runDir, end, doors.cwd, doors.called), code: ended.code };
}

/** The same of a run that waits: what its engine was killed before it could write is written by whoever looks at it. Nothing
 *  changes in one that has another owner, or that another one has gone on with since it was looked at. */
export async function completeWait(
  runDir: string,
  parked: Parked,
  result: RunResult,
  doors: Doors,
): Promise<void> {
  const at = layout(runDir);
  if (await tellsOf(at.result, result)) return;
  const answer = await acquireLock(runDir, { clock: doors.clock, takeOver: false });
  if (answer.kind === 'refused') return;
  const open = fence(runDir, answer.lock.assertOwner, answer.lock.successor);
  try {
    const stands = await standing(runDir);
    if ('problems' in stands || !isDeepStrictEqual(stands.read.checkpoint.parked, parked)) return;
    // What somebody has changed is told by whoever goes on with the run.
    if ((await changedRecords(runDir, stands.manifest.run_id, stands.read)) !== undefined) return;
    // As it was written, with what a later version may have put there.
    const started = JSON.parse(readFileSync(at.manifest, 'utf8')) as object;
    await writeJson(at.manifest, { ...started, parked }, { sync: true });
    await writeFileAtomic(at.result, withOwnHash(result), flushed);
  } finally {
    await giveFree(answer.lock, result, doors);
    open();
  }
}

/** Where an engine was killed after the run had ended, but before it had said how: says it, tidies up, and puts the
 *  workspace right, which a power cut may have spoilt, with what was sealed in it. `state` is its last checkpoint, as it
 *  was looked at. Nothing changes in a run that is whole, that its owner is just bringing to its end, or that somebody has
 *  gone on with since. Refuses where what is sealed cannot be read, and to tell for another user. */
export async function completeResult(
  runDir: string,
  manifest: Manifest,
  state: Checkpoint,
  result: RunResult,
  takeOver: boolean,
  doors: Doors,
): Promise<Refusal | undefined> {
  const isTold = await tellsOf(layout(runDir).result, result);
  if (isTold && !(await isUntidy(runDir))) return undefined;
  const theirs = anothers(runDir);
  if (theirs !== undefined) return isTold ? undefined : theirs;
  const answer = await acquireLock(runDir, { clock: doors.clock, takeOver });
  if (answer.kind === 'refused') return undefined;
  const put = await putRight(answer.lock, runDir, manifest, state, result, doors);
  return put === 'gone on' ? undefined : put;
}

async function putRight(
  lock: Lock,
  runDir: string,
  manifest: Manifest,
  state: Checkpoint,
  result: RunResult,
  doors: Doors,
): Promise<Refusal | 'gone on' | undefined> {
  const at = layout(runDir);
  const open = fence(runDir, lock.assertOwner, lock.successor);
  let told: RunResult | undefined = result;
  try {
    await tidy(runDir);
    if (await tellsOf(at.result, result)) return undefined;
    const stands = await standing(runDir);
    if ('problems' in stands) return stands;
    if (!isDeepStrictEqual(stands.read.checkpoint, state)) {
      told = undefined;
      return 'gone on';
    }
    const { snapshot } = state;
    const judge = await readJudge(runDir, manifest, doors.env);
    if ('problems' in judge) return judge;
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    if (snapshot !== null) await snapshots.restore(await snapshots.load(snapshot));
    unseal(at.workspace, judge.sealed);
    await settleTree(at.workspace);
    await tellTheRest(runDir, stands, lock.epoch, doors);
    // It vouches for the story as it is now.
    const whole = await endOf(manifest, stands.read.checkpoint, runDir, doors);
    await writeFileAtomic(at.result, withOwnHash(whole?.result ?? result), flushed);
    return undefined;
  } catch (error) {
    const trouble = groundTrouble(error);
    if (trouble !== undefined) return trouble;
    throw error;
  } finally {
    await giveFree(lock, told, doors);
    open();
  }
}

/** The story comes to its end as well. */
async function tellTheRest(
  runDir: string,
  { manifest, read }: Begun,
  epoch: number,
  doors: Doors,
): Promise<void> {
  const at = layout(runDir);
  const options = { runId: manifest.run_id, epoch };
  const [events, trace] = await allOpen([openJournal(at.events, options), openJournal(at.trace, options)]);
  try {
    const writer = eventWriter({ setting: doors, events, trace });
    await writeMissingRecords(runDir, manifest, read, writer);
    await writer.flush();
  } finally {
    await Promise.all([events.close(), trace.close()]);
  }
}

/** Gives the run free. One that ended at no exit is made to go on by whoever resumes it, and one whose engine was killed
 *  before it had told of its end is not: so the run is given free when that is told. */
export async function giveFree(lock: Lock, end: RunResult | undefined, doors: Doors): Promise<void> {
  // What broke the run (a folder that cannot be written any more) would break this too, and says more. A lock that
  // cannot be written is free as soon as this process has ended.
  const release = () =>
    lock.release().catch((error: unknown) => {
      doors.log('warn', 'the lock of the run was not given back', { why: systemWords(error) });
    });
  if (end?.status === 'failed' && end.exit_node === null && doors.atLast !== undefined) doors.atLast(release);
  else await release();
}

/** `result.json` says that the run is whole: it is on the disk, or it is not there. */
export const flushed = { sync: true, syncFolder: true, evenFolder: true } as const;

/** Whether the file tells of that end, and not of an earlier one that the run went on from. One that cannot be read tells
 *  of none. */
async function tellsOf(path: string, end: RunResult): Promise<boolean> {
  const said = Said.safeParse(parsed(path)).data;
  // What ended at no exit may have been interrupted, or stopped by another limit, at the same stage before.
  const alike =
    end.exit_node !== null ||
    (said?.status === end.status && said.reason === end.reason && said.wake_at === end.wake_at);
  return said?.stages === end.stages && alike;
}

const Said = RunResult.pick({ stages: true, status: true, reason: true, wake_at: true });

const parsed = (path: string): unknown => {
  try {
    const read = readPlain(path);
    return read.kind === 'text' ? JSON.parse(read.text) : undefined;
  } catch {
    return undefined;
  }
};

/** Removes what a killed engine has left of files that it was just replacing, and of lines that it was just writing. The
 *  workspace is restored as a whole. */
export async function tidy(runDir: string): Promise<void> {
  await mendJournals(runDir);
  for (const folder of await ownFolders(runDir)) await removeNeighbours(folder);
  await removeGitLocks(layout(runDir).history);
}

async function isUntidy(runDir: string): Promise<boolean> {
  for (const folder of await ownFolders(runDir)) if (await hasNeighbours(folder)) return true;
  return false;
}

/** The folders of a run that the engine replaces files in. In the workspace, what is hidden of it and what is scratch, files
 *  are others', whatever they are called, and folders may be closed. */
async function ownFolders(runDir: string): Promise<readonly string[]> {
  const at = layout(runDir);
  const folders = (await readdir(runDir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(runDir, entry.name))
    .filter((path) => path !== at.workspace && path !== at.hidden && path !== at.scratch);
  const stores = ['trees', 'large'].map((name) => join(at.snapshots, name));
  return [runDir, ...stores, exchangesLayout(at.exchanges).bodies, ...folders];
}

/** What the person is told: the file, the trouble, where the run stands and how it goes on. `next` is the command. */
export function diskStop(
  runDir: string,
  { path, error }: { readonly path: string | undefined; readonly error: Error },
  cause: unknown,
  next: string,
): DiskStop {
  const what = `${path ?? runDir}: ${systemWords(error)}; the run stands where its checkpoint says`;
  return new DiskStop(what, `mend that (space, permissions, the disk or its mount), then: ${next}`, cause);
}
