/** Files that the user's own git converts by a program when they are committed (encryption, large files kept elsewhere).
 *  No program of a repository is ever run here, so an order's commit has them as they were written. */
import type { Git } from '../system/git.ts';

/** The files that `head` has anew since `base` and that a commit by hand would have converted, each with its filter's name. */
export async function unconverted(
  git: Git,
  base: string,
  head: string,
): Promise<readonly { readonly path: string; readonly filter: string }[]> {
  const how = ['-r', '-z', '--name-only', '--no-renames', '--diff-filter=d'];
  const paths = await git.list(['diff-tree', ...how, base, head]);
  const told = await git.list(['check-attr', '-z', '--stdin', 'filter'], {
    input: paths.map((path) => `${path}\0`).join(''),
  });
  const found: { path: string; filter: string }[] = [];
  const real = new Map<string, boolean>();
  // The path, the attribute, its value.
  for (let at = 0; at + 2 < told.length; at += 3) {
    const [path = '', , filter = ''] = told.slice(at, at + 3);
    if (!real.has(filter)) real.set(filter, await isFilter(git, filter));
    if (real.get(filter) === true) found.push({ path, filter });
  }
  return found;
}

/** Whether the user's settings say what the filter does; git itself overlooks one that has no program. */
async function isFilter(git: Git, name: string): Promise<boolean> {
  if (['unspecified', 'set', 'unset'].includes(name)) return false;
  for (const program of ['clean', 'process'])
    if ((await git.run(['config', '--get', `filter.${name}.${program}`])).ok) return true;
  return false;
}
