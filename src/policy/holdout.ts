/** Which paths of a workspace are holdouts, hidden from the builder. Pure. */

/** The default holdout path. */
export const usualHoldout = 'scripts/scenarios/';

/** The variable that lists the holdout paths, separated by commas, for a node whose workspace has them: file
 *  listings for a model leave them out. */
export const holdoutVariable = 'FACTORY_HOLDOUT';

/** Folders of the engine and of git in a workspace: neither can be a holdout. */
const kept: ReadonlySet<string> = new Set(['.git', '.factory']);

/** Drops `.` and empty components, and a trailing slash. */
const clean = (word: string): string =>
  word
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

/** The holdout paths in `holdout`, sorted as they were written, each once and none below another; or why one of
 *  them cannot be sealed. `listed` returns how the workdir spells a path. */
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

/** Whether a path is a holdout path or lies below one. */
export const isSealedPath = (path: string, sealed: readonly string[]): boolean =>
  sealed.some((one) => isAtOrBelow(path, one));
