/** Which paths of a workspace belong to the judge, and not to the builder. Pure. */

/** What is sealed where nobody says otherwise. */
export const usualHoldout = 'scripts/scenarios/';

/** Names the sealed paths, with commas between, to a stage in whose workspace they are: what lists files for a model
 *  leaves them out. */
export const holdoutVariable = 'FACTORY_HOLDOUT';

/** What the engine keeps in a workspace, and what git does: neither can be sealed. */
const kept: ReadonlySet<string> = new Set(['.git', '.factory']);

/** Drops `.` and empty components, and a trailing slash. */
const clean = (word: string): string =>
  word
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

/** The sealed paths that words of `holdout` name, sorted as they were written, each once and none below another; or why
 *  one of them cannot be sealed. `listed` answers how the workdir spells a path. */
export function holdoutPaths(
  words: readonly string[],
  listed: (path: string) => string = (path) => path,
): { readonly paths: readonly string[] } | { readonly problem: string } {
  const paths: string[] = [];
  for (const word of words) {
    const path = clean(word);
    if (path === '') return { problem: `"${word}" is the whole workspace: nothing would be left to work on` };
    const own = path
      .toLowerCase()
      .split('/')
      .find((part) => kept.has(part));
    if (own !== undefined) return { problem: `"${word}" belongs to ${own.slice(1)}, and cannot be sealed` };
    paths.push(listed(path));
  }
  const topmost = paths.filter((path) => !paths.some((other) => other !== path && isAtOrBelow(path, other)));
  return { paths: [...new Set(topmost)] };
}

/** Whether `path` is `folder` or lies in it; both relative to the workspace. */
export const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** Whether a path is one of the sealed ones or lies below one. */
export const isSealedPath = (path: string, sealed: readonly string[]): boolean =>
  sealed.some((one) => isAtOrBelow(path, one));
