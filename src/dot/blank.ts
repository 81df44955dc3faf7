/** What stands between tokens: blanks, comments, continued lines. */

export type Blank = {
  /** The offset of the next token, or of the end of the text. */
  readonly at: number;
  /** Where a comment begins that is never closed. */
  readonly unclosed?: number;
};

function endOfLine(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x0a || c === 0x0d) return at;
  }
  return text.length;
}

/** Skips blanks, `//`, `#` and block comments, and backslashes at the end of a line. */
export function skipBlank(text: string, from: number): Blank {
  let at = from;
  for (;;) {
    const c = text[at];
    if (c === ' ' || c === '\t' || c === '\n' || c === '\r' || c === '\f' || c === '\v') at++;
    else if (c === '\uFEFF' && at === 0) at++;
    else if (c === '#' || (c === '/' && text[at + 1] === '/')) at = endOfLine(text, at);
    else if (c === '/' && text[at + 1] === '*') {
      const end = text.indexOf('*/', at + 2);
      if (end === -1) return { at: text.length, unclosed: at };
      at = end + 2;
    } else if (c === '\\' && (text[at + 1] === '\n' || text[at + 1] === '\r')) at += 2;
    else return { at };
  }
}
