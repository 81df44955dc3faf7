/** Which workspace paths a node may write. */

/** Drops `.` and empty components, and a trailing slash. */
export const cleanPath = (path: string): string =>
  path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

type Entry = { readonly path: string; readonly folder: boolean };

/** Entries as written in `allowed_write_paths`. An absolute one allows nothing: paths are relative. */
const entries = (allowed: readonly string[]): Entry[] =>
  allowed
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '' && !entry.startsWith('/'))
    .map((entry) => ({ path: cleanPath(entry), folder: entry.endsWith('/') }));

/** The entry `./` is the whole workspace, and its path is empty. */
const isBelow = (path: string, folder: string): boolean => folder === '' || path.startsWith(`${folder}/`);

const covers = (entry: Entry, path: string): boolean =>
  path !== '' && (entry.folder ? isBelow(path, entry.path) : path === entry.path);

/** True when `path` (relative to the workspace) is an entry, or lies under an entry that ends in `/`. An entry
 *  `src` is the file `src` and no folder. An empty list allows nothing: the caller decides whether a node is
 *  restricted at all. */
export const inScope = (path: string, allowed: readonly string[]): boolean =>
  outsideScope([path], allowed).length === 0;

/** The changed paths that `allowed` does not cover, sorted by code unit, each once. */
export function outsideScope(changes: readonly string[], allowed: readonly string[]): string[] {
  const read = entries(allowed);
  return [...new Set(changes)]
    .filter((path) => path.startsWith('/') || !read.some((entry) => covers(entry, cleanPath(path))))
    .sort();
}

/** True when a folder may appear (or disappear): it leads to an entry, is one, or lies under an entry that ends in
 *  `/`. */
export function folderInScope(folder: string, allowed: readonly string[]): boolean {
  if (folder.startsWith('/')) return false;
  const path = cleanPath(folder);
  return entries(allowed).some(
    (entry) =>
      path === entry.path || isBelow(entry.path, path) || (entry.folder && isBelow(path, entry.path)),
  );
}

/** Whether a path leads into git's folder, at any depth: a repository may lie in any folder. On some systems `.GIT`
 *  is the same folder, and so are names with additional characters that the file system ignores; git adds none of
 *  them to a commit. */
export const namesGit = (path: string): boolean =>
  path.split('/').some((part) => /^(?:\.git|git~1)[ .]*(?::.*)?$/i.test(part.replace(leftOut, '')));
const leftOut = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
