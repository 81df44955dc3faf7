/** The door to durable files: a file is either the old one or the new one, never half of either. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { named } from './disk-trouble.ts';
import { beforeRemaking, beforeWrite } from './fence.ts';

const datasync = promisify(fdatasync);
const sync = promisify(fsync);

export type WriteOptions = {
  /** Permission bits of the new file, exactly (the umask does not apply). Default 0o644. */
  readonly mode?: number;
  /** Flush to the disk before the rename (fdatasync). Default false. */
  readonly sync?: boolean;
  /** Flush the folder after the rename too, so that the new name itself outlives a power cut. Default false. */
  readonly syncFolder?: boolean;
  /** Begun beside the flush; the rename waits for it, and does not happen when it rejects. */
  readonly first?: () => Promise<void>;
  /** Whether a folder that somebody put in the file's place goes. Default false: the write fails. */
  readonly evenFolder?: boolean;
};

/** No other process's, past or present. */
const ours = randomBytes(6).toString('hex');
let neighbours = 0;

/** Whether a file's name is that of a neighbour which this process is just writing. */
export const isOwnNeighbour = (name: string): boolean => name.includes(`.${ours}`);

/** Where what shall stand at `path` is written first. Whoever owns the run next knows by the name what was left half. */
export const neighbourOf = (path: string): string =>
  // In bytes a name has three times as many at most, and there is room for 255.
  join(dirname(path), `.${basename(path).slice(0, 60)}.${ours}${neighbours++}.tmp`);

/** A name for what stood at `path`, of no one else's. */
export const nameBeside = (path: string): string => `${path}.${ours}${neighbours++}`;

/** Writes a neighbour and renames it over `path`; missing parent folders are made. The small calls are synchronous: by
 *  way of the thread pool each would take three times as long. Only flushes, which may take long, are waited for. */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array | Iterable<Uint8Array>,
  options: WriteOptions = {},
): Promise<void> {
  beforeWrite(path);
  const folder = dirname(path);
  const neighbour = neighbourOf(path);
  const mode = options.mode ?? 0o644;
  const pieces = typeof data === 'string' ? [Buffer.from(data)] : data instanceof Uint8Array ? [data] : data;
  const file = openNew(neighbour, folder);
  try {
    try {
      fchmodSync(file, mode);
      for (const bytes of pieces) writeAll(file, bytes);
      const flushed = options.sync === true ? datasync(file) : undefined;
      if (flushed !== undefined || options.first !== undefined) await both(options.first?.(), flushed);
    } finally {
      closeSync(file);
    }
    beforeWrite(path);
    try {
      renameSync(neighbour, path);
    } catch (error) {
      if (options.evenFolder !== true || !isCode(error, 'EISDIR', 'ENOTEMPTY', 'EEXIST')) throw error;
      removeNow(path);
      renameSync(neighbour, path);
    }
  } catch (error) {
    // A later owner removes neighbours. Then the trouble is that the folder is no longer ours, not that the file is gone.
    rmSync(neighbour, { force: true });
    beforeWrite(path);
    throw named(path, error);
  }
  if (options.syncFolder === true) await syncFolder(folder);
}

/** One call may take less than it was given. */
function writeAll(file: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += writeSync(file, bytes, from);
}

/** Writes a file that is not there yet, flushed with its name, and of which nobody knows before this settles: whoever is
 *  killed meanwhile leaves a torn one that nobody asks for. Its folder must be there. */
export async function writeNewFile(path: string, data: string, mode: number): Promise<void> {
  beforeWrite(path);
  const file = openSync(path, 'wx', mode);
  try {
    fchmodSync(file, mode);
    writeAll(file, Buffer.from(data));
    await datasync(file);
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
  await syncFolder(dirname(path));
}

/** What the system takes away from the mode of every new file. */
const masked = process.umask();

/** Writes a file that is not there yet, in two calls and without a flush: whoever is killed meanwhile leaves a torn one,
 *  and a reader may meet one that is still empty. `mode` is exact. False, and nothing done, where something of that name is
 *  there, or no folder. */
export function writeFresh(path: string, text: string, mode: number): boolean {
  if (text === '' || (mode & masked) !== 0) return false;
  beforeWrite(path);
  let file: number;
  try {
    file = openSync(path, 'wx', mode);
  } catch (error) {
    if (isCode(error, 'EEXIST') || isMissing(error)) return false;
    throw error;
  }
  try {
    writeAll(file, Buffer.from(text));
  } catch (error) {
    rmSync(path, { force: true });
    throw named(path, error);
  } finally {
    closeSync(file);
  }
  return true;
}

/** Bytes of a file that is written over; a larger one was made so by somebody else. */
const mostOverwritten = 64 * 1024;

/** Writes a short JSON text over one that is there, in one call: whoever is killed leaves the old or the new one, and a
 *  reader meets either. A power cut may leave neither. What it saves is the rename, which some file systems make wait
 *  for the data when it replaces a file. False where there is no plain file of that name or one that is large, or where the
 *  disk did not take it whole: then it must be written in another way. */
export function overwriteJson(path: string, value: unknown): boolean {
  beforeWrite(path);
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const is = fstatSync(file);
    if (!is.isFile() || is.size > mostOverwritten) return false;
    const text = Buffer.from(JSON.stringify(value, null, 2));
    // Blanks at its end are part of a JSON text; cutting the file would be a second call.
    const bytes = Buffer.alloc(Math.max(text.length + 1, is.size), ' ');
    text.copy(bytes);
    bytes.write('\n', bytes.length - 1);
    return writeSync(file, bytes, 0, bytes.length, 0) === bytes.length;
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
}

/** Opens a file that is not there yet, and makes the folder where that is missing too. */
function openNew(path: string, folder: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  makeFolder(folder);
  return openSync(path, 'wx', 0o600);
}

/** Waits for both, also when one has failed: a descriptor must not be closed under a flush. */
export async function both(...work: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const one of await Promise.allSettled(work)) if (one.status === 'rejected') throw one.reason;
}

/** Makes a folder and those above it that are missing; answers with the first one made. Throws the system's error
 *  where it may not, and then leaves none behind; `Superseded` where it would bring back what we own. Node's own recursive
 *  mkdir, where it is waited for, says of a disk that has no inode left that the path does not exist; it never ends in a
 *  file system that says of a new name that it does not exist, as `/proc` does, and cannot tell that from one that is
 *  read-only. */
export function makeFolder(path: string): string | undefined {
  const missing: string[] = [];
  let at = resolve(path);
  while (!isThere(at) && dirname(at) !== at) {
    missing.push(at);
    at = dirname(at);
  }
  if (missing.length > 0) beforeRemaking(path);
  const made: string[] = [];
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
      made.push(folder);
    } catch (error) {
      // Somebody else made it meanwhile; a link that leads nowhere is there as well, but is no folder.
      if (isCode(error, 'EEXIST') && isThere(folder)) continue;
      for (const ours of made.reverse()) removeIfEmpty(ours);
      throw error;
    }
  }
  if (missing.length === 0) mkdirSync(at, { recursive: true });
  return made[0];
}

function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Removes a folder with nothing in it; whatever keeps it, it stays. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody has put something into it, or has removed it.
  }
}

/** What the system's error means, for people: `permission denied`; its own words where it is none of the usual. */
export function systemWords(error: unknown): string {
  const known = error instanceof Error && 'code' in error ? meanings[String(error.code)] : undefined;
  return known ?? (error instanceof Error ? error.message : String(error));
}

const gone = 'the file system there has gone away: what serves it has ended or does not answer';

const meanings: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error (input/output error)',
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than the system allows (its limit: ulimit -f)',
  ENOENT: 'the file system takes no new folders there',
  ENOTDIR: 'a file stands where a folder would be',
  EEXIST: 'a file stands where a folder would be',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open (their limit: ulimit -n)',
  EAGAIN: 'the system has no process or memory left for it',
  ENOMEM: 'the system has no memory left for it',
  ELOOP: 'its links lead in a circle',
  EISDIR: 'it is a folder',
  ENOSYS: 'the file system there cannot do that (it may be read-only, or keep no modes)',
  ENOTSUP: 'the file system there cannot do that (it may be read-only, or keep no modes)',
  // The system's own words for these are about sockets.
  ENOTCONN: gone,
  ECONNABORTED: gone,
  ESHUTDOWN: gone,
  'Unknown system error -116': `${gone} (stale file handle)`,
};

/** The same of a file that could not be read. */
export const unreadable = (error: unknown): string =>
  isMissing(error) ? 'there is no such file' : systemWords(error);

/** Removes what is there, whatever it is and however it is locked, if it is still ours to change. In calls that nothing comes
 *  between: nobody can take the run over between the question and the removal, but for a process that is stopped right there;
 *  so where nothing was to be removed, nothing is. */
export function removeNow(path: string | Buffer): void {
  const stood = isAnything(path);
  // A name in other bytes is spoilt as text, but the folder above it, which is what is asked about, is not.
  beforeWrite(path.toString());
  if (!stood) return;
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EPERM')) throw error;
    unlockTree(Buffer.from(path));
    rmSync(path, { recursive: true, force: true });
  }
}

/** False only where the system says so. */
function isAnything(path: string | Buffer): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function unlockTree(folder: Buffer): void {
  // What a link leads to is not ours to open.
  if (!unlockFolder(folder)) return;
  for (const name of readdirSync(folder, { encoding: 'buffer' }))
    unlockTree(Buffer.concat([folder, Buffer.from('/'), name]));
}

/** Opens a folder to us: nothing can be taken out of one that its owner may not write, nor can it be moved. False where there
 *  is none. */
export function unlockFolder(folder: string | Buffer): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return false;
  if ((found.mode & 0o700) === 0o700) return true;
  try {
    chmodSync(folder, found.mode | 0o700);
  } catch {
    // Somebody else's may let us all the same; if not, what comes next says so.
  }
  return true;
}

/** Removes a file that may be gone; by the plain call, since the one that removes anything takes a millisecond to load. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}

/** Flushes a folder's list of names to the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r');
  try {
    await sync(folder);
  } catch (error) {
    // Some file systems (network, overlay) cannot flush a folder, and then there is nothing to do about it.
    if (!isCode(error, 'EINVAL', 'ENOTSUP', 'EBADF')) throw named(path, error);
  } finally {
    closeSync(folder);
  }
}

/** Flushes the names in `folder` and in those above it, up to `top`. */
export async function syncFolders(folder: string, top: string): Promise<void> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    await syncFolder(at);
    if (at === resolve(top) || at === dirname(at)) return;
  }
}

/** JSON with two-space indent and a final newline, written atomically. */
export async function writeJson(path: string, value: unknown, options: WriteOptions = {}): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`, options);
}

/** True for an error of the system with one of these codes (`EEXIST`, …). */
export const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  codes.includes(error.code === openedSocket ? 'ENXIO' : error.code);

/** What macOS says when a socket is opened as a file, an error that Node has no name for; Linux says ENXIO. */
const openedSocket = 'Unknown system error -102';

/** True for the error of a path that is not there. */
export const isMissing = (error: unknown): boolean => isCode(error, 'ENOENT', 'ENOTDIR');

/** True for the error of reading where no file is: nothing, or a folder. */
export const isNoFile = (error: unknown): boolean => isMissing(error) || isCode(error, 'EISDIR');
