/** Texts with all that quoting, escaping, indenting and wrapping change taken out, so that a line is found however it was
 *  carried: in a diff, in a JSON string within a JSON string, in a shell's quotes, with other line ends. */

import { inflated } from './inflated.ts';

/** What is left of a text, and which line of it each byte came from. */
export type Flat = {
  readonly bytes: Uint8Array;
  /** 1-based line of the text that the byte at `position` stood in. */
  lineAt(position: number): number;
};

const dropped = new Uint8Array(256);
// Blanks, line ends, quotes; zeros, which every other byte of UTF-16 is; the signs with which comments, quotations, diffs
// and the parts of a sum of texts begin, so that a line that was broken in two is whole.
for (const sign of '\0\t\n\v\f\r "\'`+-#*>|/') dropped[sign.charCodeAt(0)] = 1;
const colour = 0x1b;
const backslash = 0x5c;
const lineEnd = 0x0a;

/** Leaves out blanks, line ends, quotes, signs of comments and diffs, colours, and backslashes, with the letter of `\n`, `\t` and `\r`; `\u0041` and `\x41` become
 *  what they stand for; characters beyond the basic plane, whose escapes come in two, are left out. */
export function flatten(text: Buffer): Flat {
  const bytes = new Uint8Array(text.length);
  const ends: number[] = [];
  let size = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte === backslash) {
      while (text[at + 1] === backslash) at++;
      const next = text[at + 1];
      if (next === 0x6e || next === 0x74 || next === 0x72) at++;
      else if (next === 0x75 || next === 0x78) {
        const digits = next === 0x75 ? 4 : 2;
        const code = hexAt(text, at + 2, digits);
        if (code < 0) continue;
        at += 1 + digits;
        size = put(bytes, size, code);
      }
      continue;
    }
    if (byte === lineEnd) ends.push(size);
    if (dropped[byte] === 1) continue;
    const next = text[at + 1] ?? 0;
    // The blank that does not break; the quotes, dashes and invisible blanks of typography; a colour.
    if (byte === 0xc2 && next === 0xa0) at++;
    else if (byte === 0xe2 && next === 0x80) at += 2;
    else if (byte === colour && next === 0x5b)
      for (at++; at + 1 < text.length && (text[at++ + 1] ?? 0) < 0x40; );
    else if (byte < 0xf0) bytes[size++] = byte;
    else while (((text[at + 1] ?? 0) & 0xc0) === 0x80) at++;
  }
  return {
    bytes: bytes.subarray(0, size),
    lineAt(position) {
      let low = 0;
      let high = ends.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((ends[middle] ?? 0) <= position) low = middle + 1;
        else high = middle;
      }
      return low + 1;
    },
  };
}

function hexAt(text: Buffer, from: number, digits: number): number {
  let value = 0;
  for (let at = from; at < from + digits; at++) {
    const byte = text[at] ?? 0;
    const low = byte | 0x20;
    const digit =
      byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : low >= 0x61 && low <= 0x66 ? low - 0x57 : undefined;
    if (digit === undefined) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** A character as UTF-8, at most three bytes, which are fewer than its escape had. */
function put(bytes: Uint8Array, size: number, code: number): number {
  if (code >= 0xd800 && code <= 0xdfff) return size;
  if (code < 0x80) {
    if (dropped[code] === 1 || code === backslash) return size;
    bytes[size] = code;
    return size + 1;
  }
  if (code < 0x800) {
    bytes[size] = 0xc0 | (code >> 6);
    bytes[size + 1] = 0x80 | (code & 63);
    return size + 2;
  }
  bytes[size] = 0xe0 | (code >> 12);
  bytes[size + 1] = 0x80 | ((code >> 6) & 63);
  bytes[size + 2] = 0x80 | (code & 63);
  return size + 3;
}

export type Spelling = 'plain' | 'url' | 'html' | 'base64' | 'base32' | 'hex' | 'numbers' | 'compressed';

/** Whether lines of a view are no lines of the text. */
export const isDecoded = (spelling: Spelling): boolean =>
  spelling !== 'plain' && spelling !== 'url' && spelling !== 'html';

/** A text, and what is written in it in another way. The lines of a decoded one are its own. */
export type View = { readonly spelling: Spelling; readonly text: Buffer };

/** The text as it is, then decoded as whatever it seems to have in it: `%41`, `&amp;`, base64 (either alphabet, over several
 *  lines, beginning anywhere), hex, compressed bytes. Each takes one pass. */
export function* viewsOf(text: Buffer): Generator<View> {
  yield { spelling: 'plain', text };
  // One character a byte: offsets and bytes stay what they are.
  const letters = text.toString('latin1');
  let url = letters;
  for (let depth = 0; depth < mostUrls && /%[0-9a-fA-F]{2}/.test(url); depth++) {
    url = url
      .replaceAll('+', ' ')
      .replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    yield { spelling: 'url', text: Buffer.from(url, 'latin1') };
  }
  if (/&(?:lt|gt|amp|quot|apos|#x?[0-9a-fA-F]+);/.test(letters))
    yield { spelling: 'html', text: Buffer.from(withoutEntities(letters), 'latin1') };
  for (const view of decoded(text, letters)) {
    yield view;
    // What was encoded twice.
    yield* decoded(view.text, view.text.toString('latin1'));
  }
}

const mostUrls = 3;

function* decoded(text: Buffer, letters: string): Generator<View> {
  const base64 = runsOf(letters, base64Run);
  for (let skip = 0; skip < 4 && base64.length > 0; skip++)
    yield { spelling: 'base64', text: fromBase64(base64, skip) };
  const hex = runsOf(letters, hexRun);
  for (let skip = 0; skip < 2 && hex.length > 0; skip++) yield { spelling: 'hex', text: fromHex(hex, skip) };
  const base32 = runsOf(letters, base32Run);
  if (base32.length > 0) yield { spelling: 'base32', text: fromBase32(base32) };
  const numbers = runsOf(letters, numberRun);
  if (numbers.length > 0) yield { spelling: 'numbers', text: fromNumbers(numbers) };
  const dumped = [...letters.matchAll(dumpLine)].map(([, digits = '']) => digits).join('');
  if (dumped !== '') yield { spelling: 'hex', text: fromHex([dumped], 0) };
  const unpacked = inflated(text, letters);
  if (unpacked !== undefined) yield { spelling: 'compressed', text: unpacked };
}

/** Characters that are searched for runs at once, and how many of them are searched again with the next ones. */
const atOnce = 1024 * 1024;
const again = 64 * 1024;

/** What a pattern finds, piece by piece: it remembers every step of a run, and of millions of them there is no room for
 *  that. What a piece cuts in two stands whole in the next one. */
function runsOf(letters: string, pattern: RegExp): readonly string[] {
  const runs: string[] = [];
  for (let at = 0; at === 0 || at + again < letters.length; at += atOnce - again)
    for (const run of letters.slice(at, at + atOnce).match(pattern) ?? []) runs.push(run);
  return runs;
}

/** A line of `xxd` or `hexdump -C`: an offset, bytes, and what they look like. */
const dumpLine = /^[ \t>|+-]*[0-9a-fA-F]{6,8}:?[ \t]{1,2}((?:[0-9a-fA-F]{2,4} {1,2}){1,16})/gm;

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const withoutEntities = (letters: string): string =>
  letters.replace(/&(?:amp;)*(lt|gt|amp|quot|apos|#x?[0-9a-fA-F]{1,5});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return entities[name] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return Number.isNaN(code) ? whole : Buffer.from(String.fromCodePoint(code)).toString('latin1');
  });

/** Lines of 16 symbols and more go on in the next one, also as comments, or in the quotes of a sum or list of texts. */
const base64Run =
  /(?:[A-Za-z0-9+/_-]{16,}(?:\\{0,8}["'`][ \t]{0,4}[,+.&]?)?[ \t]{0,4}\\?(?:\\+r)?(?:\\+n|\r?\n)[ \t>|+#*-]{0,32}(?:\/\/ )?(?:\\{0,8}["'`])?)*[A-Za-z0-9+/_-]{11,}/g;
/** What stands between two such lines. */
const base64Break =
  /(?:\\*["'`][ \t]*[,+.&]?)?[ \t]*\\?(?:\\+[rn]|[\r\n])+[ \t>|+#*-]*(?:\/\/ )?(?:\\*["'`])?/g;
/** Backslashes are counted from the first of a row only: from each of them a long row would be read again. */
const hexRun = /(?:(?:(?<!\\)\\+x|0x)?[0-9a-fA-F]{2}[ :,\r\n]{0,2}){11,}/g;

/** Begins with a long line, since many short ones would be read again from each of them. */
const base32Run = /[A-Z2-7]{24,}(?:\r?\n[ \t>|+#*-]{0,32}[A-Z2-7]{8,})*/g;
/** One number a byte: decimal ones with something between them, octal ones behind backslashes, eight binary digits. */
const numberRun =
  /(?:\d{2,3}[ \t,;\r\n]{1,3}){15,}\d{2,3}|(?:(?<!\\)\\+[0-3][0-7]{2}){12,}|(?:[01]{8}[ ,\r\n]{0,2}){12,}/g;

/** A line of its own, so that what stood apart stays apart. */
const apart = Buffer.from('\n~\n').toString('base64');

function fromBase64(runs: readonly string[], skip: number): Buffer {
  const whole = runs.map((run) => {
    const symbols = run.replace(base64Break, '').slice(skip).replaceAll('-', '+').replaceAll('_', '/');
    const rest = symbols.length % 4;
    return rest === 0 ? symbols : rest === 1 ? symbols.slice(0, -1) : symbols + 'A'.repeat(4 - rest);
  });
  return Buffer.from(whole.join(apart), 'base64');
}

function fromHex(runs: readonly string[], skip: number): Buffer {
  const whole = runs.map((run) => {
    const digits = run.replace(/\\+x|0x|[^0-9a-fA-F]/g, '').slice(skip);
    return digits.length % 2 === 0 ? digits : digits.slice(0, -1);
  });
  return Buffer.from(whole.join(Buffer.from('\n~\n').toString('hex')), 'hex');
}

const symbols32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function fromBase32(runs: readonly string[]): Buffer {
  const bytes: number[] = [];
  for (const run of runs) {
    let bits = 0;
    let held = 0;
    for (const symbol of run) {
      const value = symbols32.indexOf(symbol);
      if (value < 0) continue;
      held = ((held & 0xff) << 5) | value;
      bits += 5;
      if (bits < 8) continue;
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
    }
    bytes.push(0x0a, 0x7e, 0x0a);
  }
  return Buffer.from(bytes);
}

function fromNumbers(runs: readonly string[]): Buffer {
  const bytes: number[] = [];
  for (const run of runs) {
    const base = run.startsWith('\\') ? 8 : /^[01]{8}/.test(run) ? 2 : 10;
    for (const digits of run.match(base === 2 ? /[01]{8}/g : /\d+/g) ?? []) {
      const code = Number.parseInt(digits, base);
      if (code < 256) bytes.push(code);
    }
    bytes.push(0x0a, 0x7e, 0x0a);
  }
  return Buffer.from(bytes);
}
