/** Limits how many findings with one code a terminal shows. */
import type { Diagnostic } from '../model/diagnostic.ts';

/** Findings of one code that a terminal shows. */
const most = 20;

/** For a terminal the first findings of each code, and how many more there are, in a line for each; a file, a pipe and
 *  `--json` get them all. */
export function fewOfEach(
  found: readonly Diagnostic[],
  toTerminal: boolean,
): { readonly told: readonly Diagnostic[]; readonly more: readonly string[] } {
  if (!toTerminal || found.length <= most) return { told: found, more: [] };
  const seen = new Map<string, number>();
  const told = found.filter(({ code }) => {
    const count = (seen.get(code) ?? 0) + 1;
    seen.set(code, count);
    return count <= most;
  });
  const more = [...seen].flatMap(([code, count]) =>
    count > most ? [`and ${count - most} more of ${code} (a file or a pipe gets all of them)`] : [],
  );
  return { told, more };
}
