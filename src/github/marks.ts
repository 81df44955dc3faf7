/** Hidden marks at the beginning of what we write on GitHub: an HTML comment in a line by itself. */
import type { Actor, WriteAccess } from './access.ts';

/** `<!-- factory WHAT KEY -->`. */
export function markOf(what: string, key: string): string {
  if (!/^[\w./#@-]+$/.test(key)) throw new Error(`Internal: no key of a mark: ${key}`);
  return `<!-- factory ${what} ${key} -->`;
}

/** Whether a text of GitHub begins with the mark: what only quotes it does not. */
export const beginsWithMark = (text: string, mark: string): boolean =>
  text.replaceAll('\r', '').split('\n', 1)[0]?.trim() === mark;

/** The first of the texts that has the mark: anyone can write one, so that it counts from us and from people with access. */
export async function markedText<T extends MarkedText>(
  texts: readonly T[],
  mark: string,
  access: WriteAccess,
): Promise<T | undefined> {
  for (const one of texts)
    if (beginsWithMark(one.body, mark) && (one.viewerDidAuthor || (await access.canWrite(one.author))))
      return one;
  return undefined;
}

type MarkedText = { readonly body: string; readonly author: Actor; readonly viewerDidAuthor: boolean };

/** Whether it begins with any mark of ours. */
export const hasMark = (text: string): boolean => /^<!-- factory [a-z-]+ \S+ -->\s*(?:\n|$)/.test(text);
