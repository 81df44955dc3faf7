/** Skips from an offset of the author's text: over a string, or over blanks and comments to the next token. */

export type Range = { readonly start: number; readonly end: number };

/** The offset after the closing quote of the string that opens at `start`; undefined if it is never closed. */
export function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x22) return at + 1;
    if (c === 0x5c) at++;
  }
  return undefined;
}

// A backslash at the end of a line joins it to the next one.
const blanks = /(?:[ \t\n\r\f\v]|\\(?=[\n\r]))+/y;
const comment = /(?:#|\/\/)[^\n\r]*|\/\*/y;

const matchAt = (form: RegExp, text: string, at: number): string => {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? '';
};

/** The offset of the next token, of a comment that is never closed, or of the end of the text. Skipped comments are added
 *  to `comments`. */
export function skipBlank(text: string, from: number, comments: Range[] = []): number {
  let at = from === 0 && text.startsWith('\uFEFF') ? 1 : from;
  for (;;) {
    at += matchAt(blanks, text, at).length;
    const found = matchAt(comment, text, at);
    const close = found === '/*' ? text.indexOf('*/', at + 2) : at + found.length - 2;
    if (found === '' || close === -1) return at;
    comments.push({ start: at, end: close + 2 });
    at = close + 2;
  }
}
