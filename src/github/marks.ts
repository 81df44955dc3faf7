/** Hidden marks at the beginning of what we write on GitHub: an HTML comment in a line by itself. */

/** `<!-- factory WHAT KEY -->`. */
export function markOf(what: string, key: string): string {
  if (!/^[\w./#@-]+$/.test(key)) throw new Error(`Internal: no key of a mark: ${key}`);
  return `<!-- factory ${what} ${key} -->`;
}

/** Whether a text of GitHub begins with the mark: what only quotes it does not. */
export const beginsWithMark = (text: string, mark: string): boolean =>
  text.replaceAll('\r', '').split('\n', 1)[0]?.trim() === mark;

/** Whether it begins with any mark of ours. */
export const hasMark = (text: string): boolean => /^<!-- factory [a-z-]+ \S+ -->\s*(?:\n|$)/.test(text);
