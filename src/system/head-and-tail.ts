/** Keeps the head and the tail of a stream of bytes that may be of any length, and counts the middle. */

export interface HeadAndTail {
  /** Takes bytes; answers with those of the head, to be written at once. */
  push(chunk: Buffer): Buffer;
  /** What comes after the head: a note where something was left out, and the tail. */
  end(): Buffer;
}

/** The tail is held in memory, so it is the smaller part. */
const longestTail = 1024 * 1024;

/** At most `most` bytes are kept (the note comes on top). With `Infinity` every byte is of the head. */
export function headAndTail(most: number): HeadAndTail {
  const tailMost = Math.min(longestTail, Math.floor(most / 4));
  let room = most - tailMost;
  // A ring: whatever sizes the chunks have, no more than the tail is held.
  let ring: Buffer | undefined;
  let received = 0;
  const keep = (bytes: Buffer): void => {
    ring ??= Buffer.alloc(tailMost);
    const last = bytes.subarray(Math.max(0, bytes.length - tailMost));
    received += bytes.length;
    if (tailMost === 0) return;
    const at = (received - last.length) % tailMost;
    const first = last.copy(ring, at);
    last.copy(ring, 0, first);
  };
  return {
    push(chunk) {
      const head = chunk.subarray(0, Math.min(room, chunk.length));
      room -= head.length;
      if (head.length < chunk.length) keep(chunk.subarray(head.length));
      return head;
    },
    end() {
      if (ring === undefined) return Buffer.alloc(0);
      const out = received - tailMost;
      if (out <= 0) return ring.subarray(0, received);
      const at = received % Math.max(1, tailMost);
      const note = `\n[… ${out} bytes left out: more than ${most} bytes were written …]\n`;
      return Buffer.concat([Buffer.from(note), ring.subarray(at), ring.subarray(0, at)]);
    },
  };
}
