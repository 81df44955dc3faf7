/** Reads files that may be large or of another type: whole up to a limit, or only the beginning or end. */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { named } from './disk-error.ts';
import { fromBytes } from './names.ts';
import { isCode, isMissing } from './write.ts';

/** A whole file, or why it was not read; `why` continues a sentence that starts with the file's name. */
export type Plain<T = string> =
  | { readonly kind: 'text'; readonly text: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'none'; readonly why: string };

/** The most that is read of one file at once: far above what a run writes, and well below what a process can hold. */
export const mostAtOnce = 256 * 1024 * 1024;

/** Whether this process has the access `mode` (`constants.R_OK`, …) to `path`. */
export function allows(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Distinguishes a folder from a copy of it, even after a move on the same disk. A copy made by the file system (a
 *  snapshot of a subvolume, another overlay with the same lower layer) has another device number. */
export function folderId(path: string): { readonly folder: string; readonly device: string } {
  const { ino, dev } = statSync(path, { bigint: true });
  return { folder: ino.toString(), device: dev.toString() };
}

/** Changes whenever the file is written or replaced, as far as its metadata say: what was made from it is kept until then. Empty
 *  where it is missing. */
export function fileIdentity(path: string): string {
  try {
    const is = statSync(path, { throwIfNoEntry: false });
    return is === undefined ? '' : `${is.ino} ${is.size} ${is.mtimeMs}`;
  } catch {
    // What reads the file reports why it cannot be read.
    return 'unreadable';
  }
}

/** Reads a whole plain file. A folder, pipe or device is never waited for, and a file of more than `most` bytes is
 *  not read, or with `cut` no further: another user may have written the run directory. Throws only the system's
 *  error for an existing file that cannot be read. */
export function readPlainBytes(path: string, most = mostAtOnce, cut?: 'cut'): Plain<Buffer> {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return { kind: 'missing' };
    if (isCode(error, 'ENXIO')) return { kind: 'none', why: 'is no file' };
    if (isCode(error, 'ELOOP')) return { kind: 'none', why: 'is a symbolic link in a loop' };
    throw error;
  }
  try {
    const is = fstatSync(file);
    if (!is.isFile()) return { kind: 'none', why: is.isDirectory() ? 'is a folder' : 'is no file' };
    if (is.size > most && cut === undefined)
      return { kind: 'none', why: `has ${is.size} bytes, more than factory ever writes there` };
    const bytes = Buffer.allocUnsafe(Math.min(is.size, most));
    let read = 0;
    for (let got = 1; got > 0 && read < bytes.length; read += got)
      got = readSync(file, bytes, read, bytes.length - read, read);
    return { kind: 'text', text: bytes.subarray(0, read) };
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
}

/** As `readPlainBytes`, as UTF-8. */
export function readPlain(path: string, most = mostAtOnce): Plain {
  const read = readPlainBytes(path, most);
  return read.kind === 'text' ? { kind: 'text', text: read.text.toString('utf8') } : read;
}

/** The first (or with `tail` the last) `limit` bytes as UTF-8, cut at a character's boundary; undefined when the
 *  file does not exist. Synchronous inside: the files or the limits are small, and in the thread pool each call
 *  takes three times as long. */
export async function readSome(path: string, limit: number, tail?: 'tail'): Promise<string | undefined> {
  try {
    // Most paths do not exist, and creating an error takes ten times as long as a check.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    // A pipe that a node put in the file's place would wait for a writer forever.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const is = fstatSync(file);
      if (!is.isFile()) return undefined;
      const { size } = is;
      const length = Math.min(size, limit);
      const buffer = Buffer.alloc(length);
      let read = 0;
      const from = tail === 'tail' ? size - length : 0;
      while (read < length) {
        const bytesRead = readSync(file, buffer, read, length - read, from + read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      const bytes = buffer.subarray(0, read);
      return tail === 'tail' && size > length ? tailOf(bytes, read) : headOf(bytes, read, size > length);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ENXIO', 'ELOOP')) return undefined;
    throw named(path, error);
  }
}

/** Bytes from `from` up to `to` of a plain file, and its size; undefined where there is none. A link is not followed. */
export function readPart(
  path: string,
  from: number,
  to: number,
): { readonly bytes: Buffer<ArrayBuffer>; readonly size: number } | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ENXIO', 'ELOOP')) return undefined;
    throw error;
  }
  try {
    const is = fstatSync(file);
    if (!is.isFile()) return undefined;
    const bytes = Buffer.alloc(Math.max(0, Math.min(to, is.size) - from));
    return { bytes: bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from)), size: is.size };
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
}

/** A whole file of at most `most` bytes; of a larger one the first quarter of that and the end, with a note between.
 *  Undefined when it does not exist. */
export async function readEnds(path: string, most: number): Promise<string | undefined> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= most) return readSome(path, most);
  const first = Math.floor(most / 4);
  const parts = [await readSome(path, first), await readSome(path, most - first, 'tail')];
  return parts.join(`\n[… ${size - most} bytes …]\n`);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The last `most` bytes as text, cut at a character's boundary. */
export function tailOf(bytes: Buffer, most: number): string {
  let from = Math.max(0, bytes.length - most);
  while (from < bytes.length && isContinuation(bytes[from])) from++;
  return bytes.subarray(from).toString('utf8');
}

/** The first `most` bytes as text; where the whole has more (`cut`), they end at a character's boundary. */
export function headOf(bytes: Buffer, most: number, cut: boolean): string {
  let end = Math.min(most, bytes.length);
  if (cut) {
    // Back to the last character's first byte; that character is dropped, since it may be incomplete.
    const whole = bytes.toString('utf8', 0, end);
    if (!whole.endsWith('\ufffd')) return whole;
    while (end > 0 && isContinuation(bytes[end - 1])) end--;
    end = Math.max(0, end - 1);
  }
  return bytes.toString('utf8', 0, end);
}

/** The first `most` bytes of a text, cut at a character's boundary, with an ellipsis where it was cut. */
export function head(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most ? text : `${headOf(bytes.subarray(0, most), most, true)}…`;
}

/** Whether a folder, or a symbolic link to one, exists; false where that cannot be read. Synchronous, as all such
 *  small checks here: in the thread pool each takes ten times as long. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Whether a file that this process may execute, or a symbolic link to one, exists; false where that cannot be read. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether a regular file, or a symbolic link to one, exists. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Undefined where nothing is. */
export async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The names in a folder, sorted; none where the folder does not exist. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ELOOP')) return [];
    throw error;
  }
}

/** The same of one that is there, with the system's own error. */
export function readNames(path: string | Buffer): readonly string[] {
  const names = readdirSync(path, 'utf8');
  // The replacement character stands for bytes that are no UTF-8 (or for itself): only the bytes tell.
  return names.some((name) => name.includes('\uFFFD')) ? readdirSync(path, 'buffer').map(fromBytes) : names;
}
