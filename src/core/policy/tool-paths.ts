/** Which workspace paths the tools of a model may see and write. Pure: links are resolved where a path is opened,
 *  and the resolved path is checked here as well. */
import { folded } from '../records/names.ts';
import { cleanPath, inScope, namesGit } from './paths.ts';

/** Entries are paths relative to the workspace; each includes everything below it. */
export type ToolScope = {
  /** Neither visible nor writable. */
  readonly hidden: readonly string[];
  /** When given, only these, everything below them and the folders above them are visible. */
  readonly only?: readonly string[];
  /** As in `allowed_write_paths`; undefined where everything may be written. */
  readonly writable?: readonly string[];
};

/** Characters of the longest path that a file system takes. */
const longest = 4096;

/** The path relative to the workspace, without `.` and empty components ('' is the workspace itself); or why it is
 *  not valid. */
export function toolPath(typed: string): { readonly path: string } | { readonly problem: string } {
  const problem = (why: string) => ({
    problem: `${shown(typed)} ${why}: name paths relative to the workspace, such as "src/main.ts"`,
  });
  if (typed.includes('\0')) return problem('has a NUL in it');
  if (typed.length > longest) return problem(`is longer than ${longest} characters`);
  if (typed.startsWith('/')) return problem('is absolute');
  if (typed.startsWith('~')) return problem('names a home folder');
  const parts = typed.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? problem('has ".." in it') : { path: parts.join('/') };
}

/** Why a path (as `toolPath` returns it) may not be read, or undefined. */
export function sightProblem(path: string, scope: ToolScope): string | undefined {
  if (namesGit(path)) return `${shown(path)} belongs to git, and no tool touches it`;
  if (isHidden(path, scope)) return `${shown(path)} is out of the read scope of this node`;
  if (scope.only === undefined || path === '') return undefined;
  const seen = scope.only.map(cleanPath).some((one) => isBelow(path, one) || isBelow(one, path));
  return seen ? undefined : `${shown(path)} is out of the read scope of this node`;
}

/** Why a path may not be written, or undefined. */
export function writeProblem(path: string, scope: ToolScope): string | undefined {
  if (path === '') return 'the path is empty: name a file';
  if (namesGit(path)) return `${shown(path)} belongs to git, and no tool touches it`;
  if (isHidden(path, scope)) return `${shown(path)} is out of the scope of this node`;
  const { writable } = scope;
  if (writable !== undefined && !inScope(path, writable)) {
    const where =
      writable.length === 0 ? 'this node may write nothing' : `this node may write ${writable.join(', ')}`;
    return `${shown(path)} is not in allowed_write_paths: ${where}`;
  }
  // A node that is meant to write the engine's files there lists them explicitly.
  const named = (writable ?? []).some((entry) => isOwn(cleanPath(entry)));
  if (isOwn(path) && !named)
    return `${shown(path)} belongs to the factory, and allowed_write_paths does not name it`;
  return undefined;
}

const isOwn = (path: string): boolean => path.split('/')[0]?.toLowerCase() === '.factory';

// Some file systems ignore case and the Unicode form of accents; hiding more than was named does no harm.
const isHidden = (path: string, { hidden }: ToolScope): boolean =>
  hidden.map(cleanPath).some((one) => one !== '' && isBelow(folded(path), folded(one)));

/** `folder` itself counts. */
const isBelow = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);

/** A path as messages show it. */
function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 199)}…` : path);
}
