/** Keeps values out of a stream of bytes, wherever the stream happens to be cut. */

const stars = Buffer.from('***');

/** Takes bytes as they come and gives them back masked. What might be the beginning of a value is held until the next
 *  bytes decide; `end` gives the rest. */
export interface ByteMasker {
  push(chunk: Uint8Array): Buffer;
  end(): Buffer;
}

/** A masker of the given values (UTF-8; empty ones count for nothing). Each occurrence becomes `***`; occurrences that
 *  overlap become one, so that no part of either is left. How the input is cut makes no difference. */
export function maskStream(values: readonly string[]): ByteMasker {
  const needles = [...new Set(values)].filter((value) => value !== '').map((value) => Buffer.from(value));
  let carry: Buffer = Buffer.alloc(0);
  // Bytes at the start of `carry` that belong to an occurrence whose stars have been given already.
  let covered = 0;

  const step = (chunk: Uint8Array, last: boolean): Buffer => {
    const bytes =
      carry.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([carry, chunk]);
    const limit = last ? bytes.length : undecidedFrom(bytes, needles);
    const out: Buffer[] = [];
    let at = covered;
    for (const [start, end] of occurrences(bytes, needles, limit)) {
      if (start >= at) {
        out.push(bytes.subarray(at, start), stars);
        at = end;
      } else at = Math.max(at, end);
    }
    if (at < limit) out.push(bytes.subarray(at, limit));
    carry = Buffer.from(bytes.subarray(limit));
    covered = Math.max(0, at - limit);
    return Buffer.concat(out);
  };
  return { push: (chunk) => step(chunk, false), end: () => step(new Uint8Array(), true) };
}

/** Where the first suffix begins that may still grow into a value. Everything before it is decided. */
function undecidedFrom(bytes: Buffer, needles: readonly Buffer[]): number {
  const longest = needles.reduce((most, needle) => Math.max(most, needle.length), 1);
  for (let from = Math.max(0, bytes.length - longest + 1); from < bytes.length; from++) {
    const length = bytes.length - from;
    const grows = (needle: Buffer) =>
      needle.length > length && needle[0] === bytes[from] && bytes.compare(needle, 0, length, from) === 0;
    if (needles.some(grows)) return from;
  }
  return bytes.length;
}

/** Every occurrence that begins before `limit`, as [start, end), by start. */
function occurrences(bytes: Buffer, needles: readonly Buffer[], limit: number): [number, number][] {
  const found: [number, number][] = [];
  for (const needle of needles) {
    for (let at = bytes.indexOf(needle); at !== -1 && at < limit; at = bytes.indexOf(needle, at + 1)) {
      found.push([at, at + needle.length]);
    }
  }
  return found.sort(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd);
}
