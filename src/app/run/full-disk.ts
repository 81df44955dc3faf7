/** A run that the disk stops: one that is full suspends it, and its records say so, in room that was kept for them. */
import { nothingSpent } from '../../core/budget/usage.ts';
import type { SuspendedRun } from '../../core/outcome.ts';
import { quoteWord } from '../../core/policy/words.ts';
import { layout } from '../../core/records/layout.ts';
import { DiskStop, diskError, isFull } from '../../platform/files/disk-error.ts';
import { mayWrite } from '../../platform/files/fence.ts';
import { removeFile, systemWords, writeFresh } from '../../platform/files/write.ts';
import { closeAll } from '../../run/journal.ts';
import { openRunJournal } from '../../run/run-journal.ts';
import type { Finished } from '../types.ts';
import { removeScratch } from './leftovers.ts';
import type { OwnRun } from './own-run.ts';
import { endOf, writeResult } from './run-end.ts';

/** For the line of the journal, the checkpoint, the lock and the result, in bytes. */
const room = 64 * 1024;

/** Keeps room while this process executes the run. A disk that has none left is found full soon enough. */
export function keepRoom(runDir: string): void {
  try {
    writeFresh(layout(runDir).room, ' '.repeat(room), 0o600);
  } catch {}
}

/** Never throws: what ended the run matters more. */
export function giveRoom(runDir: string): void {
  const { room: path } = layout(runDir);
  try {
    if (mayWrite(path)) removeFile(path);
  } catch {}
}

/** The message about an error of the disk; undefined for any other error. `again` is the command that resumes the run. */
export function diskStopOf(runDir: string, error: unknown, again: string | undefined): DiskStop | undefined {
  const trouble = diskError(error);
  return trouble && diskStop(runDir, trouble, error, again ?? `factory resume ${quoteWord(runDir)}`);
}

/** The message about a disk error: the file, the error, and how to resume. `next` is the command. A full disk needs only space. */
function diskStop(
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

/** The end of a run whose disk is full. A node of another run reports the disk to it. */
export async function suspendedByDisk(cause: unknown, run: OwnRun): Promise<Finished | undefined> {
  const trouble = isFull(cause) ? diskError(cause) : undefined;
  const ended = trouble && (await suspendForRoom(run, trouble));
  return run.host.env['FACTORY_NODE_DIR'] === undefined ? ended : undefined;
}

/** Suspends the run at the node that the full disk has stopped; undefined where it has ended, or where other writers have
 *  taken the room: then a resume finds it as a kill would have left it. */
async function suspendForRoom(
  run: OwnRun,
  { path, error }: { readonly path: string | undefined; readonly error: Error },
): Promise<Finished | undefined> {
  const { runDir, reader, host, lock } = run;
  try {
    await closeAll(run.open);
    giveRoom(runDir);
    await removeScratch(runDir);
    const recorded = await reader.stored();
    if ('problems' in recorded || recorded.history.checkpoint.ended !== null) return undefined;
    const { history, manifest } = recorded;
    const { completed_nodes: _, ...state } = history.checkpoint;
    const at = host.clock.now().toISOString();
    const parked: SuspendedRun = {
      status: 'paused_disk',
      node: history.open[0]?.node ?? state.next_node ?? '',
      reason: `${path ?? runDir}: ${systemWords(error)}`,
      wake_at: null,
      since: at,
    };
    const options = { runId: manifest.run_id, epoch: lock.epoch };
    const journal = await openRunJournal(runDir, options, history);
    const { status } = parked;
    const { elapsed_ms, spent = nothingSpent, cut_ms } = state;
    const cut = cut_ms === undefined ? {} : { cut_ms };
    const stop = { type: 'Stopped', at, elapsed_ms, ...cut, spent, status } as const;
    try {
      await journal.commit({ ...stop, ended: null, parked }, state);
    } finally {
      await journal.close();
    }
    return await suspended(run, manifest);
  } catch {
    // What stopped the run is what people need to know.
    return undefined;
  }
}

/** The result of the run, which is written where there is room. */
async function suspended(run: OwnRun, manifest: Parameters<typeof endOf>[0]): Promise<Finished | undefined> {
  const recorded = await run.reader.stored();
  if ('problems' in recorded) return undefined;
  const end = await endOf(manifest, recorded.history, run.runDir, run.host);
  if (end !== undefined) run.ending = end.result;
  if (end !== undefined) await writeResult(run.runDir, end.result).catch(() => {});
  return end;
}
