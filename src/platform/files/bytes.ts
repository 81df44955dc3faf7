/** Reading and writing bytes: whole, exactly, and without following links. */
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs';
import { chmod, copyFile, type FileHandle, open, rm } from 'node:fs/promises';
import { sha256 } from '../../core/sha256.ts';
import { about, named } from './disk-error.ts';
import { isCode, isMissing } from './write.ts';

/** Contents above this many bytes are read and stored in pieces. */
export const largeFrom = 1024 * 1024;

/** SHA-256 (hex) and size of a regular file, read in pieces. */
export async function hashFile(
  path: string | Buffer,
): Promise<{ readonly hash: string; readonly size: number }> {
  const small = readSmall(path);
  if (small !== undefined) return { hash: sha256(small), size: small.length };
  const file = await open(path, noFollow);
  try {
    return await about(String(path), inPieces(file));
  } finally {
    await file.close();
  }
}

/** Copies a regular file to the new file `to`, sharing its blocks where the file system can; holes and long runs of
 *  zeros become holes. `sync` flushes it. `goOn` is asked before each piece, since one file may take minutes; what it
 *  throws ends this. The answer describes the bytes of the copy. Leaves nothing when it fails. */
export async function pour(
  from: string | Buffer,
  to: string | Buffer,
  how: { readonly mode: number; readonly sync?: boolean; readonly goOn?: (() => void) | undefined },
): Promise<{ readonly hash: string; readonly size: number }> {
  const source = await open(from, noFollow);
  try {
    const shared = await clone(from, to);
    // It came with its original's mode, which may keep us out.
    if (shared) await chmod(to, 0o600);
    const copy = await open(to, shared ? constants.O_RDWR : 'wx+', 0o600);
    try {
      const poured = shared
        ? await inPieces(copy, undefined, how.goOn)
        : await inPieces(source, (...piece) => writeSparse(copy, ...piece), how.goOn);
      if (!shared) await copy.truncate(poured.size);
      await copy.chmod(how.mode);
      if (how.sync === true) await copy.sync();
      return poured;
    } finally {
      await copy.close();
    }
  } catch (error) {
    if (!isCode(error, 'EEXIST')) await rm(to, { force: true });
    throw error;
  } finally {
    await source.close();
  }
}

async function clone(from: string | Buffer, to: string | Buffer): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    // Every file system says in its own way that it cannot; a reason that matters comes again with the plain copy.
    if (isCode(error, 'EEXIST')) throw error;
    return false;
  }
}

/** Reads a file from its beginning and hands each piece on with its place. */
async function inPieces(
  file: FileHandle,
  take?: (bytes: Buffer, position: number) => Promise<void>,
  goOn?: () => void,
): Promise<{ readonly hash: string; readonly size: number }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(largeFrom);
  let size = 0;
  for (;;) {
    goOn?.();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
    if (bytesRead === 0) return { hash: hash.digest('hex'), size };
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await take?.(piece, size);
    size += bytesRead;
  }
}

const blockSize = 64 * 1024;
const zeros = Buffer.alloc(blockSize);

/** Writes what is not zero, in runs of whole blocks; the rest stays a hole. */
export async function writeSparse(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let from = 0;
  for (let at = 0; at <= bytes.length; at += blockSize) {
    const block = bytes.subarray(at, at + blockSize);
    if (block.length > 0 && !block.equals(zeros.subarray(0, block.length))) continue;
    for (let done = from; done < Math.min(at, bytes.length); )
      done += (await file.write(bytes, done, Math.min(at, bytes.length) - done, position + done))
        .bytesWritten;
    from = at + blockSize;
  }
  for (let done = from; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** Bytes of a plain file, or of the one that a link leads to; undefined where there is none. */
export function plainSize(path: string): number | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() === true ? stat.size : undefined;
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ELOOP')) return undefined;
    throw error;
  }
}

// A pipe that took the file's place must not block, nor a link be followed.
export const noFollow = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const scratch = Buffer.allocUnsafeSlow(largeFrom + 1);

/** The bytes of a regular file that is not large, valid until the next call; undefined for a large one. `expected`,
 *  the size that was seen, saves looking for more where just that much comes. */
export function readSmall(path: string | Buffer, expected?: number): Buffer | undefined {
  const file = openSync(path, noFollow);
  try {
    const first = readSync(file, scratch, 0, scratch.length, 0);
    const size = first === expected ? first : first + readWhole(file, scratch.subarray(first), first);
    return size > largeFrom ? undefined : scratch.subarray(0, size);
  } catch (error) {
    throw named(String(path), error);
  } finally {
    closeSync(file);
  }
}

/** Fills `into` from the place `from` of a file, or from where it was read last; the answer is less than its length where
 *  the file ends before. */
export function readWhole(file: number, into: Buffer, from: number | null): number {
  let size = 0;
  while (size < into.length) {
    const count = readSync(file, into, size, into.length - size, from === null ? null : from + size);
    if (count === 0) break;
    size += count;
  }
  return size;
}

export function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
