/** A run whose disk is full: it is suspended, and its records say so, in room that was kept for them. */
import { nothingSpent } from '../../core/budget/usage.ts';
import type { SuspendedRun } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { mayWrite } from '../../platform/files/fence.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { removeFile, systemWords, writeFileAtomic, writeFresh } from '../../platform/files/write.ts';
import { withOwnHash } from '../../run/chain.ts';
import { closeAll } from '../../run/journal.ts';
import { marksIn } from '../../run/marks.ts';
import { openRunJournal } from '../../run/run-journal.ts';
import type { Finished } from '../types.ts';
import { endOf, flushed } from './finish-run.ts';
import type { OwnedRun } from './owned-run.ts';
import { loadRunState } from './run-state.ts';

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

/** Suspends the run at the node that the full disk has stopped; undefined where it has ended, or where other writers have
 *  taken the room: then a resume finds it as a kill would have left it. */
export async function suspendForRoom(
  run: OwnedRun,
  { path, error }: { readonly path: string | undefined; readonly error: Error },
): Promise<Finished | undefined> {
  const { runDir, host, lock } = run;
  try {
    await closeAll(run.open);
    giveRoom(runDir);
    await removeTree(layout(runDir).scratch);
    const stands = await loadRunState(runDir);
    if ('problems' in stands || stands.history.checkpoint.ended !== null) return undefined;
    const { history, manifest } = stands;
    const { completed_nodes: _, ...state } = history.checkpoint;
    const at = host.clock.now().toISOString();
    const parked: SuspendedRun = {
      status: 'paused_disk',
      node: history.begun?.node ?? state.next_node ?? '',
      reason: `${path ?? runDir}: ${systemWords(error)}`,
      wake_at: null,
      since: at,
    };
    const options = { runId: manifest.run_id, epoch: lock.epoch };
    const journal = await openRunJournal(runDir, options, history, () => marksIn(runDir));
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
async function suspended(
  run: OwnedRun,
  manifest: Parameters<typeof endOf>[0],
): Promise<Finished | undefined> {
  const stands = await loadRunState(run.runDir);
  if ('problems' in stands) return undefined;
  const end = await endOf(manifest, stands.history, run.runDir, run.host);
  if (end !== undefined) run.ending = end.result;
  const path = layout(run.runDir).result;
  if (end !== undefined) await writeFileAtomic(path, withOwnHash(end.result), flushed).catch(() => {});
  return end;
}
