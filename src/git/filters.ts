/** Files that the user's git converts by a program when it commits them (encryption, large files stored elsewhere). No program
 *  of a repository is run here, so the commit of an order has them as they were written. */
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { diskError } from '../platform/files/disk-error.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { type Git, GitError } from '../platform/git.ts';

const raw = ['-z', '--raw', '--no-abbrev', '--no-renames', '--diff-filter=d'];

/** A warning about the files changed since `base` that a commit by hand would have converted; none where there are none, or
 *  where git does not answer: the commits exist already. */
export async function filterWarning(
  git: Git,
  { base, head }: { readonly base: string; readonly head: string },
  env: Environment,
): Promise<readonly string[]> {
  try {
    const files = await filteredFiles(git, ['diff-tree', '-r', ...raw, base, head], head, env);
    if (files.length === 0) return [];
    return [
      `no filter of your git was run: the commit has these files as they were written: ${fewFiles(files)}`,
    ];
  } catch (error) {
    if (error instanceof GitError || diskError(error) !== undefined) return [];
    throw error;
  }
}

/** Such files in the commits on `branch` that runs have made and that `remote` is not known to have: a push would publish
 *  what a filter would have encrypted. In words; undefined where there are none. Rejects with a GitError where git does not
 *  answer. */
export async function filteredOnBranch(
  git: Git,
  { branch, remote }: { readonly branch: string; readonly remote: string },
  env: Environment,
): Promise<string | undefined> {
  const head = `refs/heads/${branch}`;
  const search = ['--encoding=UTF-8', '--extended-regexp', '--grep=^Factory-Run: '];
  const ours = ['--format=', '--no-show-signature', ...search];
  const list = ['log', ...raw, ...ours, head, '--not', `--remotes=${remote}`];
  const files = await filteredFiles(git, list, head, env);
  return files.length === 0 ? undefined : fewFiles(files);
}

/** The first of these files, in words. */
export const fewFiles = (files: readonly string[]): string =>
  `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;

/** Of the files in a raw listing of changes those to which a filter applies by the attributes of `head`, with its name: the
 *  working tree may be at another commit. */
async function filteredFiles(
  git: Git,
  list: readonly string[],
  head: string,
  environment: Environment,
): Promise<readonly string[]> {
  const paths = changedFiles(await git.list(list));
  if (paths.size === 0) return [];
  const folder = await makeTemporary(temporaryOf(environment), 'factory-attributes');
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    // A split index would leave its other half in the repository.
    await git.text(['-c', 'core.splitIndex=false', 'read-tree', head], { env });
    const input = [...paths].map((path) => `${path}\0`).join('');
    const values = await git.list(['check-attr', '-z', '--cached', '--stdin', 'filter'], { input, env });
    const found: string[] = [];
    const known = new Map<string, boolean>();
    // The path, the attribute, its value.
    for (let at = 0; at + 2 < values.length; at += 3) {
      const [path = '', , name = ''] = values.slice(at, at + 3);
      if (!known.has(name)) known.set(name, await isFilter(git, name));
      if (known.get(name) === true) found.push(`${path} (${name})`);
    }
    return found;
  } finally {
    await removeTree(folder);
  }
}

/** Files with new content. Symbolic links, submodules and changes of mode alone are never converted. */
function changedFiles(entries: readonly string[]): ReadonlySet<string> {
  const paths = new Set<string>();
  // `:100644 100755 <old> <new> M`, then the path.
  for (let at = 0; at + 1 < entries.length; at += 2) {
    const [meta = '', path = ''] = entries.slice(at, at + 2);
    const [, mode = '', before, after] = meta.split(' ');
    if (mode.startsWith('100') && before !== after) paths.add(path);
  }
  return paths;
}

/** Whether the settings have a program for the filter; git itself ignores one without. */
async function isFilter(git: Git, name: string): Promise<boolean> {
  if (['unspecified', 'set', 'unset'].includes(name)) return false;
  for (const program of ['clean', 'process'])
    if ((await git.text(['config', '--default', '', '--get', `filter.${name}.${program}`])) !== '')
      return true;
  return false;
}
