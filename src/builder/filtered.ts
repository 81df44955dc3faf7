/** Files that the user's own git converts by a program when they are committed (encryption, large files kept elsewhere).
 *  No program of a repository is ever run here, so an order's commit has them as they were written. */
import { join } from 'node:path';
import { removeTree } from '../system/files.ts';
import { type Environment, type Git, GitError } from '../system/git.ts';
import { makeTemporary, temporaryOf } from '../system/temporary.ts';

const how = ['-z', '--name-only', '--no-renames', '--diff-filter=d'];

/** A word about the files that `head` has anew since `base` and that a commit by hand would have converted; empty where
 *  there are none, or where git does not answer: it is asked of commits that are made. */
export async function unconverted(
  git: Git,
  { base, head }: { readonly base: string; readonly head: string },
  env: Environment,
): Promise<readonly string[]> {
  const files = await filtered(git, ['diff-tree', '-r', ...how, base, head], head, env);
  if (files.length === 0) return [];
  return [
    `no filter of your git was run: in the commit these files stand as they were written: ${few(files)}`,
  ];
}

/** Such files of the commits on `branch` that runs have made and that `remote` is not known to have: what a filter would have
 *  encrypted, a push lays open for good. In words; undefined where there are none. */
export async function unconvertedIn(
  git: Git,
  { branch, remote }: { readonly branch: string; readonly remote: string },
  env: Environment,
): Promise<string | undefined> {
  const head = `refs/heads/${branch}`;
  const ours = ['--format=', '--no-show-signature', '--extended-regexp', '--grep=^Factory-Run: '];
  const beyond = [head, '--not', `--remotes=${remote}`];
  const files = await filtered(git, ['log', ...how, ...ours, ...beyond], head, env);
  return files.length === 0 ? undefined : few(files);
}

const few = (files: readonly string[]): string =>
  `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;

/** Of the files that git lists, those for which a filter counts, with its name. By the attributes of `head`: in the working
 *  tree may stand others. */
async function filtered(
  git: Git,
  list: readonly string[],
  head: string,
  environment: Environment,
): Promise<readonly string[]> {
  const folder = await makeTemporary(temporaryOf(environment), 'factory-attributes');
  try {
    const paths = new Set((await git.list(list)).filter((path) => path !== ''));
    if (paths.size === 0) return [];
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    // A split index would leave its other half in the repository.
    await git.text(['-c', 'core.splitIndex=false', 'read-tree', head], { env });
    const input = [...paths].map((path) => `${path}\0`).join('');
    const told = await git.list(['check-attr', '-z', '--cached', '--stdin', 'filter'], { input, env });
    const found: string[] = [];
    const real = new Map<string, boolean>();
    // The path, the attribute, its value.
    for (let at = 0; at + 2 < told.length; at += 3) {
      const [path = '', , filter = ''] = told.slice(at, at + 3);
      if (!real.has(filter)) real.set(filter, await isFilter(git, filter));
      if (real.get(filter) === true) found.push(`${path} (${filter})`);
    }
    return found;
  } catch (error) {
    if (error instanceof GitError) return [];
    throw error;
  } finally {
    await removeTree(folder);
  }
}

/** Whether the user's settings say what the filter does; git itself overlooks one that has no program. */
async function isFilter(git: Git, name: string): Promise<boolean> {
  if (['unspecified', 'set', 'unset'].includes(name)) return false;
  for (const program of ['clean', 'process'])
    if ((await git.run(['config', '--get', `filter.${name}.${program}`])).ok) return true;
  return false;
}
