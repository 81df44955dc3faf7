/** One owner for each run directory. Owners are numbered by epochs, each with a file `lock/<epoch>.json`; the highest
 *  one owns the run. The file of a new epoch appears complete and only once, so of two processes that want it one wins. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock, Every } from '../core/contracts/clock.ts';
import { layout } from '../core/records/layout.ts';
import { realEvery } from '../platform/clock.ts';
import { isFull, named } from '../platform/files/disk-error.ts';
import { assertInPlace, Superseded } from '../platform/files/fence.ts';
import { folderId, isFolder, readPlain } from '../platform/files/read.ts';
import {
  isCode,
  isMissing,
  makeFolder,
  overwriteJson,
  removeFile,
  syncFolder,
  writeFileAtomic,
} from '../platform/files/write.ts';
import { type Self, thisProcess } from '../platform/process/table.ts';
import { scan } from './journal-read.ts';
import {
  type FormerOwner,
  judge,
  type LockFile,
  type LockRead,
  livesOn,
  mostOfLock,
  type Owner,
  readLockFile,
} from './lock-file.ts';

export interface Lock {
  /** Higher than that of every owner before. */
  readonly epoch: number;
  /** The owner whose lock was taken over: it has ended, or was silent or stopped. */
  readonly takenOver?: FormerOwner;
  /** Throws `Superseded` once a later owner has taken the run. Checks one name, right before each write: a process that was
   *  stopped for long does not know that it was. */
  assertOwner(): void;
  /** A file that exists as soon as a later owner has the run. */
  readonly successor: string;
  /** Fires as soon as we notice that a later owner has taken the run; its reason is the `Superseded`. */
  readonly lost: AbortSignal;
  /** False once a later owner has taken the run, or the run directory is gone. Rejects when the last heartbeat could not
   *  be written. */
  stillOwner(): Promise<boolean>;
  /** Releases the run, if it is still ours, and stops the heartbeat. A second call does nothing. */
  release(): Promise<void>;
}

export type LockAnswer =
  | { readonly kind: 'acquired'; readonly lock: Lock }
  /** `why` says who has it and what to do, `takeOver` what a user of `--take-over` may do, `fix` what any user must;
   *  `owner` is unknown when the lock cannot be read. */
  | {
      readonly kind: 'refused';
      readonly owner: Owner | undefined;
      readonly why: string;
      readonly fix?: string;
      readonly takeOver?: string;
    };

export type LockOptions = {
  readonly clock: Clock;
  /** Default: this process on this host. */
  readonly self?: Self;
  /** How long an owner on another host or in another container may be silent. Default 60 s. */
  readonly staleAfterMs?: number;
  /** Whether an owner that is stopped, or cannot be seen from here, loses the run at once. One that runs on this host keeps
   *  it all the same. */
  readonly takeOver?: boolean;
  /** The words before the owner in a refusal. Default `this run is owned by`. */
  readonly ownedBy?: string;
  /** Default 10 s. */
  readonly heartbeatMs?: number;
  /** Default: a timer that does not keep the process alive. */
  readonly every?: Every;
  /** Whether the run is to be removed: then its lock must be had on a full disk too. */
  readonly removes?: boolean;
  /** Whether the locks of former owners are removed: where owners follow one another for ever, and none asks who had it before. */
  readonly forgets?: boolean;
};

/** Takes the run in `runDir`, or says who has it. We follow, with the next epoch, an owner that released it, whose process has
 *  ended, or that cannot be seen and was silent for too long. Throws `Superseded` where the run directory has been
 *  removed: it must not come back with nothing but a lock in it. */
export async function acquireLock(runDir: string, options: LockOptions): Promise<LockAnswer> {
  const folder = layout(runDir).locks;
  const { self = thisProcess() } = options;
  assertInPlace(runDir);
  try {
    makeFolder(folder);
  } catch (error) {
    if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
    const why = `${folder} should be the folder of the lock, but is something else`;
    return { kind: 'refused', owner: undefined, why, fix: 'move that away, then try again' };
  }
  for (let tries = 0; tries < 100; tries++) {
    const highest = highestEpoch(folder);
    const before = highest === undefined ? undefined : readLock(folder, highest);
    if (before?.kind === 'gone') continue;
    const judged = before === undefined ? undefined : judge(before, circumstances(options, self));
    if (judged?.kind === 'held') {
      const { owner, why, takeOver } = judged;
      return { kind: 'refused', owner, why, ...(takeOver === undefined ? {} : { takeOver }) };
    }
    const ours = newLock(runDir, 1 + (highest ?? (await lastEpochWritten(runDir))), self, options.clock);
    if (!(await create(folder, ours, options.removes === true ? highest : undefined))) continue;
    if (options.forgets === true && !forgetFormer(folder, ours.epoch)) continue;
    const takenOver = judged?.kind === 'ours' ? judged.before : undefined;
    return { kind: 'acquired', lock: hold(folder, ours, takenOver, options) };
  }
  throw new Error(`${folder}: other processes took the lock a hundred times while we tried`);
}

function newLock(runDir: string, epoch: number, { id, pidSpace, host }: Self, clock: Clock): LockFile {
  const now = clock.now().toISOString();
  return {
    schema_version: 1,
    epoch,
    pid: id.pid,
    start_time: id.startTime,
    ...(id.boot === undefined ? {} : { boot: id.boot }),
    pid_space: pidSpace,
    host,
    since: now,
    heartbeat: now,
    held_ms: 0,
    ...folderId(runDir),
    released: null,
  };
}

export const circumstances = (options: LockOptions, self: Self) => ({
  self,
  now: options.clock.now().getTime(),
  staleAfterMs: options.staleAfterMs ?? 60_000,
  takeOver: options.takeOver === true,
  ownedBy: options.ownedBy ?? 'this run is owned by',
});

/** Who owns the run, as far as this is known without a take-over; undefined when no process does. */
export async function ownerOf(runDir: string, clock: Clock): Promise<Owner | undefined> {
  const read = latestLock(runDir)?.read;
  if (read?.kind !== 'read') return undefined;
  const judged = judge(read, circumstances({ clock }, thisProcess()));
  return judged.kind === 'held' ? judged.owner : undefined;
}

/** The lock of the run's last owner, with its epoch; undefined where it has had none. */
export function latestLock(runDir: string): { readonly epoch: number; readonly read: LockRead } | undefined {
  const folder = layout(runDir).locks;
  const epoch = highestEpoch(folder);
  return epoch === undefined ? undefined : { epoch, read: readLock(folder, epoch) };
}

/** Whether the engine of that epoch, and every owner after it, wrote nothing into the run and did not release it. */
export async function notReleased(runDir: string, epoch: number): Promise<boolean> {
  if (locksIn(runDir, epoch).some(({ released }) => released !== null)) return false;
  return epochsIn(layout(runDir).locks).includes(epoch) && (await lastEpochWritten(runDir)) <= epoch;
}

/** Processes on this host that have or had the run and still run: one that was taken over while it was stopped, and one that
 *  released the run and waits until it can resume it. */
export const livingOwners = (runDir: string, self = thisProcess()): readonly number[] =>
  locksIn(runDir)
    .filter((lock) => livesOn(lock, self))
    .map(({ pid }) => pid);

/** The owners that a run has had from that epoch on, as far as their locks can be read; unsorted. */
export function locksIn(runDir: string, from = 1): readonly LockFile[] {
  const folder = layout(runDir).locks;
  if (!isFolder(folder)) return [];
  return epochsIn(folder).flatMap((epoch) => {
    const read = epoch < from ? undefined : readLock(folder, epoch);
    return read?.kind === 'read' ? [read.lock] : [];
  });
}

const datasync = promisify(fdatasync);

function hold(
  folder: string,
  first: LockFile,
  takenOver: FormerOwner | undefined,
  options: LockOptions,
): Lock {
  const path = fileOf(folder, first.epoch);
  const successor = fileOf(folder, first.epoch + 1);
  const began = options.clock.monotonic();
  const lost = new AbortController();
  let content = first;
  let released = false;
  let failed: { readonly error: unknown } | undefined;
  let writing: Promise<void> = Promise.resolve();

  const assertOwner = (): void => {
    // A run that was lost once is not ours again, even when the lock of its new owner is removed.
    lost.signal.throwIfAborted();
    // Epochs are numbered without a gap: the next owner has made this very name.
    if (!existsSync(successor)) return;
    lost.abort(new Superseded(lockedName(folder, first.epoch + 1)));
    lost.signal.throwIfAborted();
  };
  const isOurs = (): boolean => {
    try {
      assertOwner();
      return true;
    } catch (error) {
      if (error instanceof Superseded) return false;
      throw error;
    }
  };
  /** Whether our lock is there, and not that of a new run in place of ours. */
  const isHere = (): boolean => {
    const found = readPlain(path, mostOfLock);
    // As we wrote it last: asked at every node.
    if (found.kind === 'text' && found.text === textOf(content)) return true;
    const read = readLock(folder, first.epoch);
    return read.kind === 'read' ? isSameOwner(read.lock, first) : read.kind !== 'gone';
  };
  const write = async (next: LockFile): Promise<void> => {
    // A run directory that was removed must not come back by our heartbeat; what is no longer ours stays unchanged.
    if (!isHere() || !isOurs()) return;
    content = next;
    try {
      // Flushed: one that a power cut has emptied would delay the next owner.
      await writeFileAtomic(path, textOf(next), { sync: true });
    } catch (error) {
      // The block that it has needs no space.
      if (!isFull(error) || !overwriteJson(path, next)) throw error;
    }
  };
  const beat = async (): Promise<void> => {
    if (released) return;
    const heartbeat = options.clock.now().toISOString();
    try {
      await write({ ...content, heartbeat, held_ms: Math.round(options.clock.monotonic() - began) });
      failed = undefined;
    } catch (error) {
      failed = { error };
    }
  };
  const stopBeating = (options.every ?? realEvery)(options.heartbeatMs ?? 10_000, () => {
    writing = writing.then(beat);
  });

  return {
    epoch: first.epoch,
    ...(takenOver === undefined ? {} : { takenOver }),
    assertOwner,
    successor,
    lost: lost.signal,
    async stillOwner() {
      await writing;
      if (failed !== undefined) throw failed.error;
      return !released && isOurs() && isHere();
    },
    async release() {
      if (released) return;
      released = true;
      stopBeating();
      await writing;
      await write({ ...content, released: options.clock.now().toISOString() });
    },
  };
}

/** The new owner, for the message to the one before. */
function lockedName(folder: string, epoch: number): string {
  const read = readLock(folder, epoch);
  const who =
    read.kind === 'read'
      ? `process ${read.lock.pid} on ${read.lock.host} (at ${read.lock.since})`
      : 'another process';
  return `this run was taken over by ${who}; this process was stopped or silent for too long, owns it no longer and has changed nothing in it since`;
}

const fileOf = (folder: string, epoch: number): string =>
  join(folder, `${String(epoch).padStart(6, '0')}.json`);

/** The epochs that a run has had, unsorted. */
function epochsIn(folder: string): readonly number[] {
  try {
    return readdirSync(folder)
      .map((name) => /^(\d{6,15})\.json$/.exec(name)?.[1])
      .filter((n) => n !== undefined)
      .map(Number);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function highestEpoch(folder: string): number | undefined {
  const epochs = epochsIn(folder);
  return epochs.length === 0 ? undefined : epochs.reduce((a, b) => Math.max(a, b));
}

/** Removes the locks before that epoch. False where later owners were faster, and had removed the name that we have made again. */
function forgetFormer(folder: string, epoch: number): boolean {
  const epochs = epochsIn(folder);
  const isLatest = epochs.every((one) => one <= epoch);
  const former = isLatest ? epochs.filter((one) => one < epoch) : [epoch];
  for (const one of former) removeFile(fileOf(folder, one));
  return isLatest;
}

const readLock = (folder: string, epoch: number): LockRead => readLockFile(fileOf(folder, epoch), epoch);

/** Makes the file of a new epoch, complete from the first moment; false when another process has made it. `before`: the epoch
 *  whose file becomes the new one where the disk is full. */
async function create(folder: string, content: LockFile, before: number | undefined): Promise<boolean> {
  const path = fileOf(folder, content.epoch);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const text = textOf(content);
  try {
    await writeNew(temporary, text);
    try {
      linkSync(temporary, path);
    } catch (error) {
      // An owner who came first has removed our file.
      if (isCode(error, 'ENOENT')) return false;
      // Some disks have no hard links: then the name comes first and the content a moment later.
      if (!isCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
      await writeNew(path, text);
    }
    await syncFolder(folder);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    assertInPlace(folder, dirname(folder));
    if (isFull(error) && before !== undefined) {
      if (!takeFile(fileOf(folder, before), path)) return false;
      if (overwriteJson(path, content)) return true;
    }
    throw named(path, error);
  } finally {
    removeFile(temporary);
  }
}

/** Gives the file of an epoch whose owner has ended the name of the next one, which needs no space; false when another process
 *  has made that. */
function takeFile(former: string, path: string): boolean {
  try {
    linkSync(former, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST', 'ENOENT') || existsSync(path)) return false;
  }
  // Some disks have no hard links, or count them as files.
  renameSync(former, path);
  return true;
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = openSync(path, 'wx', 0o644);
  try {
    writeFileSync(file, text);
    await datasync(file);
  } finally {
    closeSync(file);
  }
}

/** The highest epoch that the run's journals name: where the lock folder was removed by hand, numbering continues after
 *  it, since readers ignore records of an epoch below one that they have seen. */
async function lastEpochWritten(runDir: string): Promise<number> {
  const { events, trace } = layout(runDir);
  return Math.max((await scan(events)).epoch, (await scan(trace)).epoch);
}

const isSameOwner = (a: LockFile, b: LockFile): boolean =>
  a.host === b.host && a.pid === b.pid && a.start_time === b.start_time && a.since === b.since;

const textOf = (lock: LockFile): string => `${JSON.stringify(lock, null, 2)}\n`;
