/** What a worker thread does for a copy: small files, batch after batch, as long as nothing is in the way. */
import type { MessagePort } from 'node:worker_threads';

/** Where a worker copies from and to (absolute folders), and the port it hears of batches by. */
export type Post = { readonly from: string; readonly to: string; readonly port: MessagePort };

/** Files to copy: slash paths that the system takes as they are, and numbers about each of them, `numbersOfFile` a file.
 *  `room` takes what is read; it comes back with the answer. */
export type Order = {
  readonly paths: readonly string[];
  readonly numbers: Float64Array;
  readonly room: ArrayBuffer;
};

/** `hashes` has a SHA-256 (hex) for each file, the empty text for one that was not copied and has left nothing. The
 *  contents of the others lie one after another in `room`. */
export type Answer = {
  readonly hashes: readonly string[];
  readonly numbers: Float64Array;
  readonly room: ArrayBuffer;
};

/** Of a file that is to be copied: size, mode, and its two times in milliseconds. Of its copy, in the same places: size,
 *  mode, modification and change time in milliseconds, and then the inode. */
export const numbersOfFile = 5;

/** The worker's whole program. It is started from its own text, so it uses nothing from outside but what `require` gives:
 *  no import, no other function or constant of this file. A file that gives trouble of any kind is left to whoever
 *  sent it, who has the words for it. */
export function copyOnOrder(require: NodeJS.Require): void {
  const fs: typeof import('node:fs') = require('node:fs');
  const crypto: typeof import('node:crypto') = require('node:crypto');
  const threads: typeof import('node:worker_threads') = require('node:worker_threads');
  const { from, to, port }: Post = threads.workerData;
  const { constants } = fs;
  const toRead = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const toMake = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

  /** Reads the file to the place `at` of the room and answers with its size, -1 when it may be longer than the room. */
  const read = (path: string, expected: number, bytes: Buffer, at: number): number => {
    const file = fs.openSync(path, toRead);
    try {
      let size = fs.readSync(file, bytes, at, bytes.length - at, 0);
      for (let more = size; more > 0 && size !== expected && at + size < bytes.length; size += more)
        more = fs.readSync(file, bytes, at + size, bytes.length - at - size, size);
      return at + size < bytes.length ? size : -1;
    } finally {
      fs.closeSync(file);
    }
  };

  // As in walk.ts.
  const secondsOf = (ms: number) => Math.max(0, ms) / 1e3;

  const write = (path: string, bytes: Buffer, mode: number, atimeMs: number, mtimeMs: number) => {
    const file = fs.openSync(path, toMake, mode & 0o777);
    try {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
      fs.futimesSync(file, secondsOf(atimeMs), secondsOf(mtimeMs));
      const made = fs.fstatSync(file);
      if ((made.mode & 0o7777) === mode) return made;
      fs.fchmodSync(file, mode);
      return fs.fstatSync(file);
    } catch (error) {
      // Ours alone: what was there before, opening would not have passed.
      fs.unlinkSync(path);
      throw error;
    } finally {
      fs.closeSync(file);
    }
  };

  port.on('message', ({ paths, numbers, room }: Order) => {
    const bytes = Buffer.from(room);
    let at = 0;
    const hashes = paths.map((path, n) => {
      const [size = 0, mode = 0, atimeMs = 0, mtimeMs = 0] = numbers.subarray(n * 5);
      try {
        const count = read(`${from}/${path}`, size, bytes, at);
        if (count < 0) return '';
        const content = bytes.subarray(at, at + count);
        const hash = crypto.hash('sha256', content, 'hex');
        const made = write(`${to}/${path}`, content, mode, atimeMs, mtimeMs);
        numbers.set([count, made.mode & 0o7777, made.mtimeMs, made.ctimeMs, made.ino], n * 5);
        at += count;
        return hash;
      } catch {
        return '';
      }
    });
    const answer: Answer = { hashes, numbers, room };
    port.postMessage(answer, [room]);
    // For whoever waits: taking the answer from its port would be hearing of it too.
    threads.parentPort?.postMessage('answered');
  });
}
