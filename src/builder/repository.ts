/** The repository that a work order is for: whether it may be built upon, and on which branch the commits go. */
import { existsSync, lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { quoteWord } from '../policy/words.ts';
import { checkoutInstead, type Environment, type Git, isGitsOwn, isNoTop, sourceGit } from '../system/git.ts';
import { isFolder } from '../system/read.ts';
import { branchProblem, branchTaken } from './deliver.ts';

export type Refused = { readonly problem: string; readonly fix: string };
const refuse = (problem: string, fix: string): Refused => ({ problem, fix });

export type Repository = {
  /** Top of the working tree, by its real path. */
  readonly top: string;
  /** Shared by every working tree of the repository. */
  readonly gitDir: string;
  readonly head: string;
  /** The branch that HEAD is on. */
  readonly branch: string;
};

/** Looks at `path`: a working tree with a commit, on a branch, with nothing changed or untracked. Only reads. */
export async function inspect(path: string, env: Environment): Promise<Repository | Refused> {
  if (!isFolder(path))
    return refuse(`the repository ${path} does not exist`, 'name a git repository with --repo');
  const git = sourceGit(path, env);
  // A path that holds a line end is one all the same: it is last.
  const found = await git.run(['rev-parse', '--is-inside-work-tree', '--show-toplevel']);
  const [, inside, top] = /^(\w+)(?:\n(.*))?$/s.exec(found.ok ? found.text : '') ?? [];
  if (!found.ok && found.missing) return refuse(found.why, 'install git');
  // What git says of its settings, or of whose a folder is, says nothing of whether there is a repository.
  if (!found.ok && !isNoTop(found.why))
    return refuse(
      `git cannot look at ${path}: ${found.why}`,
      'mend what git says, then the same command again',
    );
  const common = await commonGitDir(path, env);
  if (inside !== 'true' && (await isGitsOwn(path, env)))
    return refuse(`${path} has no files of a project: git keeps a repository in it`, checkoutInstead);
  if (inside !== 'true' || top === undefined || common === undefined)
    return refuse(
      `${path} is not inside a git working tree`,
      'run "git init" there and commit, or name another',
    );
  const root = await realpath(top);
  if (root !== (await realpath(path)))
    return refuse(`${path} is a folder of the repository ${root}, not its top`, `--repo ${quoteWord(root)}`);
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (!head.ok) return refuse(`${path} has no commit yet`, 'make a first commit');
  const branch = await branchInUse(git);
  if (branch === undefined)
    return refuse(`${path} has a detached HEAD`, 'switch to a branch: git switch BRANCH');
  const dirty = await dirtyPaths(git);
  if (dirty.length > 0) {
    const more = dirty.length > 10 ? ` and ${dirty.length - 10} more` : '';
    return refuse(
      `${path} is not clean: ${dirty.slice(0, 10).join(', ')}${more}`,
      'commit, stash or remove what has changed; ignored files do not count',
    );
  }
  return { top: root, gitDir: common, head: head.text, branch };
}

const inHand = [
  ['MERGE_HEAD', 'a merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase or a series of patches'],
] as const;

/** What has been begun in the working tree `top` and not ended: until then git moves it to no other commit, however clean
 *  it is. */
export async function underWay(git: Git, top: string): Promise<string | undefined> {
  const paths = await git.run(['rev-parse', ...inHand.flatMap(([name]) => ['--git-path', name])]);
  const found = paths.ok ? paths.text.split('\n').findIndex((path) => existsSync(resolve(top, path))) : -1;
  return inHand[found]?.[1];
}

/** What to do about it. */
export const endItFirst = 'end it or give it up first: git status tells how';

/** The branch that HEAD is on, undefined for a detached one. By its whole name: where a tag has the same one, git's short
 *  name for the branch is another. */
export async function branchInUse(git: Git): Promise<string | undefined> {
  const on = await git.run(['symbolic-ref', '--quiet', 'HEAD']);
  return on.ok ? on.text.replace(/^refs\/heads\//, '') : undefined;
}

/** The git folder that all working trees of the repository at `path` share; undefined where there is none. */
export async function commonGitDir(path: string, env: Environment): Promise<string | undefined> {
  if (!isFolder(path)) return undefined;
  const found = await sourceGit(path, env).run(['rev-parse', '--git-common-dir']);
  return found.ok ? realpath(resolve(path, found.text)) : undefined;
}

/** Changed and untracked paths; folders of tools like us do not count. With `each`, files of an untracked folder are named
 *  one by one in place of the folder. */
export async function dirtyPaths(git: Git, each = false): Promise<string[]> {
  const status = await git.list([
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--ignore-submodules=dirty',
    // Who has git be silent of them has them all the same, and the copy has them too.
    `--untracked-files=${each ? 'all' : 'normal'}`,
  ]);
  return status
    .map((line) => line.slice(3))
    .filter((path) => !/^\.(?:llmch_venv|factory)(?:\/|$)/.test(path));
}

/** Those of `paths` in the working tree `top` with changes that git is told not to look for (`git update-index
 *  --assume-unchanged` or `--skip-worktree`): a tree that holds them is clean. */
export async function overlookedIn(git: Git, top: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const found: string[] = [];
  // `H path`, in small letters for the one, `S` for the other.
  for (const line of await git.list(['--literal-pathspecs', 'ls-files', '-v', '-z', '--', ...paths])) {
    const path = line.slice(2);
    if (!/^[a-zS] /.test(line) || lstatSync(join(top, path), { throwIfNoEntry: false })?.isFile() !== true)
      continue;
    const now = await git.text(['hash-object', '--', path]);
    if (now !== (await git.text(['rev-parse', `:0:${path}`]))) found.push(path);
  }
  return found;
}

/** What was asked of the branch. */
export type BranchWish = {
  /** Undefined for one of our own naming. */
  readonly name: string | undefined;
  readonly reuse: boolean;
  readonly create: boolean;
  /** A revision to begin with, where the branch is new. */
  readonly commit: string | undefined;
  readonly plannerRun: string | undefined;
  readonly runId: string;
};

export type BranchChoice = {
  readonly branch: string;
  readonly mode: 'explicit' | 'auto';
  readonly existed: boolean;
  /** The commit that the order is built on. */
  readonly baseline: string;
  readonly source: 'HEAD' | 'commit-hash';
  /** What was asked for, resolved; an existing branch begins at its own tip all the same. */
  readonly requested: string;
};

/** The commit that `revision` names in the repository `top`; undefined where it names none. */
export async function commitNamed(
  top: string,
  revision: string,
  env: Environment,
): Promise<string | undefined> {
  const found = await sourceGit(top, env).run([
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${revision}^{commit}`,
  ]);
  return found.ok ? found.text : undefined;
}

/** Chooses the branch; nothing is made yet, so that what fails leaves no branch behind. */
export async function chooseBranch(
  repo: Repository,
  wish: BranchWish,
  env: Environment,
): Promise<BranchChoice | Refused> {
  const git = sourceGit(repo.top, env);
  let requested = repo.head;
  if (wish.commit !== undefined) {
    const found = await commitNamed(repo.top, wish.commit, env);
    if (found === undefined)
      return refuse(`there is no commit "${wish.commit}" in ${repo.top}`, 'see git log');
    requested = found;
  }
  const source = wish.commit === undefined ? 'HEAD' : 'commit-hash';
  const branch = wish.name ?? `factory/${wish.plannerRun ?? 'adhoc'}/${wish.runId}`;
  const bad = await branchProblem(git, branch);
  if (bad !== undefined) return refuse(bad, 'name another with --branch');
  const tip = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
  if (!tip.ok && wish.reuse)
    return refuse(`there is no branch "${branch}" to reuse`, 'leave out --reuse-branch to make it');
  if (tip.ok && wish.create)
    return refuse(`the branch "${branch}" exists already`, 'leave out --create-branch to go on with it');
  const taken = await branchTaken(git, repo.top, branch, true);
  if (taken !== undefined) return refuse(taken, 'name another branch with --branch');
  // Another branch moves all the same, and the tree stays where it is.
  const begun = branch === repo.branch ? await underWay(git, repo.top) : undefined;
  if (begun !== undefined)
    return refuse(
      `${repo.top} is amid ${begun} on "${branch}"`,
      `${endItFirst}, or name another branch with --branch`,
    );
  return {
    branch,
    mode: wish.name === undefined ? 'auto' : 'explicit',
    existed: tip.ok,
    baseline: tip.ok ? tip.text : requested,
    source,
    requested,
  };
}
