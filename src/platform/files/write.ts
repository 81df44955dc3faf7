/** Durable files: a reader sees either the old or the new content, never a part. */
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
import { named } from './disk-error.ts';
import { beforeRemaking, beforeWrite } from './fence.ts';

const datasync = promisify(fdatasync);
const sync = promisify(fsync);

export type WriteOptions = {
  /** Permission bits of the new file, exactly (the umask does not apply). Default 0o644. */
  readonly mode?: number;
  /** Flush to the disk before the rename (fdatasync). Default false. */
  readonly sync?: boolean;
  /** Flush the folder after the rename too, so that the new name survives a power failure. Default false. */
  readonly syncFolder?: boolean;
  /** Started together with the flush; the rename waits for it, and does not happen when it rejects. */
  readonly first?: () => Promise<void>;
  /** Whether to remove a folder that is in the file's place. Default false: the write fails. */
  readonly evenFolder?: boolean;
};

/** Unique to this process: no other one, past or present, uses it. */
const ours = randomBytes(6).toString('hex');
let neighbours = 0;

/** Whether this process is writing the temporary file of this name. */
export const isTempSibling = (name: string): boolean => name.includes(`.${ours}`);

/** The temporary file for `path`. The name lets a later owner of the run find unfinished files. */
export const tempSibling = (path: string): string =>
  // A character takes up to three bytes, and a name has at most 255.
  join(dirname(path), `.${basename(path).slice(0, 60)}.${ours}${neighbours++}.tmp`);

/** A unique name next to `path`, for moving an old file or folder away. */
export const temporaryName = (path: string): string => `${path}.${ours}${neighbours++}`;

/** Writes a temporary file and renames it to `path`; creates missing parent folders. The short calls are
 *  synchronous, because in the thread pool each takes three times as long. Only flushes, which may take long, are
 *  asynchronous. */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array | Iterable<Uint8Array>,
  options: WriteOptions = {},
): Promise<void> {
  beforeWrite(path);
  const folder = dirname(path);
  const neighbour = tempSibling(path);
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
    // A later owner removes temporary files. Then the cause is the lost ownership, not the missing file.
    rmSync(neighbour, { force: true });
    beforeWrite(path);
    throw named(path, error);
  }
  if (options.syncFolder === true) await syncFolder(folder);
}

/** A single write may write less than it was given. */
function writeAll(file: number, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length; ) from += writeSync(file, bytes, from);
}

/** Writes a new file and flushes it and its name. A process that is killed meanwhile leaves a partial file, so
 *  nothing may refer to the file before this settles. Its folder must exist. */
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

/** The bits that the umask removes from the mode of every new file. */
const masked = process.umask();

/** Writes a new file in two calls without a flush: a killed process leaves a partial file, and a reader may find it
 *  still empty. `mode` is exact. Returns false and does nothing where the name exists or the folder is missing. */
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

/** The largest file that is overwritten in place; this program writes no larger one there. */
const mostOverwritten = 64 * 1024;

/** Overwrites a short JSON file in one call: a killed process leaves the old or the new text, and a reader sees one
 *  of them. A power failure may lose both. It saves the rename, which on some file systems waits for the data when
 *  it replaces a file. Returns false where `path` is no plain file or a large one, or where the disk did not take
 *  the whole text: the caller then writes the file in another way. */
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
    // Trailing blanks are valid JSON; truncating the file would need a second call.
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

/** Opens a new file, and creates its folder if that is missing. */
function openNew(path: string, folder: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  makeFolder(folder);
  return openSync(path, 'wx', 0o600);
}

/** Waits for both, even when one fails: a descriptor must not be closed during a flush. */
export async function both(...work: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const one of await Promise.allSettled(work)) if (one.status === 'rejected') throw one.reason;
}

/** Creates a folder and its missing parents; returns the first one created. Throws the system's error after
 *  removing what it created, or `Superseded` where this process no longer owns the run. Node's recursive mkdir is
 *  not used: its asynchronous form reports ENOENT on a disk without free inodes, it never returns on a file system
 *  such as `/proc` that reports ENOENT for a new name, and it cannot distinguish that from a read-only one. */
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
      // Another process created it meanwhile; a broken symbolic link exists too, but is no folder.
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

/** Removes a folder if it is empty; does nothing on any error. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Not empty, or removed meanwhile.
  }
}

/** The system's error in words, such as `permission denied`; the system's message for uncommon errors. */
export function systemWords(error: unknown): string {
  const known = error instanceof Error && 'code' in error ? meanings[String(error.code)] : undefined;
  return known ?? (error instanceof Error ? error.message : String(error));
}

const gone = 'the file system there has gone away: its server has ended or does not answer';

const meanings: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error (input/output error)',
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than the system allows (its limit: ulimit -f)',
  ENOENT: 'the file system takes no new folders there',
  ENOTDIR: 'a file exists where a folder is needed',
  EEXIST: 'a file exists where a folder is needed',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open (their limit: ulimit -n)',
  EAGAIN: 'the system has no process or memory left for it',
  ENOMEM: 'the system has no memory left for it',
  ELOOP: 'its symbolic links form a loop',
  EISDIR: 'it is a folder',
  ENOSYS: 'the file system there cannot do that (it may be read-only, or keep no modes)',
  ENOTSUP: 'the file system there cannot do that (it may be read-only, or keep no modes)',
  // The system's messages for these codes are about sockets.
  ENOTCONN: gone,
  ECONNABORTED: gone,
  ESHUTDOWN: gone,
  'Unknown system error -116': `${gone} (stale file handle)`,
};

/** A path of ours at which there is a file or directory of another kind. */
export function inTheWay(error: unknown): { readonly path: string; readonly error: Error } | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isCode(error, 'ELOOP', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENAMETOOLONG') && 'path' in error)
    // What is put there, and not where, is gone again, or was never in the way.
    return { path: String('dest' in error ? error.dest : error.path), error };
  return inTheWay(error.cause);
}

/** What the disk has said, and about which file. */
export const diskWords = ({
  path,
  error,
}: {
  readonly path: string | undefined;
  readonly error: Error;
}): string => `${path === undefined ? '' : `${path}: `}${systemWords(error)}`;

/** The same for a file that could not be read. */
export const readFailure = (error: unknown): string =>
  isMissing(error) ? 'there is no such file' : systemWords(error);

/** Removes `path`, of any type and with any permissions, if this process still owns the run. The calls are
 *  synchronous, so that no takeover can happen between the check and the removal, except while this process is
 *  stopped at that very point. Where nothing exists, nothing is done. */
export function removeNow(path: string | Buffer): void {
  const stood = isAnything(path);
  // A name that is no UTF-8 is garbled as text, but its parent folder, which decides the ownership, is not.
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

/** Whether `path` exists; true as well where the system reports another error. */
function isAnything(path: string | Buffer): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function unlockTree(folder: Buffer): void {
  // A link's target is not changed.
  if (!unlockFolder(folder)) return;
  for (const name of readdirSync(folder, { encoding: 'buffer' }))
    unlockTree(Buffer.concat([folder, Buffer.from('/'), name]));
}

/** Makes a folder readable and writable for this user: entries of a folder without write permission cannot be
 *  removed, nor can it be moved. False where there is none. */
export function unlockFolder(folder: string | Buffer): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return false;
  if ((found.mode & 0o700) === 0o700) return true;
  try {
    chmodSync(folder, found.mode | 0o700);
  } catch {
    // Another user's folder may allow the access all the same; if not, the next call fails.
  }
  return true;
}

/** Removes a file that may be missing, by a plain call: the general removal takes a millisecond to load. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}

/** Flushes the entries of a folder to the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r');
  try {
    await sync(folder);
  } catch (error) {
    // Some file systems (network, overlay) cannot flush a folder.
    if (!isCode(error, 'EINVAL', 'ENOTSUP', 'EBADF')) throw named(path, error);
  } finally {
    closeSync(folder);
  }
}

/** Flushes the entries of `folder` and its parents, up to `top`. */
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

/** True for a system error with one of these codes (`EEXIST`, …). */
export const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  codes.includes(error.code === openedSocket ? 'ENXIO' : error.code);

/** The error of macOS when a socket is opened as a file; Node has no name for it. Linux reports ENXIO. */
const openedSocket = 'Unknown system error -102';

/** True for the error of a path that does not exist. */
export const isMissing = (error: unknown): boolean => isCode(error, 'ENOENT', 'ENOTDIR');

/** True for the error of reading a path that is missing or a folder. */
export const isNoFile = (error: unknown): boolean => isMissing(error) || isCode(error, 'EISDIR');
