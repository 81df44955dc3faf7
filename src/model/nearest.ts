/** The known word that a misspelt one was probably meant to be. */

/** Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; at most `limit + 1` is told. */
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

/** The nearest of `words`, or undefined when none is near. Case, `-`, `_` and `.` count for little. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  // Half of a short word's letters changed is another word.
  const { length } = folded(word);
  return within(word, words, length >= 8 ? 2 : length >= 4 ? 1 : 0);
}

/** The same where the word must be one of `words`: a short one may differ in a letter too. */
export function nearestOf(word: string, words: readonly string[]): string | undefined {
  return nearest(word, words) ?? (folded(word).length >= 2 ? within(word, words, 1) : undefined);
}

/** `nearest` for many words that are looked for among the same ones. After 300,000 comparisons none is found any more:
 *  that many strange words are no slips, and each costs a look at all the others. */
export function nearestAmong(words: readonly string[]): (word: string) => string | undefined {
  let left = 300_000;
  return (word) => {
    left -= words.length;
    return left < 0 ? undefined : nearest(word, words);
  };
}

function within(word: string, words: Iterable<string>, limit: number): string | undefined {
  const wanted = folded(word);
  let found: string | undefined;
  let least = limit + 1;
  for (const candidate of words) {
    if (candidate === word) continue;
    const known = folded(candidate);
    // A word that was cut short is as near as one slip.
    const edits = wanted.length >= 4 && known.startsWith(wanted) ? 1 : distance(wanted, known, limit);
    if (edits < least) {
      least = edits;
      found = candidate;
    }
  }
  return found;
}
