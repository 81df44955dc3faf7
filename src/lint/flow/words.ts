/** Words that the findings about a graph as a whole share. */
import type { Diagnostic } from '../../model/diagnostic.ts';

/** At most `most` of the findings; the last of them says how many more there are. `names` tells of each. */
export function folded(
  found: readonly { readonly finding: Diagnostic; readonly name: string }[],
  most: number,
): readonly Diagnostic[] {
  const shown = found.slice(0, most).map(({ finding }) => finding);
  const rest = found.slice(most).map(({ name }) => name);
  const last = shown.at(-1);
  if (last === undefined || rest.length === 0) return shown;
  return [...shown.slice(0, -1), { ...last, message: `${last.message}; the same holds for ${listed(rest)}` }];
}

/** `"a", "b" and "c"`, with a number in place of what would be too many. */
export function listed(ids: readonly string[], most = 8): string {
  const quoted = ids.slice(0, most).map((id) => `"${id}"`);
  const more = ids.length - quoted.length;
  const all = more > 0 ? [...quoted, `${more} more`] : quoted;
  const last = all.pop() ?? '';
  return all.length === 0 ? last : `${all.join(', ')} and ${last}`;
}
