/** Which words of a changed line are new, and which of the line before are gone. */
import { diffWordsWithSpace } from 'diff';
import type { CharacterRange } from './code-tokens.ts';
import type { DiffLine } from './diff-rows.ts';

/** Longer lines are generated; comparing them by words takes long and shows nothing. */
const longestLine = 1000;

export interface WordChanges {
  readonly removed: readonly CharacterRange[];
  readonly added: readonly CharacterRange[];
}

/** Undefined for two lines that have too little in common: then the whole line is the change. */
export function wordChanges(before: string, after: string): WordChanges | undefined {
  if (before.length > longestLine || after.length > longestLine) return undefined;
  const removed: CharacterRange[] = [];
  const added: CharacterRange[] = [];
  let [left, right, common] = [0, 0, 0];
  for (const part of diffWordsWithSpace(before, after)) {
    const { length } = part.value;
    if (part.removed) removed.push([left, left + length]);
    else if (part.added) added.push([right, right + length]);
    else common += part.value.trim().length;
    if (!part.added) left += length;
    if (!part.removed) right += length;
  }
  const longer = Math.max(before.trim().length, after.trim().length);
  return common * 3 < longer ? undefined : { removed, added };
}

/** The changed words of each line that replaces another, and of the one that it replaces. */
export function changedWords(lines: readonly DiffLine[]): ReadonlyMap<DiffLine, readonly CharacterRange[]> {
  const words = new Map<DiffLine, readonly CharacterRange[]>();
  for (let from = 0; from < lines.length; ) {
    const kind = lines[from]?.kind;
    const removed = kind === 'removed' ? runOf(lines, from, 'removed') : [];
    const added = removed.length === 0 ? [] : runOf(lines, from + removed.length, 'added');
    for (const [at, before] of removed.entries()) {
      const after = added[at];
      const changes = after && wordChanges(before.text, after.text);
      if (after === undefined || changes === undefined) continue;
      words.set(before, changes.removed);
      words.set(after, changes.added);
    }
    from += Math.max(1, removed.length + added.length);
  }
  return words;
}

function runOf(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): readonly DiffLine[] {
  const end = lines.findIndex((line, at) => at >= from && line.kind !== kind);
  return lines.slice(from, end < 0 ? lines.length : end);
}
