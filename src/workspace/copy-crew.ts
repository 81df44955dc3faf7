/** Worker threads that take batches of a copy off the main thread, which goes on with the rest meanwhile. */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { largeFrom } from './content.ts';
import { type Answer, copyOnOrder, numbersOfFile, type Order, type Post } from './copy-worker.ts';
import { toBytes } from './names.ts';
import type { Found } from './walk.ts';

/** How many are at work, and from how many files on: for few a worker's start would take longer than the copy. A batch
 *  has at most so many files, so that nobody waits long for the last one. */
export type CrewSize = { readonly workers: number; readonly from: number; readonly batch: number };

/** One worker for each core but ours. More than a few would only wait for the file system. */
export const usualCrew = (): CrewSize => ({
  workers: Math.min(availableParallelism() - 1, 3),
  from: 1000,
  batch: 128,
});

/** What became of a file. Without `made` nothing of it is done; where `isTorn`, a part of it may lie there. `bytes` are
 *  valid until the next file is asked for. */
export type Done = {
  readonly found: Found;
  readonly made?: { readonly bytes: Buffer; readonly hash: string; readonly facts: CopyFacts };
  readonly isTorn: boolean;
};

/** What is told of a copy's stat. */
export type CopyFacts = {
  readonly mode: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
};

/** Most bytes of a batch, by what their files' stats said. */
const batchBytes = largeFrom;

/** One more than a batch may have: a file that fills the room could be longer. */
const roomBytes = batchBytes + 1;

/** Batches that a worker has at a time: it must not wait while we do one of our own or list a large folder. */
const ahead = 3;

/** Files that wait for a worker, or to be copied together. */
export class Pile {
  private files: Found[] = [];
  private bytes = 0;

  constructor(private readonly most: number) {}

  /** True when it must be taken away before this file is added. */
  isFullFor({ stat }: Found): boolean {
    return this.files.length >= this.most || this.bytes + stat.size > batchBytes;
  }

  add(found: Found): void {
    this.files.push(found);
    this.bytes += found.stat.size;
  }

  /** What lies on it, which then is empty. */
  take(): readonly Found[] {
    const { files } = this;
    this.files = [];
    this.bytes = 0;
    return files;
  }
}

type Mate = {
  readonly worker: Worker;
  readonly port: MessagePort;
  given: (readonly Found[])[];
  ended: boolean;
};

/** Copies from one folder to another with workers, which start with the first batch that is offered. The folders of the
 *  files must be there. To be ended in any case; after that nothing is written any more. */
export class Crew {
  private mates: Mate[] | undefined;
  private readonly rooms: ArrayBuffer[] = [];
  private wake: () => void = () => {};

  constructor(
    private readonly from: string,
    private readonly to: string,
    private readonly workers: number,
  ) {}

  /** False for a file that is none for a worker: a large one, or one with a name in other bytes than UTF-8. */
  static takes({ path, stat }: Found): boolean {
    return stat.size <= largeFrom && typeof toBytes(path) === 'string';
  }

  /** Gives a batch to a worker that has little to do; false when there is none. */
  offer(files: readonly Found[]): boolean {
    this.mates ??= Array.from({ length: this.workers }, () => this.start()).filter(
      (mate) => mate !== undefined,
    );
    const mate = this.mates
      .filter(({ ended, given }) => !ended && given.length < ahead)
      .reduce<Mate | undefined>(
        (a, b) => (a !== undefined && a.given.length <= b.given.length ? a : b),
        undefined,
      );
    if (mate === undefined) return false;
    const numbers = new Float64Array(files.length * numbersOfFile);
    for (const [n, { mode, stat }] of files.entries())
      numbers.set([stat.size, mode, stat.atimeMs, stat.mtimeMs], n * numbersOfFile);
    const room = this.rooms.pop() ?? new ArrayBuffer(roomBytes);
    const order: Order = { paths: files.map(({ path }) => path), numbers, room };
    mate.port.postMessage(order, [numbers.buffer, room]);
    mate.given.push(files);
    return true;
  }

  /** The files that workers are done with by now. */
  *collect(): Generator<Done> {
    for (const mate of this.mates ?? []) {
      for (;;) {
        const got = receiveMessageOnPort(mate.port);
        if (got === undefined) break;
        // Only our own worker speaks on this port.
        yield* this.told(mate.given.shift() ?? [], got.message as Answer);
      }
      if (!mate.ended) continue;
      for (const found of mate.given.splice(0).flat()) yield { found, isTorn: true };
    }
  }

  /** The same, and those that workers still have: waits for them without holding the thread. */
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

  /** Ends all workers, whatever they have; settled when they are gone. */
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
      const worker = new Worker(`(${copyOnOrder})(require)`, {
        eval: true,
        workerData: post,
        transferList: [port2],
        // Of the program's settings none is for it.
        env: {},
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
      });
      const mate: Mate = { worker, port: port1, given: [], ended: false };
      worker.on('message', () => this.wake());
      // Its end follows; whatever it was, we do its files ourselves and see.
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

  private *told(files: readonly Found[], { hashes, numbers, room }: Answer): Generator<Done> {
    let at = 0;
    for (const [n, found] of files.entries()) {
      const hash = hashes[n] ?? '';
      if (hash === '') {
        yield { found, isTorn: false };
        continue;
      }
      const [size = 0, mode = 0, mtimeMs = 0, ctimeMs = 0, ino = 0] = numbers.subarray(n * numbersOfFile);
      const bytes = Buffer.from(room, at, size);
      at += size;
      yield { found, isTorn: false, made: { bytes, hash, facts: { mode, mtimeMs, ctimeMs, ino } } };
    }
    this.rooms.push(room);
  }
}
