/** What a worker thread does for a copy: small files, batch after batch. */
import type { MessagePort } from 'node:worker_threads';

/** Where a worker copies from and to (absolute folders), and the port on which it receives batches. */
export type Post = { readonly from: string; readonly to: string; readonly port: MessagePort };

/** What must be known of a file to copy it: a slash path, permission bits, size, and times in milliseconds. */
export type Source = {
  readonly path: string;
  readonly mode: number;
  readonly stat: { readonly size: number; readonly atimeMs: number; readonly mtimeMs: number };
};

/** What the copy's own stat says. */
export type CopyFacts = {
  readonly mode: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
};

/** Files to copy. `room` takes what is read; it comes back with the answer. */
export type Order = { readonly files: readonly Source[]; readonly room: ArrayBuffer };

/** Of each file its SHA-256 (hex), size and facts, or null where it was not copied and has left nothing. The contents of the
 *  others are one after another in `room`. */
export type Answer = {
  readonly copies: readonly ({
    readonly hash: string;
    readonly size: number;
    readonly facts: CopyFacts;
  } | null)[];
  readonly room: ArrayBuffer;
};

/** The worker's whole program. It is started from its own text, so it uses nothing from outside except what `require` gives:
 *  no import, no other function or constant of this file. A file with any error is left to the copying thread, which reports
 *  it. */
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
      // Made by this call: it fails where something was there before.
      fs.unlinkSync(path);
      throw error;
    } finally {
      fs.closeSync(file);
    }
  };

  port.on('message', ({ files, room }: Order) => {
    const bytes = Buffer.from(room);
    let at = 0;
    const copies = files.map(({ path, mode, stat }) => {
      try {
        const size = read(`${from}/${path}`, stat.size, bytes, at);
        if (size < 0) return null;
        const content = bytes.subarray(at, at + size);
        const hash = crypto.hash('sha256', content, 'hex');
        const made = write(`${to}/${path}`, content, mode, stat.atimeMs, stat.mtimeMs);
        at += size;
        const { mtimeMs, ctimeMs, ino } = made;
        return { hash, size, facts: { mode: made.mode & 0o7777, mtimeMs, ctimeMs, ino } };
      } catch {
        return null;
      }
    });
    const answer: Answer = { copies, room };
    port.postMessage(answer, [room]);
    // The copy reads answers from the port itself; this wakes it.
    threads.parentPort?.postMessage('answered');
  });
}
