/** Keeping what a tool answers to a length that a model can be given. */

/** Characters of the longest answer of a tool. */
export const longestAnswer = 48_000;

/** The text, or its head and tail with a line between them that says what was left out. `most` is in characters. */
export function bounded(text: string, most = longestAnswer): string {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 4);
  const head = cutBack(text, most - tail);
  const from = cutOn(text, text.length - tail);
  const lines = text.slice(head, from).split('\n').length - 1;
  return `${text.slice(0, head)}\n[… ${from - head} characters (${lines} line ends) left out …]\n${text.slice(from)}`;
}

/** The same offset, or the one before where it would cut a character in two. */
const cutBack = (text: string, at: number): number => (isLow(text, at) ? at - 1 : at);
const cutOn = (text: string, at: number): number => (isLow(text, at) ? at + 1 : at);

function isLow(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** One line of at most `most` characters. */
export function shortLine(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, cutBack(text, most))}… (${text.length} characters)`;
}
