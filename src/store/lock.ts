/** One owner for each run directory. Owners are numbered by epochs, each with a file `lock/<epoch>.json`; the highest
 *  one owns the run. A file of a new epoch comes into being whole and only once, so of two that want it one wins. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { layout } from '../model/layout.ts';
import type { Clock } from '../system/clock.ts';
import { named } from '../system/disk-trouble.ts';
import { type Every, realEvery } from '../system/every.ts';
import { isCode, isMissing, syncFolder, writeJson } from '../system/files.ts';
import { isAlive, type Self, thisProcess } from '../system/proc.ts';
import { scan } from './journal-read.ts';

const LockFile = z.object({
  schema_version: z.literal(1),
  epoch: z.int().positive(),
  pid: z.int().positive(),
  start_time: z.string().describe('Of the process, as the kernel counts'),
  boot: z.string().optional(),
  pid_space: z.string().describe('Pids of another boot or container say nothing here'),
  host: z.string(),
  since: z.string(),
  heartbeat: z.iso.datetime(),
  released: z.string().nullable(),
});
type LockFile = z.infer<typeof LockFile>;

/** Who owns a run, for people. `since` and `heartbeat` are RFC 3339. */
export type Owner = {
  readonly pid: number;
  readonly host: string;
  readonly epoch: number;
  readonly since: string;
  readonly heartbeat: string;
};

export interface Lock {
  /** Higher than that of every owner before. */
  readonly epoch: number;
  /** The owner whose lock was taken over because it was dead. */
  readonly takenOver?: Pick<Owner, 'pid' | 'host' | 'epoch' | 'heartbeat'>;
  /** False once a later owner has taken the run (a process that was stopped for long must look before it writes), or
   *  the run directory is gone. Rejects when the last heartbeat could not be written. */
  stillOwner(): Promise<boolean>;
  /** Gives the run free and stops the heartbeat. Twice is as once. */
  release(): Promise<void>;
}

export type LockAnswer =
  | { readonly kind: 'acquired'; readonly lock: Lock }
  /** `why` says who has it and what to do; `owner` is unknown when the lock cannot be read. */
  | { readonly kind: 'refused'; readonly owner: Owner | undefined; readonly why: string };

export type LockOptions = {
  readonly clock: Clock;
  /** Who we are. Default: this process on this host. */
  readonly self?: Self;
  /** How long an owner that we cannot see (another host or container) may be silent. Default 60 s. */
  readonly staleAfterMs?: number;
  /** Default 10 s. */
  readonly heartbeatMs?: number;
  /** Default: a timer that does not keep the process alive. */
  readonly every?: Every;
};

/** Takes the run in `runDir`, or says who has it. An owner that released it, whose process has ended, or that is out of
 *  our sight and silent for too long is followed by us with the next epoch. */
export async function acquireLock(runDir: string, options: LockOptions): Promise<LockAnswer> {
  const folder = layout(runDir).locks;
  const { clock, self = thisProcess(), staleAfterMs = 60_000 } = options;
  await mkdir(folder, { recursive: true });
  for (let tries = 0; tries < 100; tries++) {
    const highest = await highestEpoch(folder);
    const before = highest === undefined ? undefined : await readLock(folder, highest);
    if (before?.kind === 'gone') continue;
    const held = before === undefined ? undefined : judge(before, self, clock, staleAfterMs);
    if (held?.kind === 'held') return { kind: 'refused', owner: held.owner, why: held.why };

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
      released: null,
    };
    if (!(await create(folder, ours))) continue;
    return {
      kind: 'acquired',
      lock: hold(folder, ours, held?.kind === 'dead' ? held.owner : undefined, options),
    };
  }
  throw new Error(`${folder}: other processes took the lock a hundred times while we tried`);
}

/** Who owns the run now, as far as it can be told without taking it; undefined when nobody does. */
export async function ownerOf(
  runDir: string,
  clock: Clock,
  staleAfterMs = 60_000,
): Promise<Owner | undefined> {
  const folder = layout(runDir).locks;
  const highest = await highestEpoch(folder);
  if (highest === undefined) return undefined;
  const read = await readLock(folder, highest);
  if (read.kind !== 'read') return undefined;
  const held = judge(read, thisProcess(), clock, staleAfterMs);
  return held.kind === 'held' ? held.owner : undefined;
}

function hold(folder: string, first: LockFile, takenOver: Owner | undefined, options: LockOptions): Lock {
  const path = fileOf(folder, first.epoch);
  let content = first;
  let released = false;
  let trouble: { readonly error: unknown } | undefined;
  let writing: Promise<void> = Promise.resolve();

  const write = async (next: LockFile): Promise<void> => {
    // A run directory that was removed meanwhile must not come back by our heartbeat.
    if (!(await exists(path))) return;
    content = next;
    // Flushed: one that a power cut has emptied would keep the run from being taken up for a while.
    await writeJson(path, next, { sync: true });
  };
  const beat = () => {
    writing = writing
      .then(() =>
        released ? undefined : write({ ...content, heartbeat: options.clock.now().toISOString() }),
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

  return {
    epoch: first.epoch,
    ...(takenOver === undefined
      ? {}
      : {
          takenOver: {
            pid: takenOver.pid,
            host: takenOver.host,
            epoch: takenOver.epoch,
            heartbeat: takenOver.heartbeat,
          },
        }),
    async stillOwner() {
      await writing;
      if (trouble !== undefined) throw trouble.error;
      return !released && (await highestEpoch(folder)) === first.epoch;
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

const fileOf = (folder: string, epoch: number): string =>
  join(folder, `${String(epoch).padStart(6, '0')}.json`);

async function highestEpoch(folder: string): Promise<number | undefined> {
  try {
    const epochs = (await readdir(folder))
      .map((name) => /^(\d{6,15})\.json$/.exec(name)?.[1])
      .filter((n) => n !== undefined);
    return epochs.length === 0 ? undefined : Math.max(...epochs.map(Number));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

type LockRead =
  | { readonly kind: 'read'; readonly lock: LockFile }
  /** Not a lock file as we write it: made on a disk without hard links and not yet complete, or damaged. */
  | { readonly kind: 'unreadable'; readonly path: string; readonly epoch: number; readonly changedAt: number }
  | { readonly kind: 'gone' };

async function readLock(folder: string, epoch: number): Promise<LockRead> {
  const path = fileOf(folder, epoch);
  try {
    const text = await readFile(path, 'utf8');
    const changedAt = (await stat(path)).mtimeMs;
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

type Judged =
  | { readonly kind: 'free' }
  | { readonly kind: 'dead'; readonly owner: Owner }
  | { readonly kind: 'held'; readonly owner: Owner | undefined; readonly why: string };

function judge(
  read: Exclude<LockRead, { kind: 'gone' }>,
  self: Self,
  clock: Clock,
  staleAfterMs: number,
): Judged {
  const now = clock.now().getTime();
  const patience = `try again: it is taken over once it has been silent for ${seconds(staleAfterMs)}`;
  if (read.kind === 'unreadable') {
    if (now - read.changedAt > staleAfterMs) return { kind: 'free' };
    const why = `the lock ${read.path} cannot be read; perhaps it is just being made`;
    return { kind: 'held', owner: undefined, why: `${why}; ${patience}` };
  }
  const { lock } = read;
  if (lock.released !== null) return { kind: 'free' };
  const { pid, host, epoch, since, heartbeat } = lock;
  const owner = { pid, host, epoch, since, heartbeat };
  const whose = `this run is owned by process ${pid} on ${host} since ${since}`;
  if (host === self.host && lock.pid_space === self.pidSpace) {
    const id = { pid, startTime: lock.start_time, ...(lock.boot === undefined ? {} : { boot: lock.boot }) };
    if (!isAlive(id)) return { kind: 'dead', owner };
    return { kind: 'held', owner, why: `${whose}; wait until it ends, or end that process` };
  }
  const silentMs = now - Date.parse(heartbeat);
  if (silentMs > staleAfterMs) return { kind: 'dead', owner };
  const sight =
    host === self.host ? 'before a restart or in another container' : 'which cannot be looked at from here';
  const why = `${whose}, ${sight}; its last sign of life was ${seconds(Math.max(0, silentMs))} ago`;
  return { kind: 'held', owner, why: `${why}; end it there, or ${patience}` };
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** Makes the file of a new epoch, whole from the first moment; false when somebody else has made it. */
async function create(folder: string, content: LockFile): Promise<boolean> {
  const path = fileOf(folder, content.epoch);
  const neighbour = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const text = `${JSON.stringify(content, null, 2)}\n`;
  try {
    await writeNew(neighbour, text);
    try {
      await link(neighbour, path);
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
    throw named(path, error);
  } finally {
    await rm(neighbour, { force: true });
  }
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** The highest epoch that the run's journals name: where the lock folder was removed by hand, numbering goes on after
 *  it, since readers ignore records of an epoch below one that they have seen. */
async function lastEpochWritten(runDir: string): Promise<number> {
  const { events, trace } = layout(runDir);
  return Math.max((await scan(events)).epoch, (await scan(trace)).epoch);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
