/** A mark that all descendants of a process bear, whatever they do to their environment, session, folder and streams:
 *  the soft limit on real-time CPU time, set to a number of the run's own. Limits are inherited by every child, anyone
 *  may read them, and at twelve years of real-time computing this one limits nothing. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Fifteen digits: a 4, ten of the run's marker, four of the epoch. */
export const brandOf = (marker: string, epoch: number): string =>
  `${brandsOf(marker)}${String(epoch % 10_000).padStart(4, '0')}`;

/** What the brands of all epochs of a run begin with. */
export const brandsOf = (marker: string): string => {
  const number = createHash('sha256').update(marker).digest().readBigUInt64BE() % 10_000_000_000n;
  return `4${String(number).padStart(10, '0')}`;
};

/** Brands this process, and so whatever it starts from now on. False where the system cannot (no `prlimit`, or no such
 *  limit): then descendants are known by group, session, parent and environment alone. */
export async function brandOurselves(brand: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    // No streams: to make them takes longer than the program itself, and what came of it is read from the system.
    const child = spawn('prlimit', ['--pid', String(process.pid), `--rttime=${brand}:`], { stdio: 'ignore' });
    await new Promise<void>((done) => {
      child.once('exit', () => done());
      child.once('error', () => done());
    });
  } catch {
    // Some reasons for which a program cannot be started (no memory, a PATH that leads in circles) are thrown at once.
    return false;
  }
  return brandOn(process.pid) === brand;
}

/** The brand of a process; undefined when it has none or cannot be looked at. */
export function brandOn(pid: number): string | undefined {
  try {
    return /^Max realtime timeout +(4\d{14}) /m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}
