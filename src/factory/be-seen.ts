/** Marks this process as waiting for a suspended run. */
import { acquireLock, locksIn } from '../store/lock.ts';
import type { LockFile } from '../store/lock-file.ts';
import type { Doors } from './types.ts';

/** Takes and releases the run's lock, so that other commands show this process as the one that waits. The lock of a killed
 *  engine is left unchanged: the resume takes it over and reports that. */
export async function announceWaiter(runDir: string, { clock }: Doors): Promise<void> {
  const last = locksIn(runDir).reduce<LockFile | undefined>(
    (latest, lock) => (latest !== undefined && latest.epoch > lock.epoch ? latest : lock),
    undefined,
  );
  if (last?.released == null) return;
  const answer = await acquireLock(runDir, { clock }).catch(() => undefined);
  // An error does not matter here: the resume itself reports it.
  if (answer?.kind === 'acquired') await answer.lock.release().catch(() => {});
}
