/** What runs tests, told to run fewer of them or to forget what they find: all that is looked for by lines. */
import { narrowed } from './narrowed.ts';
import { silenced } from './silenced.ts';
import type { FileChange, Tampering } from './tampering.ts';

export function quietIn(
  changes: readonly FileChange[],
  mayRewrite: (path: string) => boolean,
): readonly Tampering[] {
  const spread = changes.map(spreadOut);
  return [...silenced(spread, mayRewrite), ...narrowed(spread, mayRewrite)].map((finding) => ({
    ...finding,
    line: lineOf(finding, changes, spread),
  }));
}

/** With one setting a line, as npm writes them: an agent may have written all of them in one. */
function spreadOut(change: FileChange): FileChange {
  const { path, before, after } = change;
  if (!/(?:^|\/)package\.json$/.test(path) || before === undefined || after === undefined) return change;
  try {
    const [was, is] = [before, after].map((text) => `${JSON.stringify(JSON.parse(text), null, 2)}\n`);
    return was === undefined || is === undefined ? change : { path, before: was, after: is };
  } catch {
    // Not JSON: looked at as it is.
    return change;
  }
}

function lineOf(
  { path, line, after }: Tampering,
  changes: readonly FileChange[],
  spread: readonly FileChange[],
): number {
  const nth = spread.findIndex((one) => one.path === path);
  if (spread[nth] === changes[nth]) return line;
  const lines = (changes[nth]?.after ?? '').split('\n');
  return lines.findIndex((one) => one.includes(after.replace(/,$/, ''))) + 1 || 1;
}
