/** Where two texts part, in words. */

/** Characters of a line that is shown. */
const mostShown = 160;
const shownLines = 3;

/** The first lines that differ, in words and as a diff. */
export function firstDifference(
  was: string,
  now: string,
): { readonly inWords: string; readonly lines: string } {
  const [old, fresh] = [was.split('\n'), now.split('\n')];
  let at = 0;
  while (at < old.length && at < fresh.length && old[at] === fresh[at]) at += 1;
  const cut = (line: string | undefined, other: string | undefined): string => {
    if (line === undefined) return 'nothing';
    let from = 0;
    while (from < line.length && line[from] === other?.[from]) from += 1;
    const begin = Math.max(0, Math.min(from - 40, line.length - mostShown));
    const part = line.slice(begin, begin + mostShown);
    return JSON.stringify(`${begin > 0 ? '…' : ''}${part}${begin + mostShown < line.length ? '…' : ''}`);
  };
  const lines: string[] = [];
  for (let n = at; n < at + shownLines; n++) {
    if (old[n] === fresh[n]) continue;
    if (old[n] !== undefined) lines.push(`- ${old[n]?.slice(0, 500)}`);
    if (fresh[n] !== undefined) lines.push(`+ ${fresh[n]?.slice(0, 500)}`);
  }
  return {
    inWords: `line ${at + 1} was ${cut(old[at], fresh[at])} and is ${cut(fresh[at], old[at])}`,
    lines: lines.join('\n'),
  };
}
