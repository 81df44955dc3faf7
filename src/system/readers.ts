/** Those who read what this process writes, through pipes and terminals. */
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/** Waits until readers have taken all that was written, or `enough` fires. Once `asked` (to end) has fired, before or
 *  meanwhile, one that takes nothing for `momentMs` is waited for no longer; one that keeps reading gets all. */
export async function untilRead(
  streams: readonly Writable[],
  { asked, enough }: { readonly asked: AbortSignal | undefined; readonly enough: AbortSignal },
  momentMs = 1000,
): Promise<void> {
  const open = streams.filter((stream) => !stream.destroyed && stream.writable);
  const taken = (stream: Writable) =>
    new Promise<void>((done) => {
      stream.write('', () => done());
      enough.addEventListener('abort', () => done());
      const hurry = () => {
        // A socket's own limit counts from when something was last taken, even a part of one write.
        if (stream instanceof Socket) stream.setTimeout(momentMs, done);
        else setTimeout(done, momentMs);
      };
      if (asked?.aborted === true) hurry();
      else asked?.addEventListener('abort', hurry);
    });
  await Promise.all(open.map(taken));
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
