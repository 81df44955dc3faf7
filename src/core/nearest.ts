/** Suggests the known word for a misspelt one. */

/** Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; at most `limit + 1`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1, (above[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? limit + 1;
}

const folded = (word: string): string => word.toLowerCase().replace(/[-_.\s]/g, '');

/** The nearest of `words`, undefined if none is near. Case, `-`, `_` and `.` are ignored. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  // A short word with half of its letters changed is another word.
  const { length } = folded(word);
  return within(word, words, length >= 8 ? 2 : length >= 4 ? 1 : 0);
}

/** As `nearest`, for a word that must be one of `words`: short ones may differ in one letter too. */
export function nearestOf(word: string, words: readonly string[]): string | undefined {
  return nearest(word, words) ?? (folded(word).length >= 2 ? within(word, words, 1) : undefined);
}

/** `nearest` for many words and one list. Gives up after 300,000 comparisons: so many unknown words are not typing
 *  errors, and each is compared with the whole list. */
export function nearestAmong(words: readonly string[]): (word: string) => string | undefined {
  let left = 300_000;
  return (word) => {
    left -= words.length;
    return left < 0 ? undefined : nearest(word, words);
  };
}

/** As `nearestAmong`, for ids: one of three letters may differ in one of them. */
export function nearestId(ids: readonly string[]): (id: string) => string | undefined {
  const near = nearestAmong(ids);
  return (id) => near(id) ?? (folded(id).length === 3 && ids.length < 1000 ? within(id, ids, 1) : undefined);
}

function within(word: string, words: Iterable<string>, limit: number): string | undefined {
  const key = folded(word);
  let found: string | undefined;
  let least = limit + 1;
  for (const candidate of words) {
    if (candidate === word) continue;
    const known = folded(candidate);
    // An abbreviation counts as one edit.
    const edits = key.length >= 4 && known.startsWith(key) ? 1 : distance(key, known, limit);
    if (edits < least) {
      least = edits;
      found = candidate;
    }
  }
  return found;
}
