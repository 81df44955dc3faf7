/** Who reads what a process says, while it goes on and at its end. */
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

export type Reading = {
  /** Settles when all was taken, or nobody is waited for any more. */
  readonly over: Promise<void>;
  /** Waits no longer. */
  stop(): void;
};

/** Waits until readers have taken all that was written. One that takes nothing would hold us for ever: once we are `asked`
 *  to end, whether by now or meanwhile, whoever takes nothing for `momentMs` is waited for no longer, and who goes on
 *  reading gets all, however slowly. */
export function untilRead(
  streams: readonly Writable[],
  asked: AbortSignal | undefined,
  momentMs = 1000,
): Reading {
  let stop: () => void = () => {};
  const stopped = new Promise<void>((done) => {
    stop = done;
  });
  const all = Promise.all(streams.map((stream) => taken(stream, asked, momentMs)));
  return { over: Promise.race([all.then(() => {}), stopped]), stop };
}

async function taken(stream: Writable, asked: AbortSignal | undefined, momentMs: number): Promise<void> {
  if (stream.destroyed || !stream.writable) return;
  await new Promise<void>((done) => {
    stream.write('', () => done());
    const hurry = () => {
      // A socket's own limit counts from when something was last taken, be it a piece of one write.
      if (stream instanceof Socket) stream.setTimeout(momentMs, done);
      else setTimeout(done, momentMs);
    };
    if (asked?.aborted === true) hurry();
    else asked?.addEventListener('abort', hurry);
  });
}

/** Characters of results after which news of their reader is waited for. */
const muchTold = 1 << 16;

/** For results of any length: tells them, and says whether anybody still reads. That a reader has gone is heard of only
 *  in a turn of the event loop, and what reads files line after line leaves none. */
export function toReader(io: { readonly out: (text: string) => void; readonly outIsClosed: () => boolean }) {
  let told = 0;
  return {
    out(text: string): void {
      told += text.length;
      io.out(text);
    },
    async isThere(): Promise<boolean> {
      if (told >= muchTold) {
        told = 0;
        await new Promise((turn) => setImmediate(turn));
      }
      return !io.outIsClosed();
    },
  };
}
