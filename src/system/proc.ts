/** What the kernel says about processes: who is alive, whose child it is, what its environment holds. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { realClock } from './clock.ts';
import type { ProcessId } from './spawn.ts';

/** Whether the kernel's process files are there (Linux). Without them only groups can be followed. */
export const hasProc = process.platform === 'linux' && existsSync('/proc/self/stat');

export type ProcessFacts = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
  /** False for a zombie: it has ended and only waits to be collected. */
  readonly alive: boolean;
  /** Stopped by a signal (SIGSTOP, Ctrl-Z): it does nothing until it is continued. */
  readonly stopped: boolean;
  /** A thread of the kernel has no environment and cannot be ended. */
  readonly kernel: boolean;
};

const kernelThread = 0x00200000;

// One for all: the kernel's files tell no size, and a new buffer for each would cost more than the reading.
const page = Buffer.allocUnsafeSlow(65_536);

/** A file of the kernel's. Where it is a single `line` the first answer is the whole of it. */
function read(path: string, line?: 'line'): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      let text = '';
      for (;;) {
        const count = readSync(file, page);
        text += page.toString('latin1', 0, count);
        if (count === 0 || line !== undefined) return text;
      }
    } finally {
      closeSync(file);
    }
  } catch {
    // Gone meanwhile, or not ours to look at: either way there is nothing to know.
    return undefined;
  }
}

/** The facts of a process, or undefined when there is none of that pid. Linux only. */
export function factsOf(pid: number): ProcessFacts | undefined {
  // Asked first: the error of a file that is not there costs ten times as much, and every stage asks after its end.
  if (!existsSync(`/proc/${pid}`)) return undefined;
  const text = read(`/proc/${pid}/stat`, 'line');
  if (text === undefined) return undefined;
  // The name in parentheses may hold anything, blanks and parentheses too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const state = fields[0] ?? 'X';
  // A main thread that has ended while others go on shows as a zombie of a living process.
  const alive = !'ZXx'.includes(state) || Number(fields[17]) > 1;
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    alive,
    stopped: state === 'T',
    kernel: (Number(fields[6]) & kernelThread) !== 0,
  };
}

/** Every pid there is, in no order. Linux only. */
export function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** A process of that name (as the kernel cuts it, after 15 characters) that stands in one of the folders or below, where one
 *  can be seen. Linux only; elsewhere none. */
export function atWorkIn(folders: readonly string[], name: string): number | undefined {
  return (hasProc ? allPids() : []).find((pid) => {
    if (read(`/proc/${pid}/comm`, 'line') !== `${name}\n`) return false;
    try {
      const at = `${readlinkSync(`/proc/${pid}/cwd`)}/`;
      return folders.some((folder) => at.startsWith(`${folder}/`));
    } catch {
      // Gone meanwhile, or somebody else's.
      return false;
    }
  });
}

/** The pid given out last in our pid namespace: pids are given in rising order and begin anew at the top. */
export function lastPid(): number | undefined {
  const last = Number(read('/proc/loadavg', 'line')?.trim().split(' ').at(-1));
  return Number.isInteger(last) ? last : undefined;
}

/** Within this time, in milliseconds, no machine gives out all its pids and begins anew, so that whatever a program
 *  started has a higher pid than it. No machine starts a hundred programs in a millisecond. */
export function tooShortToWrap(): number {
  most ??= Number(read('/proc/sys/kernel/pid_max')?.trim()) || 5000;
  return most / 100;
}
let most: number | undefined;

/** Whether the environment that `pid` was started with holds `entry` (`NAME=value`, or `NAME=` for any value).
 *  `unknown` when it shows none just now: a process that is just becoming another program has none for a moment. */
export function carries(pid: number, entry: string): boolean | 'unknown' {
  const wanted = `\0${Buffer.from(entry).toString('latin1')}${entry.endsWith('=') ? '' : '\0'}`;
  const environment = read(`/proc/${pid}/environ`);
  if (environment === undefined) return false;
  if (environment !== '') return `\0${environment}\0`.includes(wanted);
  // Where the main thread has ended the others still know.
  for (const thread of threadsOf(pid)) {
    const its = thread === pid ? '' : (read(`/proc/${pid}/task/${thread}/environ`) ?? '');
    if (its !== '') return `\0${its}\0`.includes(wanted);
  }
  return 'unknown';
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

let boot: string | undefined;
const bootId = (): string => {
  boot ??= read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return boot;
};

/** False when the identity says that it is of another boot: nothing of that one lives. */
export const isOfThisBoot = (id: ProcessId): boolean =>
  hasProc
    ? id.boot === undefined || id.boot === bootId()
    : id.boot === undefined && isSince(id.startTime, realClock.now().getTime() - uptime() * 1000);

/** Whether a process that began when `ps` says (`lstart`, in UTC) began after the system did, at `boot` in milliseconds
 *  since 1970; what has no such time is nothing that we have noted. A minute is spared: clocks are set after a start. */
export const isSince = (lstart: string, boot: number): boolean =>
  Date.parse(`${lstart} UTC`) >= boot - 60_000;

/** The identity of a process that exists now (a zombie has one too), or undefined. */
export function processId(pid: number): ProcessId | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (hasProc) {
    const startTime = factsOf(pid)?.startTime;
    return startTime === undefined ? undefined : { pid, startTime, boot: bootId() };
  }
  const startTime = psSays(pid, 'lstart=') ?? (isThere(pid) && !psTells() ? '' : undefined);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** A process of which nobody says when it started is known by its pid alone: another one may have it by now. */
export const isTold = ({ startTime }: ProcessId): boolean => startTime !== '';

/** Whether this very process still runs. A zombie counts as dead, and so does another process with its pid, where anybody
 *  can tell it. */
export function isAlive(id: ProcessId): boolean {
  if (!Number.isInteger(id.pid) || id.pid <= 0) return false;
  if (hasProc) {
    if (!isOfThisBoot(id)) return false;
    const facts = factsOf(id.pid);
    return facts?.alive === true && facts.startTime === id.startTime;
  }
  if (!isTold(id)) return isThere(id.pid) && !psTells();
  return psSays(id.pid, 'lstart=') === id.startTime && psSays(id.pid, 'stat=')?.startsWith('Z') === false;
}

/** Whether this very process has been stopped by a signal. Linux only; elsewhere false. */
export function isStopped(id: ProcessId): boolean {
  if (!hasProc || !isOfThisBoot(id)) return false;
  const facts = factsOf(id.pid);
  return facts?.stopped === true && facts.startTime === id.startTime;
}

/** A process as other machines may tell it: `pidSpace` names the boot and pid namespace in which its pid means
 *  something (empty where the system has no name for it). */
export type Self = { readonly host: string; readonly id: ProcessId; readonly pidSpace: string };

/** Who we are. */
export function thisProcess(): Self {
  return {
    host: hostname(),
    id: processId(process.pid) ?? { pid: process.pid, startTime: '' },
    pidSpace: pidSpace(),
  };
}

function pidSpace(): string {
  if (!hasProc) return '';
  try {
    return `${bootId()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return bootId();
  }
}

/** We and all our parents, by pid and by group: whatever is to be ended, these are spared. */
export function ourselves(): { readonly pids: ReadonlySet<number>; readonly groups: ReadonlySet<number> } {
  const pids = new Set<number>();
  const groups = new Set<number>();
  for (let at = process.pid; at > 0 && !pids.has(at); ) {
    pids.add(at);
    const facts = hasProc ? factsOf(at) : undefined;
    if (facts !== undefined) groups.add(facts.group);
    at = facts?.parent ?? (at === process.pid ? process.ppid : 0);
  }
  return { pids, groups: new Set([...groups, ...pids]) };
}

let told: boolean | undefined;
/** Whether there is a `ps` that knows of starts: small systems have none, or one that does not. */
function psTells(): boolean {
  told ??= psSays(process.pid, 'lstart=') !== undefined;
  return told;
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function psSays(pid: number, column: string): string | undefined {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const said = execFileSync('ps', ['-o', column, '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return said.trim() === '' ? undefined : said.trim();
  } catch {
    // `ps` answers with an error for a pid that is not there.
    return undefined;
  }
}
