/** The running time that no checkpoint counts: after the last checkpoint of a killed engine. */
import type { Checkpoint } from '../model/checkpoint.ts';
import type { LockFile } from '../store/lock-file.ts';

/** Milliseconds that killed engines ran after the last checkpoint, by their last heartbeats; never more than each held the lock
 *  by a monotonic clock, so that a changed wall clock does not matter. `owners` are those since the one that wrote the
 *  checkpoint. An owner that released the lock was not killed. */
export function lostTime(
  loaded: Pick<Checkpoint, 'at' | 'epoch' | 'status'>,
  owners: readonly Pick<LockFile, 'epoch' | 'heartbeat' | 'held_ms' | 'released'>[],
): number {
  let lost = 0;
  for (const { epoch, heartbeat, held_ms: held, released } of owners) {
    if (released !== null) continue;
    const since = Date.parse(heartbeat) - Date.parse(loaded.at);
    // A later owner was killed before its first checkpoint: its whole time counts.
    if (epoch > loaded.epoch) lost += held ?? 0;
    // Only a running run was interrupted after its checkpoint.
    else if (epoch === loaded.epoch && loaded.status === 'running')
      lost += Math.max(0, Math.min(since, held ?? since)) || 0;
  }
  return lost;
}
