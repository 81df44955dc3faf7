/** The readers of this process's output: pipes and terminals. */
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/** Waits until readers have taken all output, or `enough` fires. After `asked` (a request to end) has fired, a
 *  reader that takes nothing for `momentMs` is given up; one that keeps reading gets everything. */
export async function untilRead(
  streams: readonly Writable[],
  { asked, enough }: { readonly asked: AbortSignal | undefined; readonly enough: AbortSignal },
  momentMs = 1000,
): Promise<void> {
  const open = streams.filter((stream) => !stream.destroyed && stream.writable);
  const drained = (stream: Writable) =>
    new Promise<void>((done) => {
      stream.write('', () => done());
      enough.addEventListener('abort', () => done());
      const hurry = () => {
        // A socket's timeout restarts whenever a part of a write is taken.
        if (stream instanceof Socket) stream.setTimeout(momentMs, done);
        else setTimeout(done, momentMs);
      };
      if (asked?.aborted === true) hurry();
      else asked?.addEventListener('abort', hurry);
    });
  await Promise.all(open.map(drained));
}

/** Characters of results between two checks of the reader. */
const longOutput = 1 << 16;

/** Writes results of any length and returns whether the reader still reads. A closed pipe is noticed only in a turn
 *  of the event loop, and a loop that reads files line by line leaves none. */
export function toReader(io: { readonly out: (text: string) => void; readonly outIsClosed: () => boolean }) {
  let written = 0;
  return {
    out(text: string): void {
      written += text.length;
      io.out(text);
    },
    async isThere(): Promise<boolean> {
      if (written >= longOutput) {
        written = 0;
        await new Promise((turn) => setImmediate(turn));
      }
      return !io.outIsClosed();
    },
  };
}
