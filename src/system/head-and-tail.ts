/** Keeps the head and the tail of a byte stream of any length, and counts the bytes between. */

export interface HeadAndTail {
  /** Takes bytes; returns those of the head, to be written immediately. */
  push(chunk: Buffer): Buffer;
  /** What follows the head: a note where bytes were left out, and the tail. */
  end(): Buffer;
}

/** The tail is held in memory, so it is the smaller part. */
const longestTail = 1024 * 1024;

/** Keeps at most `most` bytes, plus the note. With `Infinity` every byte belongs to the head. */
export function headAndTail(most: number): HeadAndTail {
  const tailMost = Math.min(longestTail, Math.floor(most / 4));
  let room = most - tailMost;
  // A ring buffer: however large the chunks are, only the tail is held.
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
