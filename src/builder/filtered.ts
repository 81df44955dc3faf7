/** Files that the user's own git converts by a program when they are committed (encryption, large files kept elsewhere).
 *  No program of a repository is ever run here, so an order's commit has them as they were written. */
import { join } from 'node:path';
import { diskTrouble } from '../system/disk-trouble.ts';
import { type Environment, type Git, GitError } from '../system/git.ts';
import { removeTree } from '../system/remove.ts';
import { makeTemporary, temporaryOf } from '../system/temporary.ts';

const how = ['-z', '--raw', '--no-abbrev', '--no-renames', '--diff-filter=d'];

/** Words about the files that `head` has anew since `base` and that a commit by hand would have converted; none where there
 *  are none, or where git does not answer: it is asked of commits that are made. */
export async function unconverted(
  git: Git,
  { base, head }: { readonly base: string; readonly head: string },
  env: Environment,
): Promise<readonly string[]> {
  const list = ['diff-tree', '-r', ...how, base, head];
  const ask = (act: Ask) =>
    asked(git, list, head, env, act).catch((error: unknown) => {
      // What is made stands, whether there is room for this question or not.
      if (error instanceof GitError || diskTrouble(error) !== undefined) return [];
      throw error;
    });
  const files = await ask((paths, index) => filtered(git, paths, index));
  const ends = await ask((paths, index) => otherEnds(git, paths, base, index));
  return [
    ...(files.length === 0
      ? []
      : [
          `no filter of your git was run: in the commit these files stand as they were written: ${few(files)}`,
        ]),
    ...(ends.length === 0
      ? []
      : [
          `line ends follow .gitattributes, and not the core.autocrlf of your git: in the commit these files have CRLF: ${few(ends)}`,
        ]),
  ];
}

/** Such files of the commits on `branch` that runs have made and that `remote` is not known to have: what a filter would have
 *  encrypted, a push lays open for good. In words; undefined where there are none. Rejects with a GitError where git does not
 *  answer. */
export async function unconvertedIn(
  git: Git,
  { branch, remote }: { readonly branch: string; readonly remote: string },
  env: Environment,
): Promise<string | undefined> {
  const head = `refs/heads/${branch}`;
  const search = ['--encoding=UTF-8', '--extended-regexp', '--grep=^Factory-Run: '];
  const ours = ['--format=', '--no-show-signature', ...search];
  const beyond = [head, '--not', `--remotes=${remote}`];
  const list = ['log', ...how, ...ours, ...beyond];
  const files = await asked(git, list, head, env, (paths, index) => filtered(git, paths, index));
  return files.length === 0 ? undefined : few(files);
}

const few = (files: readonly string[]): string =>
  `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;

type Index = { readonly GIT_INDEX_FILE: string };
type Ask = (paths: readonly string[], index: Index) => Promise<readonly string[]>;

/** Does `act` with the paths that git lists and an index of `head`: in the working tree may stand another commit, with other
 *  attributes. */
async function asked(
  git: Git,
  list: readonly string[],
  head: string,
  environment: Environment,
  act: Ask,
): Promise<readonly string[]> {
  let folder: string | undefined;
  try {
    const paths = written(await git.list(list));
    if (paths.size === 0) return [];
    folder = await makeTemporary(temporaryOf(environment), 'factory-attributes');
    const index = { GIT_INDEX_FILE: join(folder, 'index') };
    await readTree(git, head, index);
    return await act([...paths], index);
  } finally {
    if (folder !== undefined) await removeTree(folder);
  }
}

/** The files among changes as git tells them, whose contents are others: of links, of other repositories and at a change of
 *  mode nothing is ever converted. */
function written(told: readonly string[]): ReadonlySet<string> {
  const paths = new Set<string>();
  // `:100644 100755 <hash before> <hash after> M`, then the path.
  for (let at = 0; at + 1 < told.length; at += 2) {
    const [meta = '', path = ''] = told.slice(at, at + 2);
    const [, mode = '', was, is] = meta.split(' ');
    if (mode.startsWith('100') && was !== is) paths.add(path);
  }
  return paths;
}

/** A split index would leave its other half in the repository. */
const readTree = (git: Git, commit: string, env: Index): Promise<string> =>
  git.text(['-c', 'core.splitIndex=false', 'read-tree', commit], { env });

/** Those for which a filter counts, with its name. */
async function filtered(git: Git, paths: readonly string[], env: Index): Promise<readonly string[]> {
  const input = paths.map((path) => `${path}\0`).join('');
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
}

/** Those that have CRLF and would have got LF, since no attribute says otherwise and they did not have it before. */
async function otherEnds(
  git: Git,
  paths: readonly string[],
  base: string,
  env: Index,
): Promise<readonly string[]> {
  const wish = await git.run(['config', '--type=bool-or-str', '--get', 'core.autocrlf']);
  if (!wish.ok || !['true', 'input'].includes(wish.text)) return [];
  const now = await withCrlf(git, paths, env);
  if (now.length === 0) return [];
  await readTree(git, base, env);
  const before = new Set(await withCrlf(git, now, env));
  return now.filter((path) => !before.has(path));
}

/** Paths that one call of git is given. */
const atOnce = 200;

async function withCrlf(git: Git, paths: readonly string[], env: Index): Promise<readonly string[]> {
  const found: string[] = [];
  for (let at = 0; at < paths.length; at += atOnce) {
    const some = ['--', ...paths.slice(at, at + atOnce)];
    // `i/crlf  w/lf    attr/                 <tab>path`
    for (const line of await git.list(['--literal-pathspecs', 'ls-files', '--eol', '-z', ...some], { env }))
      if (/^i\/(?:crlf|mixed) +w\/\S* +attr\/ *\t/.test(line)) found.push(line.slice(line.indexOf('\t') + 1));
  }
  return found;
}

/** Whether the user's settings say what the filter does; git itself overlooks one that has no program. */
async function isFilter(git: Git, name: string): Promise<boolean> {
  if (['unspecified', 'set', 'unset'].includes(name)) return false;
  for (const program of ['clean', 'process'])
    if ((await git.text(['config', '--default', '', '--get', `filter.${name}.${program}`])) !== '')
      return true;
  return false;
}
