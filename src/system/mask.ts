/** Keeps values out of a stream of bytes, wherever the stream happens to be cut and however they are spelled: as they
 *  are, escaped, URL-encoded, in base64 (any alignment, either alphabet, over several lines) or in hex. */
import { type Automaton, automatonOf } from './automaton.ts';
import { base64Forms, hexForms, textForms, urlForms } from './spellings.ts';

const stars = Buffer.from('***');

/** Takes bytes as they come and gives them back masked. What might be the beginning of a value is held until the next
 *  bytes decide; `end` gives the rest. */
export interface ByteMasker {
  push(chunk: Uint8Array): Buffer;
  end(): Buffer;
}

/** Where one way of reading stands. Nearly always it stands at the beginning, and passes over all that cannot begin a value;
 *  `found` is told every value, as positions in the stream. */
interface Reader {
  /** Reads from `from` until it stands at the beginning again, and answers with the first byte that it has not read. */
  read(chunk: Uint8Array, from: number, at: number, found: (start: number, end: number) => void): number;
  /** Whether it stands at the beginning. */
  rests(): boolean;
  /** Where the earliest value begins that may still become whole; `at` when there is none. */
  undecidedFrom(at: number): number;
}

/** A way of reading, to be begun anew for each stream. */
type Way = {
  readonly open: () => Reader;
  /** Whether a value may begin with `first`, where `second` is the next byte. */
  readonly begins: (first: number, second: number) => boolean;
};

/** Whether a value begins with both symbols, or is the first one alone. */
function beginsWith(
  { classes, width, next, depth, ends }: Automaton,
  first: number,
  second: number,
): boolean {
  const one = next[classes[first] ?? 0] ?? 0;
  if (one === 0) return false;
  return (ends[one] ?? 0) > 0 || (depth[next[one * width + (classes[second] ?? 0)] ?? 0] ?? 0) > 1;
}

const canBegin = ({ classes, next }: Automaton, first: number): boolean =>
  (next[classes[first] ?? 0] ?? 0) !== 0;

/** The last positions of symbols: of a value that is under way, where it began. */
type Trail = { readonly starts: Float64Array; readonly mask: number };
const trailFor = (longest: number): Trail => {
  const size = 2 ** Math.ceil(Math.log2(longest + 1));
  return { starts: new Float64Array(size), mask: size - 1 };
};

/** Reads the bytes as they are. */
function plainReader({ classes, width, next, depth, ends }: Automaton): Reader {
  let state = 0;
  return {
    read(chunk, from, at, found) {
      for (let i = from; i < chunk.length; i++) {
        state = next[state * width + (classes[chunk[i] ?? 0] ?? 0)] ?? 0;
        if (state === 0) return i + 1;
        const length = ends[state] ?? 0;
        if (length > 0) found(at + i + 1 - length, at + i + 1);
      }
      return chunk.length;
    },
    rests: () => state === 0,
    undecidedFrom: (at) => at - (depth[state] ?? 0),
  };
}

/** Between two symbols of an encoding no more than this is passed over: line ends, indentation, separators. */
const mostSkipped = 16;
const symbol = 0;
const skipped = 1;
const stranger = 2;
/** A backslash: with `n` or `r` it is a line end in a JSON text. */
const backslash = 3;

/** Reads the symbols of an encoding and passes over what may stand between them. */
function encodedReader(automaton: Automaton, kinds: Uint8Array): Reader {
  const { classes, width, next, depth, ends, longest } = automaton;
  const { starts, mask } = trailFor(longest);
  let state = 0;
  let count = 0;
  let gap = 0;
  let escaped = false;
  return {
    read(chunk, from, at, found) {
      for (let i = from; i < chunk.length; i++) {
        const byte = chunk[i] ?? 0;
        const kind = kinds[byte] ?? stranger;
        if (escaped) {
          escaped = false;
          if (byte === 0x6e || byte === 0x72 || byte === 0x78) continue;
        }
        if (kind === symbol) {
          gap = 0;
          state = next[state * width + (classes[byte] ?? 0)] ?? 0;
          starts[count & mask] = at + i;
          count++;
          const length = ends[state] ?? 0;
          if (length > 0) found(starts[(count - length) & mask] ?? 0, at + i + 1);
        } else if (state !== 0) {
          gap++;
          if (kind === stranger || gap > mostSkipped) state = 0;
          else if (kind === backslash) escaped = true;
        }
        if (state === 0) return i + 1;
      }
      return chunk.length;
    },
    rests: () => state === 0,
    undecidedFrom(at) {
      const read = depth[state] ?? 0;
      return read === 0 ? at : (starts[(count - read) & mask] ?? at);
    },
  };
}

/** Reads bytes with `%41` for `A`. */
function urlReader({ classes, width, next, depth, ends, longest }: Automaton): Reader {
  const { starts, mask } = trailFor(longest);
  let state = 0;
  let count = 0;
  // Characters of an escape that is under way, where it began, and its first digit.
  let within = 0;
  let began = 0;
  let high = 0;
  const take = (byte: number, start: number, end: number, found: (start: number, end: number) => void) => {
    state = next[state * width + (classes[byte] ?? 0)] ?? 0;
    starts[count & mask] = start;
    count++;
    const length = ends[state] ?? 0;
    if (length > 0) found(starts[(count - length) & mask] ?? 0, end);
  };
  return {
    read(chunk, from, at, found) {
      for (let i = from; i < chunk.length; i++) {
        const byte = chunk[i] ?? 0;
        if (within === 0 && byte !== 0x25) {
          take(byte, at + i, at + i + 1, found);
          if (state === 0) return i + 1;
          continue;
        }
        const digit = within === 0 ? -1 : digitOf(byte);
        if (digit >= 0) {
          if (within === 1) {
            within = 2;
            high = digit;
          } else {
            within = 0;
            take(high * 16 + digit, began, at + i + 1, found);
          }
          continue;
        }
        // It was none: its characters count as they are.
        if (within > 0) {
          take(0x25, began, began + 1, found);
          if (within === 2) take((high < 10 ? 0x30 : 0x57) + high, began + 1, began + 2, found);
          within = 0;
        }
        if (byte === 0x25) {
          within = 1;
          began = at + i;
        } else take(byte, at + i, at + i + 1, found);
        if (state === 0 && within === 0) return i + 1;
      }
      return chunk.length;
    },
    rests: () => state === 0 && within === 0,
    undecidedFrom(at) {
      const read = depth[state] ?? 0;
      if (read > 0) return starts[(count - read) & mask] ?? at;
      return within > 0 ? began : at;
    },
  };
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const kindsOf = (symbols: RegExp, between: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte);
    if (symbols.test(character)) return symbol;
    if (character === '\\') return backslash;
    return between.test(character) ? skipped : stranger;
  });
const base64Kinds = kindsOf(/[A-Za-z0-9+/_-]/, /[\r\n\t ]/);
const hexKinds = kindsOf(/[0-9a-fA-F]/, /[\r\n\t :,_-]/);
const otherAlphabet: Readonly<Record<number, number>> = { 45: 0x2b, 95: 0x2f };

/** The ways of reading for some values, and for two bytes in a row (the first times 256 and the second) a bit for each way by
 *  which a value may begin with them. Ordinary text has few such pairs: everything else is passed over at once. */
type Readers = { readonly ways: readonly Way[]; readonly pairs: Uint8Array };
const known = new Map<string, Readers>();
/** Sets of values that are remembered: a run has few. */
const mostKnown = 32;

function readersOf(values: readonly string[]): Readers {
  const key = JSON.stringify(values);
  const found = known.get(key);
  if (found !== undefined) return found;
  const plain = automatonOf(values.flatMap(textForms));
  const url = automatonOf(values.flatMap(urlForms));
  const base64 = automatonOf(values.flatMap(base64Forms), (byte) => otherAlphabet[byte] ?? byte);
  const hex = automatonOf(values.flatMap(hexForms), (byte) =>
    byte >= 0x41 && byte <= 0x46 ? byte | 0x20 : byte,
  );
  const ways: Way[] = [
    { open: () => plainReader(plain), begins: (first, second) => beginsWith(plain, first, second) },
  ];
  if (url.longest > 0)
    ways.push({
      open: () => urlReader(url),
      begins: (first, second) =>
        first === 0x25 || (second === 0x25 ? canBegin(url, first) : beginsWith(url, first, second)),
    });
  for (const [automaton, kinds] of [
    [base64, base64Kinds],
    [hex, hexKinds],
  ] as const)
    if (automaton.longest > 0)
      ways.push({
        open: () => encodedReader(automaton, kinds),
        begins: (first, second) =>
          kinds[first] === symbol &&
          // What stands between two symbols may stand behind the first.
          (kinds[second] === skipped || kinds[second] === backslash
            ? canBegin(automaton, first)
            : beginsWith(automaton, first, second)),
      });
  const pairs = new Uint8Array(256 * 256);
  for (const [n, { begins }] of ways.entries())
    for (let first = 0; first < 256; first++)
      for (let second = 0; second < 256; second++)
        if (begins(first, second))
          pairs[first * 256 + second] = (pairs[first * 256 + second] ?? 0) | (1 << n);
  const readers = { ways, pairs };
  if (known.size >= mostKnown) known.clear();
  known.set(key, readers);
  return readers;
}

/** Reads a chunk by all ways. */
function readAll(
  readers: readonly Reader[],
  pairs: Uint8Array,
  chunk: Uint8Array,
  at: number,
  found: (start: number, end: number) => void,
): void {
  if (chunk.length === 0) return;
  /** Up to where each way has read. */
  const upTo = readers.map((reader) => (reader.rests() ? 0 : reader.read(chunk, 0, at, found)));
  const last = chunk.length - 1;
  for (let i = 0; i < last; i++) {
    const bits = pairs[((chunk[i] ?? 0) << 8) | (chunk[i + 1] ?? 0)] ?? 0;
    if (bits === 0) continue;
    for (const [n, reader] of readers.entries())
      if ((bits & (1 << n)) !== 0 && (upTo[n] ?? 0) <= i) upTo[n] = reader.read(chunk, i, at, found);
  }
  // What follows the last byte is not known yet.
  for (const [n, reader] of readers.entries())
    if ((upTo[n] ?? 0) <= last) reader.read(chunk, last, at, found);
}

const nothing: Readers = { ways: [], pairs: new Uint8Array(0) };

/** A masker of the given values (UTF-8; empty ones count for nothing), those of 8 bytes and more in any encoding. Each
 *  occurrence becomes `***`; occurrences that overlap become one, so that no part of either is left. How the input is
 *  cut makes no difference; each byte is looked at once by each way of reading at most. */
export function maskStream(values: readonly string[]): ByteMasker {
  const wanted = [...new Set(values)].filter((value) => value !== '');
  const { ways, pairs } = wanted.length === 0 ? nothing : readersOf(wanted);
  const readers = ways.map(({ open }) => open());
  const found = (start: number, end: number) => {
    pending.push([start, end]);
  };
  let carry: Buffer = Buffer.alloc(0);
  /** Where `carry` begins in the stream, and up to where stars have been given already. */
  let base = 0;
  let covered = 0;
  let pending: [start: number, end: number][] = [];

  const give = (limit: number): Buffer => {
    const out: Buffer[] = [];
    let at = Math.max(base, covered);
    if (pending.length > 0) {
      pending.sort(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd);
      let taken = 0;
      for (const [start, end] of pending) {
        if (start >= limit) break;
        taken++;
        if (start >= at && start >= covered) {
          out.push(carry.subarray(at - base, start - base), stars);
          covered = end;
        } else covered = Math.max(covered, end);
        at = Math.max(at, covered);
      }
      pending = pending.slice(taken);
    }
    if (at < limit) out.push(carry.subarray(at - base, limit - base));
    // What is held is copied: the chunk's memory is somebody else's.
    carry = Buffer.from(carry.subarray(limit - base));
    base = limit;
    return out.length === 1 && out[0] !== undefined ? Buffer.from(out[0]) : Buffer.concat(out);
  };
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      if (readers.length === 0) return bytes;
      const at = base + carry.length;
      const end = at + bytes.length;
      carry = carry.length === 0 ? bytes : Buffer.concat([carry, bytes]);
      let limit = end;
      readAll(readers, pairs, bytes, at, found);
      for (const reader of readers) limit = Math.min(limit, reader.undecidedFrom(end));
      return give(Math.max(base, limit));
    },
    end: () => give(base + carry.length),
  };
}
