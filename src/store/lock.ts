/** One owner for each run directory. Owners are numbered by epochs, each with a file `lock/<epoch>.json`; the highest
 *  one owns the run. A file of a new epoch comes into being whole and only once, so of two that want it one wins. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { layout } from '../model/layout.ts';
import { type Clock, monotonicMs, uptimeMs } from '../system/clock.ts';
import { named } from '../system/disk-trouble.ts';
import { type Continued, type Every, realContinued, realEvery } from '../system/every.ts';
import { assertStands, Superseded } from '../system/fence.ts';
import { isCode, isMissing, makeFolder, removeFile, syncFolder, writeFileAtomic } from '../system/files.ts';
import { type Self, thisProcess } from '../system/proc.ts';
import { folderId, isFolder, readPlainBytes } from '../system/read.ts';
import { scan } from './journal-read.ts';
import {
  type Before,
  judge,
  LockFile,
  type LockRead,
  livesOn,
  mostOfLock,
  type Owner,
  readLockFile,
} from './lock-file.ts';

export type { Before, Owner } from './lock-file.ts';

export interface Lock {
  /** Higher than that of every owner before. */
  readonly epoch: number;
  /** The owner whose lock was taken over: it was dead, out of sight and silent, or stopped. */
  readonly takenOver?: Before;
  /** Throws `Superseded` once a later owner has taken the run. A look at one name, made right before each write: a
   *  process that was stopped for long does not know that it was. */
  assertOwner(): void;
  /** A file that is there as soon as a later owner has the run. */
  readonly successor: string;
  /** Fires as soon as we notice that a later owner has taken the run; its reason is the `Superseded`. */
  readonly lost: AbortSignal;
  /** False once a later owner has taken the run, or the run directory is gone. Rejects when the last heartbeat could not
   *  be written. */
  stillOwner(): Promise<boolean>;
  /** Gives the run free, if it is still ours, and stops the heartbeat. Twice is as once. */
  release(): Promise<void>;
}

export type LockAnswer =
  | { readonly kind: 'acquired'; readonly lock: Lock }
  /** `why` says who has it and what to do, `takeOver` what a person with a flag `--take-over` may do, `fix` what anybody
   *  must; `owner` is unknown when the lock cannot be read. */
  | {
      readonly kind: 'refused';
      readonly owner: Owner | undefined;
      readonly why: string;
      readonly fix?: string;
      readonly takeOver?: string;
    };

export type LockOptions = {
  readonly clock: Clock;
  /** Who we are. Default: this process on this host. */
  readonly self?: Self;
  /** How long an owner that we cannot see (another host or container) may be silent. Default 60 s. */
  readonly staleAfterMs?: number;
  /** Whether an owner that is stopped, or out of our sight, is not waited for. One that runs on this host keeps its run
   *  all the same. */
  readonly takeOver?: boolean;
  /** Whether an owner on this host that is stopped loses the run at all. Only for owners that ask `assertOwner` before
   *  whatever they change. Default false. */
  readonly stoppedYields?: boolean;
  /** What stands before the owner where a refusal names it. Default `this run is owned by`. */
  readonly ownedBy?: string;
  /** Default 10 s. */
  readonly heartbeatMs?: number;
  /** Default: a timer that does not keep the process alive. */
  readonly every?: Every;
  /** Default: at SIGCONT. */
  readonly continued?: Continued;
  /** Milliseconds since the machine started. */
  readonly uptime?: () => number;
};

/** Takes the run in `runDir`, or says who has it. An owner that released it, whose process has ended, or that is out of
 *  our sight and silent for too long is followed by us with the next epoch. Throws `Superseded` where the run has been
 *  removed: it must not come back as a folder with nothing but a lock in it. */
export async function acquireLock(runDir: string, options: LockOptions): Promise<LockAnswer> {
  const folder = layout(runDir).locks;
  const { clock, self = thisProcess() } = options;
  assertStands(runDir);
  try {
    makeFolder(folder);
  } catch (error) {
    if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
    const why = `${folder} should be the folder of the lock, but something else stands there`;
    return { kind: 'refused', owner: undefined, why, fix: 'move that away, then try again' };
  }
  for (let tries = 0; tries < 100; tries++) {
    const highest = highestEpoch(folder);
    const before = highest === undefined ? undefined : readLock(folder, highest);
    if (before?.kind === 'gone') continue;
    const held = before === undefined ? undefined : judge(before, circumstances(options, self));
    if (held?.kind === 'held') {
      const { owner, why, takeOver } = held;
      return { kind: 'refused', owner, why, ...(takeOver === undefined ? {} : { takeOver }) };
    }

    const epoch = 1 + (highest ?? (await lastEpochWritten(runDir)));
    const now = clock.now().toISOString();
    const ours: LockFile = {
      schema_version: 1,
      epoch,
      pid: self.id.pid,
      start_time: self.id.startTime,
      ...(self.id.boot === undefined ? {} : { boot: self.id.boot }),
      pid_space: self.pidSpace,
      host: self.host,
      since: now,
      heartbeat: now,
      held_ms: 0,
      uptime_ms: (options.uptime ?? uptimeMs)(),
      ...folderId(runDir),
      released: null,
    };
    if (!(await create(folder, ours))) continue;
    return {
      kind: 'acquired',
      lock: hold(folder, ours, held?.kind === 'ours' ? held.before : undefined, options),
    };
  }
  throw new Error(`${folder}: other processes took the lock a hundred times while we tried`);
}

const circumstances = (options: LockOptions, self: Self) => ({
  self,
  now: options.clock.now().getTime(),
  uptime: (options.uptime ?? uptimeMs)(),
  staleAfterMs: options.staleAfterMs ?? 60_000,
  takeOver: options.takeOver === true,
  stoppedYields: options.stoppedYields === true,
  ownedBy: options.ownedBy ?? 'this run is owned by',
});

/** Who owns the run now, as far as it can be told without taking it; undefined when nobody does. */
export async function ownerOf(
  runDir: string,
  clock: Clock,
  staleAfterMs = 60_000,
): Promise<Owner | undefined> {
  const folder = layout(runDir).locks;
  const highest = highestEpoch(folder);
  if (highest === undefined) return undefined;
  const read = readLock(folder, highest);
  if (read.kind !== 'read') return undefined;
  const held = judge(read, circumstances({ clock, staleAfterMs, stoppedYields: true }, thisProcess()));
  return held.kind === 'held' ? held.owner : undefined;
}

/** Whether the engine of that epoch, and whoever has had the run after it, did nothing in it and did not give it free. */
export async function notReleased(runDir: string, epoch: number): Promise<boolean> {
  if (locksIn(runDir, epoch).some(({ released }) => released !== null)) return false;
  return epochsIn(layout(runDir).locks).includes(epoch) && (await lastEpochWritten(runDir)) <= epoch;
}

/** Processes on this host that have or had the run and still live: whoever was taken over while it was stopped, however
 *  many have followed it, and whoever gave it free and has more to do, such as to wait until it can go on. */
export const livingOwners = (runDir: string, self = thisProcess()): readonly number[] =>
  locksIn(runDir)
    .filter((lock) => livesOn(lock, self))
    .map(({ pid }) => pid);

/** The owners that a run has had from that epoch on, as far as their locks can be read; in no order. */
export function locksIn(runDir: string, from = 1): readonly LockFile[] {
  const folder = layout(runDir).locks;
  if (!isFolder(folder)) return [];
  return epochsIn(folder).flatMap((epoch) => {
    const read = epoch < from ? undefined : readLock(folder, epoch);
    return read?.kind === 'read' ? [read.lock] : [];
  });
}

const datasync = promisify(fdatasync);

/** Milliseconds for which a look at the lock counts. A stage writes a dozen small files in it. */
const momentMs = 1;

function hold(folder: string, first: LockFile, takenOver: Before | undefined, options: LockOptions): Lock {
  const path = fileOf(folder, first.epoch);
  const uptime = options.uptime ?? uptimeMs;
  const began = options.clock.monotonic();
  const lost = new AbortController();
  let content = first;
  let released = false;
  let trouble: { readonly error: unknown } | undefined;
  let writing: Promise<void> = Promise.resolve();

  const next = fileOf(folder, first.epoch + 1);
  let lookedAt = Number.NEGATIVE_INFINITY;
  const assertOwner = (): void => {
    // What was lost once is not ours again, though somebody removes the lock of who has it.
    lost.signal.throwIfAborted();
    // Nobody takes a run from an owner that was awake a moment ago; one that slept finds that the moment has passed.
    const now = monotonicMs();
    if (now - lookedAt < momentMs) return;
    // Epochs are numbered without a gap, so that whoever took the run after us has made this very name.
    if (!existsSync(next)) {
      lookedAt = now;
      return;
    }
    lost.abort(new Superseded(takenBy(folder, first.epoch + 1)));
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
  /** The lock as we wrote it last: asked for at every checkpoint, and mostly the same. */
  let written = Buffer.from(textOf(first));
  /** Whether our lock is there, and not that of a new run which somebody has begun in place of ours. */
  const isHere = (): boolean => {
    try {
      const found = readPlainBytes(path, mostOfLock);
      if (found.kind === 'text' && written.equals(found.text)) return true;
      const read = readLock(folder, first.epoch);
      if (read.kind !== 'read') return read.kind !== 'gone';
      return beginningOf(read.lock) === beginningOf(first);
    } catch (error) {
      // One that somebody has closed to us says nothing.
      if (isCode(error, 'EACCES', 'EPERM')) return true;
      throw error;
    }
  };
  const write = async (next: LockFile): Promise<void> => {
    // A run directory that was removed meanwhile must not come back by our heartbeat; what is no longer ours stays as
    // it is.
    if (!isHere() || !isOurs()) return;
    content = next;
    // Flushed: one that a power cut has emptied would keep the run from being taken up for a while.
    await writeFileAtomic(path, textOf(next), { sync: true });
    written = Buffer.from(textOf(next));
  };
  const beat = () => {
    writing = writing
      .then(() =>
        released
          ? undefined
          : write({
              ...content,
              heartbeat: options.clock.now().toISOString(),
              held_ms: Math.round(options.clock.monotonic() - began),
              uptime_ms: uptime(),
            }),
      )
      .then(
        () => {
          trouble = undefined;
        },
        (error: unknown) => {
          trouble = { error };
        },
      );
  };
  const stopBeating = (options.every ?? realEvery)(options.heartbeatMs ?? 10_000, beat);
  // Awake again: we know at once whether the run is still ours, and say that we are alive.
  const stopListening = (options.continued ?? realContinued)(() => {
    if (!released && isOurs()) beat();
  });

  return {
    epoch: first.epoch,
    ...(takenOver === undefined ? {} : { takenOver }),
    assertOwner,
    successor: next,
    lost: lost.signal,
    async stillOwner() {
      await writing;
      if (trouble !== undefined) throw trouble.error;
      return !released && isOurs() && isHere();
    },
    async release() {
      if (released) return;
      released = true;
      stopBeating();
      stopListening();
      await writing;
      await write({ ...content, released: options.clock.now().toISOString() });
    },
  };
}

/** Who has it now, for the one who had it before. */
function takenBy(folder: string, epoch: number): string {
  let who = 'another process';
  try {
    const { pid, host, since } = LockFile.parse(JSON.parse(readFileSync(fileOf(folder, epoch), 'utf8')));
    who = `process ${pid} on ${host} (at ${since})`;
  } catch {
    // That the name is there says enough.
  }
  return `this run was taken over by ${who}; this process was stopped or silent for too long, owns it no longer and has changed nothing in it since`;
}

const fileOf = (folder: string, epoch: number): string =>
  join(folder, `${String(epoch).padStart(6, '0')}.json`);

/** The epochs that a run has had, in no order. */
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
  return epochs.length === 0 ? undefined : Math.max(...epochs);
}

const readLock = (folder: string, epoch: number): LockRead => readLockFile(fileOf(folder, epoch), epoch);

/** Makes the file of a new epoch, whole from the first moment; false when somebody else has made it. */
async function create(folder: string, content: LockFile): Promise<boolean> {
  const path = fileOf(folder, content.epoch);
  const neighbour = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const text = textOf(content);
  try {
    await writeNew(neighbour, text);
    try {
      linkSync(neighbour, path);
    } catch (error) {
      // Our neighbour is gone where an owner who came first has tidied up.
      if (isCode(error, 'ENOENT')) return false;
      // Some disks have no hard links: then the name comes first and the content a moment later.
      if (!isCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
      await writeNew(path, text);
    }
    await syncFolder(folder);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    assertStands(folder, dirname(folder));
    throw named(path, error);
  } finally {
    removeFile(neighbour);
  }
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

/** The highest epoch that the run's journals name: where the lock folder was removed by hand, numbering goes on after
 *  it, since readers ignore records of an epoch below one that they have seen. */
async function lastEpochWritten(runDir: string): Promise<number> {
  const { events, trace } = layout(runDir);
  return Math.max((await scan(events)).epoch, (await scan(trace)).epoch);
}

/** What stays the same as long as one owner has the run. */
const beginningOf = ({ host, pid, start_time, since }: LockFile): string =>
  JSON.stringify([host, pid, start_time, since]);

const textOf = (lock: LockFile): string => `${JSON.stringify(lock, null, 2)}\n`;
