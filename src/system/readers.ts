/** Who reads what a process says, at its end. */
import type { Writable } from 'node:stream';

export type Reading = {
  /** Settles when all was taken, or nobody is waited for any more. */
  readonly over: Promise<void>;
  /** Waits no longer. */
  stop(): void;
};

/** Waits until readers have taken all that was written. One that takes nothing would hold us for ever: once we are `asked`
 *  to end, whether by now or meanwhile, they have a moment left. */
export function untilRead(streams: readonly Writable[], asked: AbortSignal | undefined): Reading {
  let stop: () => void = () => {};
  const stopped = new Promise<void>((done) => {
    stop = done;
  });
  const soon = () => void setTimeout(stop, momentMs);
  if (asked?.aborted === true) soon();
  else asked?.addEventListener('abort', soon);
  return { over: Promise.race([allTaken(streams), stopped]), stop };
}

const momentMs = 1000;

async function allTaken(streams: readonly Writable[]): Promise<void> {
  for (const stream of streams)
    if (!stream.destroyed && stream.writable)
      await new Promise<void>((done) => stream.write('', () => done()));
}
