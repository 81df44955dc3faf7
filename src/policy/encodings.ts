/** What a text holds in another encoding: URL escapes, base64, and what gzip, zlib (git's objects) and zip compress. */
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

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
