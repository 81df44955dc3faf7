/** Worker threads that take batches of a copy off the main thread, which goes on with the rest meanwhile. */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { keepNurseryAsItWas } from '../system/memory.ts';
import { largeFrom } from './content.ts';
import { type Answer, copyOnOrder, numbersOfFile, type Order, type Post } from './copy-worker.ts';
import { toBytes } from './names.ts';
import type { Found } from './walk.ts';

/** How many are at work, and from how many files on: for few a worker's start would take longer than the copy. A batch
 *  has at most so many files, so that nobody waits long for the last one. */
export type CrewPlan = {
  readonly workers: number;
  readonly from: number;
  readonly batch: number;
  /** What a worker does, in place of `copyOnOrder`. */
  readonly program?: (require: NodeJS.Require) => void;
};

/** One worker for each core but ours. More than a few would only wait for the file system. */
export const usualCrew = (): CrewPlan => ({
  workers: Math.min(availableParallelism() - 1, 3),
  from: 1000,
  batch: 128,
});

/** What must be known of a file to copy it. Of a file that waits no more is kept: the whole of a stat is near a kilobyte. */
export type Source = {
  readonly path: string;
  readonly mode: number;
  readonly stat: { readonly size: number; readonly atimeMs: number; readonly mtimeMs: number };
};

/** What became of a file. Without `made` nothing of it is done; where `isTorn`, a part of it may lie there. `bytes` are
 *  valid until the next file is asked for. */
export type Done = {
  readonly source: Source;
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
  readonly paths: string[] = [];
  readonly numbers: Float64Array;
  private bytes = 0;

  constructor(private readonly most: number) {
    this.numbers = new Float64Array(most * numbersOfFile);
  }

  /** False when there is no room for this file. */
  add({ path, mode, stat }: Source): boolean {
    const { length } = this.paths;
    if (length >= this.most || this.bytes + stat.size > batchBytes) return false;
    const at = length * numbersOfFile;
    this.numbers[at] = stat.size;
    this.numbers[at + 1] = mode;
    this.numbers[at + 2] = stat.atimeMs;
    this.numbers[at + 3] = stat.mtimeMs;
    this.paths.push(path);
    this.bytes += stat.size;
    return true;
  }

  source(n: number): Source {
    const [size = 0, mode = 0, atimeMs = 0, mtimeMs = 0] = numbersOf(this.numbers, n);
    return { path: this.paths[n] ?? '', mode, stat: { size, atimeMs, mtimeMs } };
  }

  *sources(): Generator<Source> {
    for (const n of this.paths.keys()) yield this.source(n);
  }
}

const numbersOf = (numbers: Float64Array, n: number): Float64Array =>
  numbers.subarray(n * numbersOfFile, (n + 1) * numbersOfFile);

type Mate = { readonly worker: Worker; readonly port: MessagePort; given: Pile[]; ended: boolean };

/** Copies from one folder to another with workers, which start with the first batch that is offered. The folders of the
 *  files must be there. To be ended in any case; after that nothing is written any more. */
export class Crew {
  private mates: Mate[] | undefined;
  private readonly rooms: ArrayBuffer[] = [];
  private wake: () => void = () => {};

  constructor(
    private readonly from: string,
    private readonly to: string,
    private readonly plan: CrewPlan,
  ) {}

  /** False for a file that is none for a worker: a large one, or one with a name in other bytes than UTF-8. */
  static takes({ path, stat }: Found): boolean {
    return stat.size <= largeFrom && typeof toBytes(path) === 'string';
  }

  /** Gives a batch to a worker that has little to do; false when there is none. */
  offer(pile: Pile): boolean {
    this.mates ??= Array.from({ length: this.plan.workers }, () => this.start()).filter(
      (mate) => mate !== undefined,
    );
    const [mate] = this.mates
      .filter(({ ended, given }) => !ended && given.length < ahead)
      .sort((a, b) => a.given.length - b.given.length);
    if (mate === undefined) return false;
    const room = this.rooms.pop() ?? new ArrayBuffer(roomBytes);
    const order: Order = { paths: pile.paths, numbers: pile.numbers, room };
    mate.port.postMessage(order, [room]);
    mate.given.push(pile);
    return true;
  }

  /** The files that workers are done with by now. */
  *collect(): Generator<Done> {
    for (const mate of this.mates ?? []) {
      for (;;) {
        const got = receiveMessageOnPort(mate.port);
        const pile = got === undefined ? undefined : mate.given.shift();
        if (got === undefined || pile === undefined) break;
        // Only our own worker speaks on this port.
        yield* this.told(pile, got.message as Answer);
      }
      if (!mate.ended) continue;
      for (const pile of mate.given.splice(0))
        for (const source of pile.sources()) yield { source, isTorn: true };
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
      const worker = new Worker(`(${this.plan.program ?? copyOnOrder})(require)`, {
        eval: true,
        workerData: post,
        transferList: [port2],
        // Of the program's settings none is for it.
        env: {},
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
      });
      const mate: Mate = { worker, port: port1, given: [], ended: false };
      worker.on('online', keepNurseryAsItWas);
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

  private *told(pile: Pile, { hashes, numbers, room }: Answer): Generator<Done> {
    let at = 0;
    for (const [n, hash] of hashes.entries()) {
      const source = pile.source(n);
      if (hash === '') {
        yield { source, isTorn: false };
        continue;
      }
      const [size = 0, mode = 0, mtimeMs = 0, ctimeMs = 0, ino = 0] = numbersOf(numbers, n);
      const bytes = Buffer.from(room, at, size);
      at += size;
      yield { source, isTorn: false, made: { bytes, hash, facts: { mode, mtimeMs, ctimeMs, ino } } };
    }
    this.rooms.push(room);
  }
}
