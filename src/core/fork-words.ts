/** What a fork has otherwise than the run that it began with, in words. Pure. */

type Changed = { readonly changed: readonly string[]; readonly set?: readonly string[] };

/** What a fork has otherwise than the run that it began with, and what it or a fork before it has set: `check.tool_command`, `pipeline`,
 *  `var spec`. */
export const forkChanges = ({ changed, set = [] }: Changed): readonly string[] => [
  ...new Set([...set, ...changed.map((what) => what.replace(/^set /, ''))]),
];

const mostChanges = 4;

/** `with other check.tool_command, pipeline`; empty if nothing is. */
export function changeWords(changes: readonly string[]): string {
  if (changes.length === 0) return '';
  const more = changes.length - mostChanges;
  const named = changes.slice(0, mostChanges).map((what) => (what === 'caps' ? 'limits' : what));
  return `with other ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
