/** Worker threads that copy batches of small files while the main thread copies the rest. */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { largeFrom } from '../platform/files/bytes.ts';
import { toBytes } from '../platform/files/names.ts';
import type { FoundEntry } from './walk.ts';

/** How many workers there are, from how many files on (for few, starting a worker takes longer than the copy), and the most
 *  files of a batch. */
export type CopyWorkerPlan = {
  readonly workers: number;
  readonly from: number;
  readonly batch: number;
  /** What a worker runs instead of `copyOnOrder`. */
  readonly program?: (require: NodeJS.Require) => void;
};

/** One worker for each core except ours. More than a few would only wait for the file system. */
export const usualCopyWorkers = (): CopyWorkerPlan => ({
  workers: Math.min(availableParallelism() - 1, 3),
  from: 1000,
  batch: 128,
});

/** What became of a file. Without `made` it is not copied; where `isTorn`, a part of it may be there. `bytes` are valid until
 *  the next file is asked for. */
export type Done = {
  readonly source: CopySource;
  readonly made?: { readonly bytes: Buffer; readonly hash: string; readonly facts: CopyFacts };
  readonly isTorn: boolean;
};

/** Most bytes of a batch, by what their files' stats said. */
const batchBytes = largeFrom;

/** One more than a batch may have: a file that fills the room could be longer. */
const roomBytes = batchBytes + 1;

/** Batches that a worker has at a time: it must not wait while the main thread lists a large folder. */
const ahead = 3;

/** Files that are to be copied together. */
export class Pile {
  readonly files: CopySource[] = [];
  private bytes = 0;

  constructor(private readonly most: number) {}

  /** False when there is no room for this file. Of its stat only what is needed is kept. */
  add({ path, mode, stat: { size, atimeMs, mtimeMs } }: CopySource): boolean {
    if (this.files.length >= this.most || this.bytes + size > batchBytes) return false;
    this.files.push({ path, mode, stat: { size, atimeMs, mtimeMs } });
    this.bytes += size;
    return true;
  }
}

type Mate = { readonly worker: Worker; readonly port: MessagePort; given: Pile[]; ended: boolean };

/** Copies from one folder to another with workers, which start with the first batch that is offered. The folders of the
 *  files must be there. To be ended in any case; after that nothing is written any more. */
export class CopyWorkerPool {
  private mates: Mate[] | undefined;
  private readonly rooms: ArrayBuffer[] = [];
  private wake: () => void = () => {};

  constructor(
    private readonly from: string,
    private readonly to: string,
    private readonly plan: CopyWorkerPlan,
  ) {}

  /** False for a large file, and for one with a name in other bytes than UTF-8. */
  static takes({ path, stat }: FoundEntry): boolean {
    return stat.size <= largeFrom && typeof toBytes(path) === 'string';
  }

  /** Gives a batch to the worker with the fewest; false when each has enough. */
  offer(pile: Pile): boolean {
    this.mates ??= Array.from({ length: this.plan.workers }, () => this.start()).filter(
      (mate) => mate !== undefined,
    );
    const [mate] = this.mates
      .filter(({ ended, given }) => !ended && given.length < ahead)
      .sort((a, b) => a.given.length - b.given.length);
    if (mate === undefined) return false;
    const room = this.rooms.pop() ?? new ArrayBuffer(roomBytes);
    const order: CopyOrder = { files: pile.files, room };
    mate.port.postMessage(order, [room]);
    mate.given.push(pile);
    return true;
  }

  /** The files that workers have finished. */
  *collect(): Generator<Done> {
    for (const mate of this.mates ?? []) {
      for (;;) {
        const got = receiveMessageOnPort(mate.port);
        const pile = got === undefined ? undefined : mate.given.shift();
        if (got === undefined || pile === undefined) break;
        // Only our own worker writes to this port.
        yield* this.done(pile, got.message as CopyAnswer);
      }
      if (!mate.ended) continue;
      for (const { files } of mate.given.splice(0))
        for (const source of files) yield { source, isTorn: true };
    }
  }

  /** The same, and those that workers still have: waits for them without blocking the thread. */
  async *rest(): AsyncGenerator<Done> {
    for (;;) {
      const change = new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      yield* this.collect();
      if ((this.mates ?? []).every(({ given }) => given.length === 0)) return;
      await change;
    }
  }

  /** Ends all workers, whatever they have; settles when they are gone. */
  async end(): Promise<void> {
    for (const { worker, port } of this.mates?.splice(0) ?? []) {
      await worker.terminate();
      port.close();
    }
  }

  /** Undefined where the system has no thread left. */
  private start(): Mate | undefined {
    const { port1, port2 } = new MessageChannel();
    const post: Post = { from: this.from, to: this.to, port: port2 };
    try {
      const worker = new Worker(`(${this.plan.program ?? copyOnOrder})(require)`, {
        eval: true,
        workerData: post,
        transferList: [port2],
        // It needs none of the program's settings.
        env: {},
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
      });
      const mate: Mate = { worker, port: port1, given: [], ended: false };
      worker.on('message', () => this.wake());
      // Its exit follows; the main thread copies its files then.
      worker.on('error', () => {});
      worker.on('exit', () => {
        mate.ended = true;
        this.wake();
      });
      return mate;
    } catch {
      port1.close();
      return undefined;
    }
  }

  private *done({ files }: Pile, { copies, room }: CopyAnswer): Generator<Done> {
    let at = 0;
    for (const [n, source] of files.entries()) {
      const copy = copies[n];
      if (copy == null) yield { source, isTorn: false };
      else {
        const bytes = Buffer.from(room, at, copy.size);
        at += copy.size;
        yield { source, isTorn: false, made: { bytes, hash: copy.hash, facts: copy.facts } };
      }
    }
    this.rooms.push(room);
  }
}

/* What a worker thread does for a copy: small files, batch after batch. */

/** Where a worker copies from and to (absolute folders), and the port on which it receives batches. */
type Post = { readonly from: string; readonly to: string; readonly port: MessagePort };

/** What must be known of a file to copy it: a slash path, permission bits, size, and times in milliseconds. */
export type CopySource = {
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
type CopyOrder = { readonly files: readonly CopySource[]; readonly room: ArrayBuffer };

/** Of each file its SHA-256 (hex), size and facts, or null where it was not copied and has left nothing. The contents of the
 *  others are one after another in `room`. */
type CopyAnswer = {
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
function copyOnOrder(require: NodeJS.Require): void {
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

  port.on('message', ({ files, room }: CopyOrder) => {
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
    const answer: CopyAnswer = { copies, room };
    port.postMessage(answer, [room]);
    // The copy reads answers from the port itself; this wakes it.
    threads.parentPort?.postMessage('answered');
  });
}
