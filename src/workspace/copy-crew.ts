/** Worker threads that copy batches of small files while the main thread copies the rest. */
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { largeFrom } from './content.ts';
import {
  type Answer,
  type CopyFacts,
  copyOnOrder,
  type Order,
  type Post,
  type Source,
} from './copy-worker.ts';
import { toBytes } from './names.ts';
import type { Found } from './walk.ts';

/** How many workers there are, from how many files on (for few, starting a worker takes longer than the copy), and the most
 *  files of a batch. */
export type CrewPlan = {
  readonly workers: number;
  readonly from: number;
  readonly batch: number;
  /** What a worker runs instead of `copyOnOrder`. */
  readonly program?: (require: NodeJS.Require) => void;
};

/** One worker for each core except ours. More than a few would only wait for the file system. */
export const usualCrew = (): CrewPlan => ({
  workers: Math.min(availableParallelism() - 1, 3),
  from: 1000,
  batch: 128,
});

/** What became of a file. Without `made` it is not copied; where `isTorn`, a part of it may be there. `bytes` are valid until
 *  the next file is asked for. */
export type Done = {
  readonly source: Source;
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
  readonly files: Source[] = [];
  private bytes = 0;

  constructor(private readonly most: number) {}

  /** False when there is no room for this file. Of its stat only what is needed is kept. */
  add({ path, mode, stat: { size, atimeMs, mtimeMs } }: Source): boolean {
    if (this.files.length >= this.most || this.bytes + size > batchBytes) return false;
    this.files.push({ path, mode, stat: { size, atimeMs, mtimeMs } });
    this.bytes += size;
    return true;
  }
}

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

  /** False for a large file, and for one with a name in other bytes than UTF-8. */
  static takes({ path, stat }: Found): boolean {
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
    const order: Order = { files: pile.files, room };
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
        yield* this.done(pile, got.message as Answer);
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

  private *done({ files }: Pile, { copies, room }: Answer): Generator<Done> {
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
