/** The lines of a work order's notes that are meant for this program; the rest is text for the model. */
import { normalizePath } from './work-order.ts';

export type OrderNotes = {
  /** The order may remove tests, and change the files that its checks run. */
  readonly mayChangeChecks: boolean;
  /** The order may leave all files unchanged. */
  readonly mayBeEmpty: boolean;
  /** Files whose syntax is not checked: they are broken on purpose. */
  readonly unparsed: ReadonlySet<string>;
};

/** Reads the lines `may_change_checks`, `may_be_empty` and `unparsed: PATH`; each may be an item of a list. */
export function notesOf({ notes }: { readonly notes: string | null }): OrderNotes {
  const text = notes ?? '';
  const has = (word: string): boolean => new RegExp(`^[\\s*-]*\`?${word}\`?[.\\s]*$`, 'm').test(text);
  const paths = [...text.matchAll(/^[\s*-]*unparsed:\s*(\S.*?)\s*$/gm)].map(([, path = '']) => path);
  return {
    mayChangeChecks: has('may_change_checks'),
    mayBeEmpty: has('may_be_empty'),
    unparsed: new Set(paths.map(normalizePath)),
  };
}
