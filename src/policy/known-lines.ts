/** Lines of a text that are some known ones, whatever indents, comments, quotes or numbers them. */

/** Some lines in a row that are all known. */
export type Run = {
  /** The lines in the form in which they are compared, one below the other. */
  readonly key: string;
  /** 1-based line of the text in which the first of them stands. */
  readonly at: number;
  /** 0-based number of the first one among the text's lines that count. */
  readonly nth: number;
};

/** Without blanks and quotes, what stands before the first letter (numbers, signs of diffs and comments), and what stands
 *  behind the last. Empty for a line that does not count. */
export const bareOf = (line: string): string =>
  upToLast(line.replace(/[\s\\"'`]/g, '').replace(/^[^\p{L}_]+/u, ''), /[\p{L}\p{N}_]/u);

/** The text as far as the last character that `wanted` matches. A pattern bound to the end would be tried from every
 *  character of a long row of signs. */
function upToLast(text: string, wanted: RegExp): string {
  let end = text.length;
  while (end > 0) {
    const isPair = end > 1 && (text.charCodeAt(end - 1) & 0xfc00) === 0xdc00;
    const from = isPair ? end - 2 : end - 1;
    if (wanted.test(text.slice(from, end))) break;
    end = from;
  }
  return text.slice(0, end);
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Where an escaped line end was. */
const escapedEnd = 0x01;
const backslash = 0x5c;
const quote = 0x22;
/** A text in a text in a text in a text. */
const mostDepth = 3;

/** What a byte behind a backslash stands for. */
const escapes = new Map([
  ['n', escapedEnd],
  ['t', 0x09],
  ...['"', "'", '\\', '/'].map((sign): [string, number] => [sign, sign.charCodeAt(0)]),
]);
const escaped = new Int16Array(256).fill(-1);
for (const [sign, code] of escapes) escaped[sign.charCodeAt(0)] = code;

/** The text, then with one level of escapes after the other taken out, as long as there are escaped line ends. */
export function* readings(text: Buffer): Generator<Buffer> {
  let now = text;
  yield now;
  for (let depth = 0; depth < mostDepth && now.includes('\\n'); depth++) {
    now = unescaped(now);
    yield now;
  }
}

function unescaped(text: Buffer): Buffer {
  const bytes = Buffer.alloc(text.length);
  let size = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    const next = byte === backslash ? (text[at + 1] ?? 0) : 0;
    const code = byte === backslash ? (escaped[next] ?? -1) : -1;
    // Where a text begins or ends, a line does.
    if (byte === quote) bytes[size++] = escapedEnd;
    else if (code >= 0) {
      bytes[size++] = code;
      at++;
    } else if (byte === backslash && next === 0x72) at++;
    else bytes[size++] = byte;
  }
  return bytes.subarray(0, size);
}

/** Letters that stay in the bare form of every line: what is left of a line of these alone tells which ones to look at. */
const isLetter = new Uint8Array(256);
for (const sign of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_') isLetter[sign.charCodeAt(0)] = 1;
const noLetters = 0x811c9dc5 | 0;
const withLetter = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

function lettersOf(line: Buffer): number {
  let hash = noLetters;
  for (const byte of line) if (isLetter[byte] === 1) hash = withLetter(hash, byte);
  return hash;
}

/** Looks for `length` lines in a row that are all of `lines`, which are bare. */
export function knownLines(lines: ReadonlySet<string>, length: number): (reading: Buffer) => Run[] {
  const letters = new Set([...lines].map((line) => lettersOf(Buffer.from(line))));
  return (reading) => {
    const runs: Run[] = [];
    if (lines.size === 0) return runs;
    /** The known lines that stand before, at most as many as are looked for. */
    let row: { readonly bare: string; readonly at: number }[] = [];
    let count = 0;
    let number = 1;
    let from = 0;
    let hash = noLetters;
    let isAscii = true;
    for (let at = 0; at <= reading.length; at++) {
      const byte = reading[at] ?? lineFeed;
      if (isLetter[byte] === 1) hash = withLetter(hash, byte);
      else if (byte >= 0x80) isAscii = false;
      if (byte !== lineFeed && byte !== carriageReturn && byte !== escapedEnd) continue;
      const mayCount = hash !== noLetters || !isAscii;
      if (mayCount) {
        const isLooked = hash === noLetters || letters.has(hash);
        const bare = isLooked ? bareOf(reading.toString('utf8', from, at)) : undefined;
        if (bare !== '') {
          count++;
          if (bare === undefined || !lines.has(bare)) row = [];
          else {
            if (row.length === length) row.shift();
            row.push({ bare, at: number });
            if (row.length === length)
              runs.push({
                key: row.map((one) => one.bare).join('\n'),
                at: row[0]?.at ?? 0,
                nth: count - length,
              });
          }
        }
      }
      if (byte === lineFeed) number++;
      from = at + 1;
      hash = noLetters;
      isAscii = true;
    }
    return runs;
  };
}
