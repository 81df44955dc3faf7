/** What the kernel reports about processes: which are alive, their parents, and their environment. */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import type { ProcessId } from '../../core/contracts/process.ts';
import { realClock } from '../clock.ts';

/** Whether the kernel's process files exist (Linux). Without them only process groups can be followed. */
export const hasProc = process.platform === 'linux' && existsSync('/proc/self/stat');

export type ProcessFacts = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
  /** False for a zombie: it has exited and waits to be collected. */
  readonly alive: boolean;
  /** Stopped by a signal (SIGSTOP, Ctrl-Z) until it is continued. */
  readonly stopped: boolean;
  /** A kernel thread has no environment and cannot be ended. */
  readonly kernel: boolean;
};

const kernelThread = 0x00200000;

// One buffer for all: the kernel's files report no size, and allocating a buffer for each costs more than reading it.
const page = Buffer.allocUnsafeSlow(65_536);

/** Reads a file of the kernel. For a single `line` the first read returns all of it. */
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
    // The process has exited, or belongs to another user.
    return undefined;
  }
}

/** The facts of a process, or undefined when there is none with that pid. Linux only. */
export function processFacts(pid: number): ProcessFacts | undefined {
  // Checked first: an error for a missing file costs ten times as much, and this is called after every node.
  if (!existsSync(`/proc/${pid}`)) return undefined;
  const text = read(`/proc/${pid}/stat`, 'line');
  if (text === undefined) return undefined;
  // The name in parentheses may contain any character, including blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const state = fields[0] ?? 'X';
  // A process whose main thread has exited while other threads run looks like a zombie.
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

/** All pids, in no order. Linux only. */
export function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** A process of that name (which the kernel cuts after 15 characters) whose working directory is in one of the
 *  folders, where it can be read. Linux only; elsewhere none. */
export function atWorkIn(folders: readonly string[], name: string): number | undefined {
  return (hasProc ? allPids() : []).find((pid) => {
    if (read(`/proc/${pid}/comm`, 'line') !== `${name}\n`) return false;
    try {
      const at = `${readlinkSync(`/proc/${pid}/cwd`)}/`;
      return folders.some((folder) => at.startsWith(`${folder}/`));
    } catch {
      // The process has exited, or belongs to another user.
      return false;
    }
  });
}

/** The last pid given out in this pid namespace: pids rise and start again after the highest. */
export function lastPid(): number | undefined {
  const last = Number(read('/proc/loadavg', 'line')?.trim().split(' ').at(-1));
  return Number.isInteger(last) ? last : undefined;
}

/** Within this time, in milliseconds, no machine gives out all its pids and starts again, so everything that a
 *  program started has a higher pid. No machine starts a hundred programs in a millisecond. */
export function tooShortToWrap(): number {
  most ??= Number(read('/proc/sys/kernel/pid_max')?.trim()) || 5000;
  return most / 100;
}
let most: number | undefined;

/** Whether the environment that `pid` was started with holds `entry` (`NAME=value`, or `NAME=` for any value).
 *  `unknown` when it shows none at the moment: a process has none for a moment during exec. */
export function carries(pid: number, entry: string): boolean | 'unknown' {
  const sought = `\0${Buffer.from(entry).toString('latin1')}${entry.endsWith('=') ? '' : '\0'}`;
  const environment = read(`/proc/${pid}/environ`);
  if (environment === undefined) return false;
  if (environment !== '') return `\0${environment}\0`.includes(sought);
  // Where the main thread has exited, other threads still have it.
  for (const thread of threadsOf(pid)) {
    const its = thread === pid ? '' : (read(`/proc/${pid}/task/${thread}/environ`) ?? '');
    if (its !== '') return `\0${its}\0`.includes(sought);
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

/** False when the identity is from another boot: none of its processes is alive. */
export const isOfThisBoot = (id: ProcessId): boolean =>
  hasProc
    ? id.boot === undefined || id.boot === bootId()
    : id.boot === undefined && isSince(id.startTime, realClock.now().getTime() - uptime() * 1000);

/** Whether a process with the start time `ps` reported (`lstart`, in UTC) started after the system did, at `boot`
 *  in milliseconds since 1970; false for a text of another form. One minute is tolerated, because clocks are set
 *  after a boot. */
export const isSince = (lstart: string, boot: number): boolean =>
  Date.parse(`${lstart} UTC`) >= boot - 60_000;

/** The identity of an existing process (zombies included), or undefined. */
export function processId(pid: number): ProcessId | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (hasProc) {
    const startTime = processFacts(pid)?.startTime;
    return startTime === undefined ? undefined : { pid, startTime, boot: bootId() };
  }
  const startTime = psSays(pid, 'lstart=') ?? (isThere(pid) && !psTells() ? '' : undefined);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether the start time is known. Without it only the pid identifies the process, and another one may have it by
 *  now. */
export const hasStartTime = ({ startTime }: ProcessId): boolean => startTime !== '';

/** Whether this exact process still runs. False for a zombie and, where it can be distinguished, for another
 *  process with the same pid. */
export function isAlive(id: ProcessId): boolean {
  if (!Number.isInteger(id.pid) || id.pid <= 0) return false;
  if (hasProc) {
    if (!isOfThisBoot(id)) return false;
    const facts = processFacts(id.pid);
    return facts?.alive === true && facts.startTime === id.startTime;
  }
  if (!hasStartTime(id)) return isThere(id.pid) && !psTells();
  return psSays(id.pid, 'lstart=') === id.startTime && psSays(id.pid, 'stat=')?.startsWith('Z') === false;
}

/** Whether this exact process has been stopped by a signal. Linux only; elsewhere false. */
export function isStopped(id: ProcessId): boolean {
  if (!hasProc || !isOfThisBoot(id)) return false;
  const facts = processFacts(id.pid);
  return facts?.stopped === true && facts.startTime === id.startTime;
}

/** A process as another machine can identify it: `pidSpace` names the boot and pid namespace in which its pid is
 *  valid (empty where the system has no name for it). */
export type Self = { readonly host: string; readonly id: ProcessId; readonly pidSpace: string };

/** The identity of this process. */
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

/** This process and all its parents, by pid and by group: they are never ended. */
export function ourselves(): { readonly pids: ReadonlySet<number>; readonly groups: ReadonlySet<number> } {
  const pids = new Set<number>();
  const groups = new Set<number>();
  for (let at = process.pid; at > 0 && !pids.has(at); ) {
    pids.add(at);
    const facts = hasProc ? processFacts(at) : undefined;
    if (facts !== undefined) groups.add(facts.group);
    at = facts?.parent ?? (at === process.pid ? process.ppid : 0);
  }
  return { pids, groups: new Set([...groups, ...pids]) };
}

/** Whether this process or one of its parents was started with one of these entries in its environment (`NAME=value`, or `NAME=` for any
 *  value). Without the kernel's process files only this process is known. */
export function descendsFrom(entries: readonly string[]): boolean {
  const own = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
  if (
    own.some((one) => entries.some((entry) => (entry.endsWith('=') ? one.startsWith(entry) : one === entry)))
  )
    return true;
  return (
    hasProc && [...ourselves().pids].some((pid) => entries.some((entry) => carries(pid, entry) === true))
  );
}

let answer: boolean | undefined;
/** Whether a `ps` that reports start times exists: small systems have none. */
function psTells(): boolean {
  answer ??= psSays(process.pid, 'lstart=') !== undefined;
  return answer;
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
    const printed = execFileSync('ps', ['-o', column, '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return printed.trim() === '' ? undefined : printed.trim();
  } catch {
    // `ps` fails for a pid that does not exist.
    return undefined;
  }
}

/* The programs of a process group, for messages about what it was doing. */

/** `cwd` is missing where the system does not report it. */
export type Program = { readonly args: readonly string[]; readonly cwd?: string };

/** The living members of a group, on Linux also those of its session and their descendants; undefined where the system does not
 *  report them. In a sandbox the descendants are all, since its first process adopts the others. */
export function programsOf(group: number): readonly Program[] | undefined {
  if (!hasProc) return fromPs(group);
  const all = new Map(allPids().map((pid) => [pid, processFacts(pid)]));
  const belongs = (pid: number): boolean => {
    for (
      let at = all.get(pid), steps = 0;
      at !== undefined && steps < 1000;
      at = all.get(at.parent), steps += 1
    )
      if (at.group === group || at.session === group) return true;
    return false;
  };
  return [...all.keys()].flatMap((pid) => {
    if (all.get(pid)?.alive !== true || !belongs(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      return [{ args, cwd: readlinkSync(`/proc/${pid}/cwd`) }];
    } catch {
      // It has exited meanwhile.
      return [];
    }
  });
}

/** Full command lines from `ps`, which cuts lines at the terminal's width, and on macOS also without a terminal. */
export function fromPs(group: number): readonly Program[] | undefined {
  try {
    const listing = execFileSync('ps', ['-A', '-ww', '-o', 'pgid=,pid=,args='], { encoding: 'utf8' });
    const members = listing
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([first]) => first === String(group));
    const folders = foldersOf(members.map(([, pid = '']) => pid));
    return members.map(([, pid = '', ...args]) => {
      const cwd = folders.get(pid);
      return cwd === undefined ? { args } : { args, cwd };
    });
  } catch {
    return undefined;
  }
}

/** Working directories by pid, as far as `lsof` (part of macOS) reports them. */
function foldersOf(pids: readonly string[]): ReadonlyMap<string, string> {
  const folders = new Map<string, string>();
  if (pids.length === 0) return folders;
  let pid = '';
  for (const line of openFolders(pids).split('\n')) {
    if (line.startsWith('p')) pid = line.slice(1);
    if (line.startsWith('n/')) folders.set(pid, line.slice(1));
  }
  return folders;
}

/** It fails where one of the processes has exited meanwhile, and still reports the others. */
const openFolders = (pids: readonly string[]): string =>
  spawnSync('lsof', ['-a', '-d', 'cwd', '-p', pids.join(','), '-Fn'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).stdout ?? '';
