/** Starts one program and measures it: wall, processor time, peak memory. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Priority } from './priority.ts';

export type Ran = {
  /** Milliseconds since 1970, with their fraction: to be held against the times of files. */
  readonly startedAt: number;
  readonly wall_ms: number;
  /** Of the program and what it waited for; only where GNU time is installed. */
  readonly cpu_ms?: number;
  /** Of the largest single process; missing where neither GNU time nor /proc can tell. */
  readonly peak_mib?: number;
  readonly stdout: string;
};

export type Starter = {
  /** A folder of the bench's own, for what the program says and for figures. */
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly priority: Priority;
  /** After so many milliseconds a program counts as failed. */
  readonly limitMs: number;
  /** Any exit code counts as the end of its work. */
  readonly mayFail?: boolean;
};

/** A program did not do what was asked of it: a result, told as such, and the bench goes on. */
export class Failed extends Error {}
/** Somebody pressed Ctrl-C. */
export class Interrupted extends Error {}

/** How much processor time a program's own programs, its stages, had used at a moment; the unit of `used` is the
 *  kernel's. */
export type Pulse = { readonly at: number; readonly used: number };

let counter = 0;

/** Runs `argv` in the caller's folder to its end. Rejects with `Failed` when it cannot be started, ends with anything
 *  but 0 or takes longer than the limit, with `Interrupted` when the signal fires; it is gone by then. `pulses` is
 *  filled while it runs, where there is a /proc. */
export async function measure(argv: readonly string[], starter: Starter, pulses?: Pulse[]): Promise<Ran> {
  if (starter.signal.aborted) throw new Interrupted();
  const number = ++counter;
  const figures = join(starter.scratch, `figures-${number}`);
  const said = join(starter.scratch, `stderr-${number}`);
  const timed = gnuTime();
  const [program = '', ...args] = [
    ...starter.priority.words,
    ...(timed
      ? ['bash', '-c', timing, 'bash', figures, '/usr/bin/time', '-f', '%M', '-o', `${figures}-peak`]
      : []),
    ...argv,
  ];
  const stderr = openSync(said, 'w');
  const startedAt = performance.timeOrigin + performance.now();
  const start = performance.now();
  // A group of its own: Ctrl-C at a terminal reaches the bench alone, which then ends the group in good order.
  const child = spawn(program, args, {
    env: starter.env,
    detached: true,
    stdio: ['ignore', 'pipe', stderr],
  });
  closeSync(stderr);
  let stdout = '';
  // What is said is read and dropped but for its head: a full pipe would stop the program.
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (stdout.length < 4096) stdout += text;
  });
  let peak = 0;
  const pulse = pulses === undefined ? undefined : setInterval(() => feel(child.pid, timed, pulses), 50);
  const watch = timed ? undefined : setInterval(() => (peak = Math.max(peak, highWater(child.pid))), 20);
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    endGroup(child.pid, 'SIGKILL');
  }, starter.limitMs);
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    endGroup(child.pid, 'SIGINT');
    grace = setTimeout(() => endGroup(child.pid, 'SIGKILL'), 5000);
  };
  starter.signal.addEventListener('abort', stop, { once: true });
  const ending = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`cannot be started: ${error.message}`));
    child.on('close', (code, signal) =>
      resolve(
        code === 0 || (starter.mayFail === true && code !== null)
          ? ''
          : `ended with ${signal ?? `code ${code}`}`,
      ),
    );
  });
  const wall_ms = performance.now() - start;
  starter.signal.removeEventListener('abort', stop);
  clearInterval(watch);
  clearInterval(pulse);
  clearTimeout(limit);
  clearTimeout(grace);
  if (starter.signal.aborted) throw new Interrupted();
  const why = late ? `took longer than ${starter.limitMs / 1000} s` : ending;
  if (why !== '') throw new Failed(`${argv.join(' ')} ${why}${lastWords(said)}`);
  return {
    startedAt,
    wall_ms,
    stdout,
    ...(timed ? figuresIn(figures) : peak > 0 ? { peak_mib: peak } : {}),
  };
}

/** Writes user and system time of `"$@"`, in seconds, to the file $1: GNU time tells hundredths, and a program that has ended
 *  after a tenth of a second is compared by less. */
const timing = 'exec 3>&2 4>"$1"; shift; TIMEFORMAT="%3U %3S"; { time "$@" 2>&3 3>&- 4>&-; } 2>&4';

function figuresIn(file: string): { cpu_ms: number; peak_mib: number } {
  // GNU time says first how a program ended that failed.
  const lastLine = (path: string) => readFileSync(path, 'utf8').trim().split('\n').at(-1) ?? '';
  const [user = NaN, system = NaN] = lastLine(file).split(' ').map(Number);
  return { cpu_ms: (user + system) * 1000, peak_mib: Number(lastLine(`${file}-peak`)) / 1024 };
}

function lastWords(file: string): string {
  const lines = readFileSync(file, 'utf8').trim().split('\n').slice(-3).join('\n    ');
  return lines === '' ? '' : `:\n    ${lines.slice(-600)}`;
}

export function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended by itself in between.
  }
}

/** Notes what the processes that the program has waited for have used. Where it is timed it is the child of a child. */
function feel(pid: number | undefined, timed: boolean, pulses: Pulse[]): void {
  try {
    const its = timed ? childOf(childOf(pid)) : pid;
    const [, , children = 0, childrenInKernel = 0] = usedBy(its);
    pulses.push({ at: performance.timeOrigin + performance.now(), used: children + childrenInKernel });
  } catch {
    // It has not begun, or has ended; or there is no /proc.
  }
}

const childOf = (pid: number | string | undefined): string =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

/** Ticks in user and kernel mode: its own, and those of what it has waited for. */
function usedBy(pid: number | string | undefined): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold blanks. After it, utime is the 12th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).map(Number);
}

/** Milliseconds of processor time that a process and what it has waited for have used, in steps of 10. */
export const processorOf = (pid: number | undefined): number =>
  usedBy(pid).reduce((sum, ticks) => sum + ticks * 10, 0);

/** MiB. The kernel keeps the mark, so that a look now and then misses at most what comes after the last one. */
function highWater(pid: number | undefined): number {
  try {
    const found = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(found?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

let gnu: boolean | undefined;
/** It reports exactly what the kernel counted. Started from Node directly, a program would be charged with the peak of
 *  the Node that started it. */
function gnuTime(): boolean {
  gnu ??= /GNU/.test(spawnSync('/usr/bin/time', ['--version'], { encoding: 'utf8' }).stdout ?? '');
  return gnu;
}
