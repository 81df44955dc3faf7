/** Splitting a command into words without a shell, and quoting a word for one. */

export type Words = { readonly words: string[] } | { readonly problem: string; readonly at: number };

/** A word and its offset in the source text. */
export type PlacedWord = { readonly text: string; readonly start: number; readonly end: number };

const isBlank = (char: string): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\n';

/** Reads the word that begins at `start` (no blank there). Inside double quotes a backslash escapes only `"` and
 *  `\`; outside quotes it escapes any character, including a line end. */
function readWord(source: string, start: number): PlacedWord | { problem: string; at: number } {
  let text = '';
  let at = start;
  while (at < source.length) {
    const char = source.charAt(at);
    if (isBlank(char)) break;
    if (char === "'") {
      const close = source.indexOf("'", at + 1);
      if (close < 0) return { problem: 'a single quote is never closed', at };
      text += source.slice(at + 1, close);
      at = close + 1;
    } else if (char === '"') {
      const open = at++;
      while (at < source.length && source.charAt(at) !== '"') {
        const next = source.charAt(at + 1);
        if (source.charAt(at) === '\\' && (next === '"' || next === '\\')) at++;
        text += source.charAt(at++);
      }
      if (at >= source.length) return { problem: 'a double quote is never closed', at: open };
      at++;
    } else if (char === '\\') {
      if (at + 1 === source.length) return { problem: 'a backslash has nothing after it', at };
      text += source.charAt(at + 1);
      at += 2;
    } else {
      text += char;
      at++;
    }
  }
  return { text, start, end: at };
}

/** The first word at or after `from`, undefined when only blanks are left. */
export function wordFrom(
  source: string,
  from: number,
): PlacedWord | { readonly problem: string; readonly at: number } | undefined {
  let start = from;
  while (start < source.length && isBlank(source.charAt(start))) start++;
  return start === source.length ? undefined : readWord(source, start);
}

/** Splits as Python's `shlex.split` does: only space, tab, CR and LF separate, `#` begins no comment, adjoining
 *  quoted pieces are one word, nothing is expanded. `at` is the offset (UTF-16) of the quote or backslash at fault. */
export function splitWords(source: string): Words {
  const words: string[] = [];
  for (let at = 0; ; ) {
    const word = wordFrom(source, at);
    if (word === undefined) return { words };
    if ('problem' in word) return word;
    words.push(word.text);
    at = word.end;
  }
}

/** Any text as one single-quoted word of a POSIX shell. */
export const singleQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** One word of a POSIX shell that evaluates to exactly `text`, quoted where it must be. Not for the first word of a command:
 *  there a bare `a=b` would be an assignment. */
export const quoteWord = (text: string): string =>
  /^[\w@%+:,./-][\w@%+:,./=-]*$/.test(text) ? text : singleQuoted(text);

/** A text without percent escapes; unchanged where they are damaged. */
export function withoutPercents(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
