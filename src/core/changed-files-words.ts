/** The files that a run has changed, in words. */
import { countedItems } from './amounts.ts';

/** `3 files changed: a.js, b.js, c.js` */
export function changedFilesWords({
  files,
  names,
}: {
  readonly files: number;
  readonly names: readonly string[];
}): string {
  if (files === 0) return 'no files changed';
  const more = files - names.length;
  return `${countedItems(files, 'file')} changed: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
