/** Compares texts without white space, punctuation, quotes and case, and searches one for many lines at once. */

const backslash = 0x5c;
const newline = 0x0a;

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
    else if (kept[byte] !== 0) folded[size++] = kept[byte] as number;
  }
  return folded.toString('latin1', 0, size);
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
