/** What one client of the stream of a run is sent. */
import { pieceLength, type RunFollower, type RunFollowers, type RunNow } from './run-followers.ts';
import { message } from './sse.ts';
import type { AskedRun } from './web.ts';

/** The row, the events after `after`, and everything that comes, as messages; the one follower of the run makes those that come.
 *  Ends when the run is removed. A client that is too far behind continues with what the run is by then: with the row, the
 *  events that it lacks, and the texts of running executions from their beginning. */
export async function* runMessages(
  followers: RunFollowers,
  run: AskedRun,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  const follower = followers.join(run);
  try {
    let last = after;
    let row: string | undefined;
    for (let isReady = false; !signal.aborted; ) {
      const now = await follower.now(signal);
      if (now === undefined) return yield follower.farewell();
      if (row === undefined) yield now.row.message;
      row ??= now.row.identity;
      const earlier = earlierPieces(follower, now, last);
      let part = await earlier.next();
      for (; part.done !== true; part = await earlier.next()) {
        ({ last } = part.value);
        yield part.value.text;
      }
      if (!part.value) continue;
      const changed = row === now.row.identity ? '' : now.row.message;
      row = now.row.identity;
      const ready = isReady ? '' : message('ready', { last });
      isReady = true;
      if (changed !== '' || ready !== '') yield `${changed}${ready}`;
      for (let number = now.piece; ; number += 1) {
        const piece = await follower.log.next(number, signal);
        if (piece === 'ended') return;
        // It has asked for later events than there are.
        if (piece === 'dropped' || last > piece.last) break;
        ({ last, row } = piece);
        yield piece.bytes;
      }
    }
  } finally {
    follower.leave();
  }
}

type EarlierPiece = { readonly text: string; readonly last: number };

/** What was seen of the run before, in pieces; answers whether it is whole. */
async function* earlierPieces(
  follower: RunFollower,
  { soFar }: RunNow,
  after: number,
): AsyncGenerator<EarlierPiece, boolean> {
  const seen = soFar.again(after);
  let last = after;
  let text = '';
  for (;;) {
    const one = await seen.next();
    if (one.done !== true) {
      text += follower.text(one.value);
      if (one.value.kind === 'event') last = one.value.seq;
    }
    if (text !== '' && (one.done === true || text.length >= pieceLength)) {
      yield { text, last };
      text = '';
    }
    if (one.done === true) return one.value;
  }
}
