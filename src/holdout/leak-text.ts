/** Compares texts without white space, punctuation, quotes and case, and searches one for many lines at once. */
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

const backslash = 0x5c;
const newline = 0x0a;
const escapeSign = 0x1b;

/** Each byte when it is folded: letters in lower case, digits, and all bytes beyond ASCII; 0 for the others. */
const kept = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || /[a-z0-9]/i.test(String.fromCharCode(byte))
    ? byte >= 0x41 && byte <= 0x5a
      ? byte | 0x20
      : byte
    : 0,
);
/** Escapes that stand for white space: `\n`, `\r`, `\t`. */
const blanks = new Set(['n', 'r', 't'].map((letter) => letter.charCodeAt(0)));

/** Letters, digits and bytes beyond ASCII, one character per byte. JSON escapes, nested to any depth, count as the
 *  characters they encode; indentation, comment signs, diff prefixes and line breaks make no difference. */
export function fold(text: Buffer): string {
  const bytes = text.includes('\\u') ? withoutUnicodeEscapes(text) : text;
  const folded = Buffer.allocUnsafe(bytes.length);
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === backslash && blanks.has(bytes[at + 1] ?? 0)) at++;
    else if (byte === escapeSign) at = escapeEnd(bytes, at);
    else if (kept[byte] !== 0) folded[size++] = kept[byte] as number;
  }
  return folded.toString('latin1', 0, size);
}

/** The last byte of a terminal's escape sequence, for example of a colour that a program shows a match in. */
function escapeEnd(bytes: Buffer, from: number): number {
  if (bytes[from + 1] !== 0x5b) return from;
  let at = from + 2;
  while ((bytes[at] ?? 0) >= 0x20 && (bytes[at] ?? 0) < 0x40) at++;
  return (bytes[at] ?? 0) >= 0x40 && (bytes[at] ?? 0) < 0x7f ? at : from;
}

/** Consecutive escapes, since some characters are two of them. Only the first backslash of a row starts a match:
 *  starting at each of them would take quadratic time. */
const unicodeEscapes = /(?<!\\)(?:\\+u[0-9a-fA-F]{4})+/g;

const withoutUnicodeEscapes = (text: Buffer): Buffer =>
  Buffer.from(
    text.toString('latin1').replace(unicodeEscapes, (run) => {
      const characters = String.fromCharCode(
        ...run
          .split(/\\+u/)
          .slice(1)
          .map((hex) => Number.parseInt(hex, 16)),
      );
      return Buffer.from(characters).toString('latin1');
    }),
    'latin1',
  );

/** The 1-based line of `text` in which character `position` of the folded text is. */
export function lineAt(text: Buffer, position: number): number {
  let folded = 0;
  for (let line = 1, from = 0; ; line++) {
    const end = text.indexOf(newline, from);
    folded += fold(text.subarray(from, end < 0 ? text.length : end)).length;
    if (folded > position || end < 0) return line;
    from = end + 1;
  }
}

/** Characters of a block, and of the shortest text that always contains a whole block, wherever it begins. */
const block = 8;
const leastBlocks = 2 * block - 1;

/** Finds where texts first occur in a folded one. Only every eighth block of it is looked up, so that the number of
 *  texts makes little difference; a text too short to contain a block is searched for separately. */
export class TextSearch {
  private readonly short: number[] = [];
  private readonly blocks = new Map<string, { readonly text: number; readonly offset: number }[]>();

  constructor(private readonly texts: readonly string[]) {
    for (const [number, text] of texts.entries()) {
      if (text.length < leastBlocks) this.short.push(number);
      else
        for (let offset = 0; offset < block; offset++)
          this.add(text.slice(offset, offset + block), number, offset);
    }
  }

  private add(characters: string, text: number, offset: number): void {
    const others = this.blocks.get(characters);
    if (others === undefined) this.blocks.set(characters, [{ text, offset }]);
    else others.push({ text, offset });
  }

  /** The numbers of the texts that occur, with the position of the first occurrence. */
  find(folded: string): Map<number, number> {
    const found = new Map<number, number>();
    for (const number of this.short) {
      const at = folded.indexOf(this.texts[number] ?? '');
      if (at >= 0) found.set(number, at);
    }
    if (this.blocks.size === 0) return found;
    for (let at = 0; at + block <= folded.length; at += block)
      for (const { text, offset } of this.blocks.get(folded.slice(at, at + block)) ?? [])
        if (!found.has(text) && folded.startsWith(this.texts[text] ?? '', at - offset))
          found.set(text, at - offset);
    return found;
  }
}

/* What a text holds in another encoding: URL escapes, base64, and what gzip, zlib (git's objects) and zip compress. */

/** A reading of a text; the lines of a `decoded` one are not lines of the text. */
export type Reading = { readonly bytes: Buffer; readonly decoded: boolean };

/** How many encodings within encodings are decoded. */
const deepest = 2;

/** The text unchanged, then decoded by each encoding that it seems to contain. */
export function* readingsOf(bytes: Buffer): Generator<Reading> {
  yield { bytes, decoded: false };
  for (const decoded of decodedFrom(bytes, deepest)) yield { bytes: decoded, decoded: true };
}

function* decodedFrom(bytes: Buffer, depth: number): Generator<Buffer> {
  if (depth === 0) return;
  // One character per byte keeps offsets and bytes unchanged.
  const text = bytes.toString('latin1');
  // `%2520` is a blank that was encoded twice.
  const url = text.replace(/%(?:25)*([0-9a-fA-F]{2})/g, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (url !== text) yield Buffer.from(url, 'latin1');
  for (const decoded of [...base64In(text), ...compressedIn(bytes, text)]) {
    yield decoded;
    yield* decodedFrom(decoded, depth - 1);
  }
}

/** Between two streams or runs of symbols, so that what was separate stays separate. */
const between = Buffer.from('\n~\n');

/** The end of a line within base64, which may be escaped, in quotes, or start a comment. */
const lineEnd =
  /(?:\\{0,8}["'`][ \t]{0,4}[,+.]?)?[ \t]{0,4}\\{0,8}(?:\\r)?(?:\\n|\r?\n)[ \t>|+#*-]{0,32}(?:\/\/ )?(?:\\{0,8}["'`])?/
    .source;
const base64Run = new RegExp(
  `[A-Za-z0-9+/_-]{12,}(?:${lineEnd}[A-Za-z0-9+/_-]{16,})*(?:${lineEnd}[A-Za-z0-9+/_-]{2,})?`,
  'g',
);
const lineEnds = new RegExp(lineEnd, 'g');

/** Characters that are searched at a time: a pattern remembers every step of a match, and millions do not fit in
 *  memory. The next piece starts with the end of the last one. */
const pieceSize = 1024 * 1024;
const overlap = 64 * 1024;

/** The runs of base64 (either alphabet) decoded from each of four places: one may follow other letters. */
function* base64In(text: string): Generator<Buffer> {
  const runs: string[] = [];
  for (let at = 0; at === 0 || at + overlap < text.length; at += pieceSize - overlap)
    // Names and paths, which look similar, seldom have all three.
    for (const run of text.slice(at, at + pieceSize).match(base64Run) ?? [])
      if (/[A-Z]/.test(run) && /[a-z]/.test(run) && /\d/.test(run)) runs.push(run.replace(lineEnds, ''));
  if (runs.length === 0) return;
  for (let skip = 0; skip < 4; skip++)
    yield Buffer.concat(runs.flatMap((run) => [Buffer.from(run.slice(skip), 'base64'), between]));
}

/** The most bytes of one stream and of all together, and the most streams tried. */
const largestStream = 32 * 1024 * 1024;
const largestSum = 128 * 1024 * 1024;
const mostStreams = 20_000;

/** Gzip with deflate; the four usual headers of zlib; an entry of a zip archive. */
const heads = /\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|PK\x03\x04/g;

/** All decompressed streams, concatenated; empty where there is none. */
function* compressedIn(bytes: Buffer, text: string): Generator<Buffer> {
  const found: Buffer[] = [];
  let size = 0;
  let tried = 0;
  for (const { index, 0: head } of text.matchAll(heads)) {
    if (tried++ >= mostStreams || size >= largestSum) break;
    const stream = streamAt(bytes.subarray(index), head);
    if (stream === undefined) continue;
    size += stream.length;
    found.push(stream, between);
  }
  if (found.length > 0) yield Buffer.concat(found);
}

/** The content of a stream, even if truncated; undefined where it only looked like one. */
function streamAt(bytes: Buffer, head: string): Buffer | undefined {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: largestStream };
  try {
    if (head.startsWith('\x78')) return inflateSync(bytes, options);
    if (!head.startsWith('PK')) return gunzipSync(bytes, options);
    if (bytes.length < 30 || bytes.readUInt16LE(8) !== 8) return undefined;
    return inflateRawSync(bytes.subarray(30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28)), options);
  } catch {
    return undefined;
  }
}
