/** A mark that all descendants of a process bear, whatever they do to their environment, session, folder and streams:
 *  the soft limit on real-time CPU time, set to a number of the run's own. Limits are inherited by every child, anyone
 *  may read them, and at twelve years of real-time computing this one limits nothing. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

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

/** What a stage bears. */
export type Brand = {
  readonly word: string;
  /** Path of the program that gives it to the stage; undefined where this process bears it itself, and so hands it down. */
  readonly by?: string;
};

/** What the stages of a run are branded with; undefined where the system cannot. Only a process that does nothing but this
 *  run bears the brand itself. In any other one `by`, the path of `prlimit`, gives it to each stage: who ends what is left
 *  of the run, at the end of a stage or later, would else end the whole program and what it has started besides. */
export async function brandFor(
  word: string,
  has: { readonly own: boolean; readonly by: string | undefined },
): Promise<Brand | undefined> {
  const { own, by } = has;
  if (own) return (await brandOurselves(word)) ? { word } : undefined;
  return by !== undefined && (await brands(by, word)) ? { word, by } : undefined;
}

/** Whether the program can, by its path; tried once. */
const tried = new Map<string, Promise<boolean>>();

function brands(by: string, word: string): Promise<boolean> {
  const known = tried.get(by) ?? isBrandedBy(by, word);
  tried.set(by, known);
  return known;
}

const isBrandedBy = (by: string, word: string): Promise<boolean> =>
  promisify(execFile)(by, [`--rttime=${word}:`, '--', 'cat', '/proc/self/limits']).then(
    ({ stdout }) => brandIn(stdout) === word,
    () => false,
  );

/** The brand of a process; undefined when it has none or cannot be looked at. */
export function brandOn(pid: number): string | undefined {
  try {
    return brandIn(readFileSync(`/proc/${pid}/limits`, 'latin1'));
  } catch {
    return undefined;
  }
}

const brandIn = (limits: string): string | undefined =>
  /^Max realtime timeout +(4\d{14}) /m.exec(limits)?.[1];
