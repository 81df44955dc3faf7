/** Who waits for a run, for those who look at it. */
import { acquireLock, locksIn } from '../store/lock.ts';
import type { LockFile } from '../store/lock-file.ts';
import type { Doors } from './types.ts';

/** Lets who looks at a parked run see that this process waits for it: whoever has had the lock and lives may go on. The
 *  lock of an engine that was killed is left to who goes on with the run, which tells of it. */
export async function beSeen(runDir: string, { clock }: Doors): Promise<void> {
  const last = locksIn(runDir).reduce<LockFile | undefined>(
    (latest, lock) => (latest !== undefined && latest.epoch > lock.epoch ? latest : lock),
    undefined,
  );
  if (last?.released == null) return;
  const answer = await acquireLock(runDir, { clock }).catch(() => undefined);
  // Who cannot write there now may be able to when the time has come.
  if (answer?.kind === 'acquired') await answer.lock.release().catch(() => {});
}
