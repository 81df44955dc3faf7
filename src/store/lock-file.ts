/** What stands in a lock, and what it means for somebody who wants the run. */
import { lstatSync } from 'node:fs';
import * as z from 'zod';
import { isMissing } from '../system/files.ts';
import { isAlive, isStopped, isTold, type Self } from '../system/proc.ts';
import { readPlain } from '../system/read.ts';

export const LockFile = z.object({
  schema_version: z.literal(1),
  epoch: z.int().positive(),
  pid: z.int().positive(),
  start_time: z.string().describe('Of the process, as the kernel counts'),
  boot: z.string().optional(),
  pid_space: z.string().describe('Pids of another boot or container say nothing here'),
  host: z.string(),
  since: z.string(),
  heartbeat: z.iso.datetime(),
  held_ms: z
    .number()
    .optional()
    .describe('From taking the lock to the heartbeat, by a clock that is never set'),
  uptime_ms: z.number().optional().describe('Of the machine at the heartbeat; counts within one boot'),
  folder: z.string().optional().describe('Inode of the run directory: in a copy it is another one'),
  device: z
    .string()
    .optional()
    .describe('The one that the run directory is on, in a copy by the disk another one'),
  released: z.string().nullable(),
});
export type LockFile = z.infer<typeof LockFile>;

/** Who owns a run, for people. `since` and `heartbeat` are RFC 3339. */
export type Owner = {
  readonly pid: number;
  readonly host: string;
  readonly epoch: number;
  readonly since: string;
  readonly heartbeat: string;
};

/** An owner whose run was taken over. */
export type Before = Owner & {
  /** How long it held the lock until its last heartbeat, as far as it said so. */
  readonly heldMs: number | undefined;
  /** `gone`; `silent`: out of our sight, may be at work; `stopped`: on this host, and changes nothing when it wakes. */
  readonly how: 'gone' | 'silent' | 'stopped';
};

export type LockRead =
  | { readonly kind: 'read'; readonly lock: LockFile }
  /** Not a lock file as we write it: made on a disk without hard links and not yet complete, or damaged. */
  | { readonly kind: 'unreadable'; readonly path: string; readonly epoch: number; readonly changedAt: number }
  | { readonly kind: 'gone' };

/** Most bytes of a lock's file. */
export const mostOfLock = 65_536;

/** Reads the lock at `path`, which is that of this epoch. */
export function readLockFile(path: string, epoch: number): LockRead {
  try {
    const found = readPlain(path, mostOfLock);
    const text = found.kind === 'text' ? found.text : '';
    // Of the name itself: a link that leads nowhere holds no lock of ours, but takes its place.
    const changedAt = lstatSync(path).mtimeMs;
    const read = LockFile.safeParse(parsed(text));
    return read.success ? { kind: 'read', lock: read.data } : { kind: 'unreadable', path, epoch, changedAt };
  } catch (error) {
    if (isMissing(error)) return { kind: 'gone' };
    throw error;
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export type Judged =
  | { readonly kind: 'free' }
  | { readonly kind: 'ours'; readonly before: Before }
  | {
      readonly kind: 'held';
      readonly owner: Owner | undefined;
      /** Who has it, and what may be done. */
      readonly why: string;
      /** The same for a person at a command line that knows `--take-over`, where there is more to say. */
      readonly takeOver?: string;
    };

export type Circumstances = {
  readonly self: Self;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Milliseconds since the machine started. */
  readonly uptime: number;
  readonly staleAfterMs: number;
  /** Whether a stopped or unreachable owner is not waited for. */
  readonly takeOver: boolean;
  /** Whether a stopped owner can lose the run: only where it looks before each write. */
  readonly stoppedYields: boolean;
  /** What stands before the owner in a sentence. */
  readonly ownedBy: string;
};

/** Whose the run is. On this host what counts is what can be seen: a process that runs keeps its run whatever the clocks
 *  say. Silence is told by the machine's own uptime, which nobody sets; by the wall clock only where the owner is on
 *  another machine, and then a heartbeat from the future is one of just now. */
export function judge(read: Exclude<LockRead, { kind: 'gone' }>, given: Circumstances): Judged {
  const { self, now, staleAfterMs, takeOver } = given;
  const patience = `it is taken over once it has been silent for ${seconds(staleAfterMs)}`;
  if (read.kind === 'unreadable') {
    if (takeOver || now - read.changedAt > staleAfterMs) return { kind: 'free' };
    const why = `the lock ${read.path} cannot be read; perhaps it is just being made`;
    return {
      kind: 'held',
      owner: undefined,
      why: `${why}; try again: ${patience}`,
      takeOver: 'do that, or, if you know that nobody has the run, take it over at once with --take-over',
    };
  }
  const { lock } = read;
  if (lock.released !== null) return { kind: 'free' };
  const { pid, host, epoch, since, heartbeat } = lock;
  const owner = { pid, host, epoch, since, heartbeat };
  const ours = (how: Before['how']): Judged => ({
    kind: 'ours',
    before: { ...owner, heldMs: lock.held_ms, how },
  });
  const whose = `${given.ownedBy} process ${pid} on ${host} since ${since}`;
  const outOfSight = (sight: string): Judged => {
    const silentMs = silence(lock, given, false);
    if (takeOver || silentMs > staleAfterMs) return ours('silent');
    const aheadMs = Date.parse(heartbeat) - now;
    // Until that time has come, nobody could be told to try again.
    const why =
      aheadMs > staleAfterMs
        ? `its last sign of life is ${seconds(aheadMs)} ahead of the clock here, so that nothing tells how long it has been silent; end it there, or set the clock that is wrong and try again`
        : `its last sign of life was ${seconds(silentMs)} ago; end it there, or try again: ${patience}`;
    return {
      kind: 'held',
      owner,
      why: `${whose}, ${sight}; ${why}`,
      takeOver: `do that, or, if you know that it is gone, take the run over at once with --take-over`,
    };
  };
  if (host === self.host && lock.pid_space === self.pidSpace) {
    const id = idOf(lock);
    if (!isAlive(id)) return ours('gone');
    if (!isTold(id)) return outOfSight('which nobody here can tell from a later one of that number');
    if (!isStopped(id))
      return { kind: 'held', owner, why: `${whose}; wait until it ends, or end that process` };
    const silentMs = silence(lock, given, lock.boot !== undefined && lock.boot === self.id.boot);
    const asleep = `${whose}, and that process is stopped (its last sign of life was ${seconds(silentMs)} ago)`;
    const why = `${asleep}; continue it with kill -CONT ${pid}, or end it with kill -KILL ${pid}`;
    if (!given.stoppedYields) return { kind: 'held', owner, why };
    if (takeOver || silentMs > staleAfterMs) return ours('stopped');
    const left = seconds(staleAfterMs - silentMs);
    return {
      kind: 'held',
      owner,
      why,
      takeOver: `do that, or take the run over: in ${left} this command does so by itself, and at once with --take-over`,
    };
  }
  return outOfSight(
    host === self.host ? 'before a restart or in another container' : 'which cannot be looked at from here',
  );
}

const idOf = ({ pid, start_time, boot }: LockFile) => ({
  pid,
  startTime: start_time,
  ...(boot === undefined ? {} : { boot }),
});

/** Whether the owner that a lock names still lives where we can see it. */
export const livesOn = (lock: LockFile, self: Self): boolean =>
  lock.host === self.host && lock.pid_space === self.pidSpace && isAlive(idOf(lock));

/** Milliseconds since the last heartbeat, never negative. */
const silence = (lock: LockFile, { now, uptime }: Circumstances, sameBoot: boolean): number =>
  Math.max(
    0,
    sameBoot && lock.uptime_ms !== undefined ? uptime - lock.uptime_ms : now - Date.parse(lock.heartbeat),
  );

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
