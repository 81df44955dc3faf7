/** Reading and writing bytes: whole, exactly, and without following links. */
import { createHash, hash as hashOf } from 'node:crypto';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Contents above this many bytes are read in pieces and kept in files of their own. */
export const largeFrom = 1024 * 1024;

/** SHA-256 (hex) and size of a regular file, read in pieces; `sync` flushes it to the disk first. */
export async function hashFile(
  path: string | Buffer,
  sync = false,
): Promise<{ readonly hash: string; readonly size: number }> {
  const small = sync ? undefined : readSmall(path);
  if (small !== undefined) return { hash: hashOf('sha256', small, 'hex'), size: small.length };
  const file = await open(path, noFollow);
  try {
    if (sync) await file.sync();
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(largeFrom);
    let size = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
      if (bytesRead === 0) return { hash: hash.digest('hex'), size };
      hash.update(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** Flushes the names in a folder. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

// A pipe that took the file's place must not block, nor a link be followed.
const noFollow = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const scratch = Buffer.allocUnsafe(largeFrom + 1);

/** The bytes of a file that is not large, valid until the next call; undefined for a large one. */
export function readSmall(path: string | Buffer): Buffer | undefined {
  const file = openSync(path, noFollow);
  try {
    const size = readWhole(file, scratch, 0);
    return size > largeFrom ? undefined : scratch.subarray(0, size);
  } finally {
    closeSync(file);
  }
}

/** Fills `into` from the place `from` of a file; the answer is less than its length where the file ends before. */
export function readWhole(file: number, into: Buffer, from: number): number {
  let size = 0;
  while (size < into.length) {
    const count = readSync(file, into, size, into.length - size, from + size);
    if (count === 0) break;
    size += count;
  }
  return size;
}

export function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

export async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}
