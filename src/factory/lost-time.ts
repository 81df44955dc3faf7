/** The time that engines worked of which no checkpoint tells. */
import type { Checkpoint } from '../model/checkpoint.ts';
import type { LockFile } from '../store/lock-file.ts';

/** Milliseconds that earlier engines worked at the next node after the last checkpoint, as far as their last signs of life
 *  tell: never more than each held the run, whatever a wall clock that was set meanwhile makes of it. `owners` are those
 *  from the one on that wrote the checkpoint. Who gave the run free was not cut. */
export function lostTime(
  loaded: Pick<Checkpoint, 'at' | 'epoch' | 'status'>,
  owners: readonly Pick<LockFile, 'epoch' | 'heartbeat' | 'held_ms' | 'released'>[],
): number {
  let lost = 0;
  for (const { epoch, heartbeat, held_ms: held, released } of owners) {
    if (released !== null) continue;
    const since = Date.parse(heartbeat) - Date.parse(loaded.at);
    // A later one that was killed before its first checkpoint: all that it did is lost.
    if (epoch > loaded.epoch) lost += held ?? 0;
    // A checkpoint that is none of a run at work has counted the time up to it.
    else if (epoch === loaded.epoch && loaded.status === 'running')
      lost += Math.max(0, Math.min(since, held ?? since)) || 0;
  }
  return lost;
}
