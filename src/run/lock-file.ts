/** The content of a lock, and what it means for a process that wants the run. */
import { lstatSync } from 'node:fs';
import * as z from 'zod';
import type { ProcessId } from '../core/contracts/process.ts';
import { once } from '../core/once.ts';
import { readPlain } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { hasStartTime, isAlive, isStopped, type Self } from '../platform/process/table.ts';

const lockFileSchema = once(() =>
  z.object({
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
    folder: z.string().optional().describe('Inode of the run directory: in a copy it is another one'),
    device: z
      .string()
      .optional()
      .describe('The one that the run directory is on, in a copy by the disk another one'),
    released: z.string().nullable(),
  }),
);
export type LockFile = z.infer<ReturnType<typeof lockFileSchema>>;

/** Who owns a run, for people. `since` and `heartbeat` are RFC 3339. */
export type Owner = {
  readonly pid: number;
  readonly host: string;
  readonly epoch: number;
  readonly since: string;
  readonly heartbeat: string;
};

/** An owner whose run was taken over. */
export type FormerOwner = Owner & {
  /** `gone`: its process has ended; `silent`: on another host or in another container, may be at work; `stopped`: on this
   *  host, and changes nothing when it is continued. */
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
    // Of the name itself: a link that leads nowhere takes the lock's place.
    const changedAt = lstatSync(path).mtimeMs;
    const read = lockFileSchema().safeParse(parsed(text));
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

export type LockState =
  | { readonly kind: 'free' }
  | { readonly kind: 'ours'; readonly before: FormerOwner }
  | {
      readonly kind: 'held';
      readonly owner: Owner | undefined;
      /** Who has it, and what may be done. */
      readonly why: string;
      /** The same for a user of a command with `--take-over`. */
      readonly takeOver?: string;
    };

export type Circumstances = {
  readonly self: Self;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly staleAfterMs: number;
  /** Whether an owner that is stopped or cannot be seen loses the run at once. */
  readonly takeOver: boolean;
  /** The words before the owner in a sentence. */
  readonly ownedBy: string;
};

/** Whose the run is. On this host the process itself decides: one that runs keeps its run whatever the clocks say. An owner
 *  on another host or in another container is judged by its last heartbeat. */
export function judge(read: Exclude<LockRead, { kind: 'gone' }>, given: Circumstances): LockState {
  const { self, now, staleAfterMs, takeOver } = given;
  const patience = `it is taken over once it has been silent for ${seconds(staleAfterMs)}`;
  if (read.kind === 'unreadable') {
    if (takeOver || now - read.changedAt > staleAfterMs) return { kind: 'free' };
    return {
      kind: 'held',
      owner: undefined,
      why: `the lock ${read.path} cannot be read; perhaps it is just being made; try again: ${patience}`,
      takeOver: `do that, or, if no process has the run, ${atOnce}`,
    };
  }
  const { lock } = read;
  if (lock.released !== null) return { kind: 'free' };
  const { pid, host, epoch, since, heartbeat } = lock;
  const owner = { pid, host, epoch, since, heartbeat };
  const ours = (how: FormerOwner['how']): LockState => ({ kind: 'ours', before: { ...owner, how } });
  const whose = `${given.ownedBy} process ${pid} on ${host} since ${since}`;
  const sight = outOfSight(lock, self);
  if (sight !== undefined) {
    const silentMs = Math.max(0, now - Date.parse(heartbeat));
    if (takeOver || silentMs > staleAfterMs) return ours('silent');
    return {
      kind: 'held',
      owner,
      why: `${whose}, ${sight}; its last heartbeat was ${seconds(silentMs)} ago; end it there, or try again: ${patience}`,
      takeOver: `do that, or, if it has ended, ${atOnce}`,
    };
  }
  if (!isAlive(idOf(lock))) return ours('gone');
  if (!isStopped(idOf(lock)))
    return { kind: 'held', owner, why: `${whose}; wait until it ends, or end that process` };
  if (takeOver) return ours('stopped');
  return {
    kind: 'held',
    owner,
    why: `${whose}, and that process is stopped; continue it with kill -CONT ${pid}, or end it with kill -KILL ${pid}`,
    takeOver: `do that, or ${atOnce}`,
  };
}

const atOnce = 'take the run over at once with --take-over';

/** Whether the pid in a lock means something here: on another host, in another container or boot it does not. */
const isHere = (lock: LockFile, self: Self): boolean =>
  lock.host === self.host && lock.pid_space === self.pidSpace;

/** Why it cannot be seen from here whether the owner runs, as the end of a sentence about it; undefined where it can. */
export function outOfSight(lock: LockFile, self: Self): string | undefined {
  if (lock.host !== self.host) return 'which cannot be seen from here';
  if (!isHere(lock, self)) return 'before a restart or in another container';
  // A system that does not report when processes started: another one may have the pid by now.
  return isAlive(idOf(lock)) && !hasStartTime(idOf(lock)) ? 'which may be another process by now' : undefined;
}

const idOf = ({ pid, start_time, boot }: LockFile) => ({
  pid,
  startTime: start_time,
  ...(boot === undefined ? {} : { boot }),
});

/** Whether the owner that a lock names still runs where we can see it. */
export const livesOn = (lock: LockFile, self: Self): boolean => isHere(lock, self) && isAlive(idOf(lock));

/** The process that a lock names, if it still runs where we can signal it, and certainly is that one. */
export const processOf = (lock: LockFile, self: Self): ProcessId | undefined =>
  livesOn(lock, self) && hasStartTime(idOf(lock)) ? idOf(lock) : undefined;

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
