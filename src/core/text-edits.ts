/** Changes of a text. */
import type { TextEdit } from './diagnostic.ts';

const overlap = (a: TextEdit, b: TextEdit): boolean =>
  a.span.start.offset < b.span.end.offset && b.span.start.offset < a.span.end.offset;

/** Whether two edits want different things of the same place. */
export const areAtOdds = (a: TextEdit, b: TextEdit): boolean =>
  overlap(a, b) || (a.span.start.offset === b.span.start.offset && !isSameEdit(a, b));

const isSameEdit = (a: TextEdit, b: TextEdit): boolean =>
  a.text === b.text && a.span.start.offset === b.span.start.offset && a.span.end.offset === b.span.end.offset;

/** The text with all edits made; none may overlap another. The same edit twice is made once. */
export function withEdits(text: string, edits: readonly TextEdit[]): string {
  const inOrder = [...edits].sort((a, b) => a.span.start.offset - b.span.start.offset);
  let made = '';
  let at = 0;
  for (const [i, edit] of inOrder.entries()) {
    const before = inOrder[i - 1];
    if (before !== undefined && isSameEdit(before, edit)) continue;
    made += `${text.slice(at, edit.span.start.offset)}${edit.text}`;
    at = edit.span.end.offset;
  }
  return made + text.slice(at);
}
