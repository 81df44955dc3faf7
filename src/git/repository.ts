/** The repository of a work order: whether it can be used, and which branch gets the commits. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { quoteWord } from '../core/policy/words.ts';
import { isFolder } from '../platform/files/read.ts';
import { checkoutInstead, type Git, isGitsOwn, isNoTop, sourceGit } from '../platform/git.ts';

/** Whether `head` is `commit`, or has it among its ancestors; false also where one of them is not in the repository. */
export const hasCommit = async (git: Git, head: string, commit: string): Promise<boolean> =>
  (await git.run(['merge-base', '--is-ancestor', commit, head])).ok;

const protectedBranches = new Set(['main', 'master']);

/** Why a branch may not have this name; undefined when it may. */
export async function branchProblem(git: Git, branch: string): Promise<string | undefined> {
  if (protectedBranches.has(branch)) return `"${branch}" is protected: use another branch`;
  const bad = branch.startsWith('-') || branch.startsWith('refs/') || branch === 'HEAD' || branch === '@';
  const valid = !bad && (await git.run(['check-ref-format', `refs/heads/${branch}`])).ok;
  return valid ? undefined : `"${branch}" is not a valid branch name`;
}

/** Why a branch of this name cannot be created or moved; undefined when it can. `mayBeCurrent`: the working tree that `git`
 *  works in may have it checked out. */
export async function branchUse(
  git: Git,
  branch: string,
  { mayBeCurrent }: { readonly mayBeCurrent: boolean },
): Promise<string | undefined> {
  const ref = `refs/heads/${branch}`;
  const trees = (await git.text(['worktree', 'list', '--porcelain']))
    .split('\n\n')
    .map((text) => text.split('\n'))
    .filter((lines) => lines.includes(`branch ${ref}`));
  const current = await git.run(['symbolic-ref', '--quiet', 'HEAD']);
  const isCurrent = current.ok && current.text === ref;
  if (trees.length > (mayBeCurrent && isCurrent ? 1 : 0)) {
    const folder = (trees.at(-1)?.[0] ?? '').slice('worktree '.length);
    return `the branch "${branch}" is checked out in a working tree: ${folder}`;
  }
  const branches = (await git.text(['for-each-ref', '--format=%(refname) %(symref)', 'refs/heads']))
    .split('\n')
    .map((line) => line.split(' '));
  // Git would move the branch that it refers to.
  const [, target = ''] = branches.find(([name]) => name === ref) ?? [];
  if (target !== '') return `the branch "${branch}" is a symbolic ref to ${target}`;
  const other = branches
    .map(([name = '']) => name)
    .find((name) => ref.startsWith(`${name}/`) || name.startsWith(`${ref}/`));
  if (other === undefined) return undefined;
  return `the branch "${other.slice('refs/heads/'.length)}" exists, so git cannot have one named "${branch}"`;
}

export type RefusedRepository = { readonly problem: string; readonly fix: string };
const refuse = (problem: string, fix: string): RefusedRepository => ({ problem, fix });

export type Repository = {
  /** Top of the working tree, by its real path. */
  readonly top: string;
  /** Shared by every working tree of the repository. */
  readonly gitDir: string;
  readonly head: string;
  /** The branch that HEAD is on. */
  readonly branch: string;
};

/** Checks that `path` is the top of a working tree with a commit, on a branch, and with nothing changed or untracked. */
export async function inspect(path: string, env: Environment): Promise<Repository | RefusedRepository> {
  if (!isFolder(path))
    return refuse(`the repository ${path} does not exist`, 'name a git repository with --repo');
  const git = sourceGit(path, env);
  // The path comes last and may contain a line end.
  const found = await git.run(['rev-parse', '--is-inside-work-tree', '--show-toplevel']);
  const [, inside, top] = /^(\w+)(?:\n(.*))?$/s.exec(found.ok ? found.text : '') ?? [];
  if (!found.ok && found.missing) return refuse(found.why, 'install git');
  // Wrong settings or a wrong owner do not mean that there is no repository.
  if (!found.ok && !isNoTop(found.why))
    return refuse(`git cannot read ${path}: ${found.why}`, 'fix that, then run the same command again');
  const common = await commonGitDir(path, env);
  if (inside !== 'true' && (await isGitsOwn(path, env)))
    return refuse(`${path} is not a working tree: it is the folder of a git repository`, checkoutInstead);
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

/** The branch that HEAD is on, undefined for a detached one. Git's short name differs where a tag has the same name. */
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

/** Changed and untracked paths, except in `.factory` and `.llmch_venv`. `each` lists the files of an untracked directory
 *  instead of the directory. */
export async function dirtyPaths(git: Git, each = false): Promise<string[]> {
  const status = await git.list([
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--ignore-submodules=dirty',
    // Whatever `status.showUntrackedFiles` says: the copy contains them.
    `--untracked-files=${each ? 'all' : 'normal'}`,
  ]);
  return status
    .map((line) => line.slice(3))
    .filter((path) => !/^\.(?:llmch_venv|factory)(?:\/|$)/.test(path));
}

/** Those of `paths` that exist in the working tree `top` and whose changes git is set to ignore (`git update-index
 *  --assume-unchanged` or `--skip-worktree`). */
export async function ignoredChanges(git: Git, top: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  // `H path`; a small letter for the one, `S` for the other.
  const lines = await git.list(['--literal-pathspecs', 'ls-files', '-v', '-z', '--', ...paths]);
  return lines
    .filter((line) => /^[a-zS] /.test(line))
    .map((line) => line.slice(2))
    .filter((path) => existsSync(join(top, path)));
}

export type BranchRequest = {
  /** Undefined for a generated name. */
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
  /** The commit that the order is built on: the tip of an existing branch, else `requested`. */
  readonly baseline: string;
  readonly source: 'HEAD' | 'commit-hash';
  readonly requested: string;
};

/** The commit that `revision` names; undefined where it names none. */
export async function commitNamed(git: Git, revision: string): Promise<string | undefined> {
  const options = ['--verify', '--quiet', '--end-of-options'];
  const found = await git.run(['rev-parse', ...options, `${revision}^{commit}`]);
  return found.ok ? found.text : undefined;
}

/** Chooses the branch, and creates nothing. */
export async function chooseBranch(
  repo: Repository,
  request: BranchRequest,
  env: Environment,
): Promise<BranchChoice | RefusedRepository> {
  const git = sourceGit(repo.top, env);
  const { name, commit } = request;
  const requested = commit === undefined ? repo.head : await commitNamed(git, commit);
  if (requested === undefined) return refuse(`there is no commit "${commit}" in ${repo.top}`, 'see git log');
  const branch = name ?? `factory/${request.plannerRun ?? 'adhoc'}/${request.runId}`;
  const bad = await branchProblem(git, branch);
  if (bad !== undefined) return refuse(bad, 'name another with --branch');
  const tip = await commitNamed(git, `refs/heads/${branch}`);
  if (tip === undefined && request.reuse)
    return refuse(`there is no branch "${branch}" to reuse`, 'leave out --reuse-branch to create it');
  if (tip !== undefined && request.create)
    return refuse(`the branch "${branch}" exists already`, 'leave out --create-branch to use it');
  const inUse = await branchUse(git, branch, { mayBeCurrent: true });
  if (inUse !== undefined) return refuse(inUse, 'name another branch with --branch');
  return {
    branch,
    mode: name === undefined ? 'auto' : 'explicit',
    existed: tip !== undefined,
    baseline: tip ?? requested,
    source: commit === undefined ? 'HEAD' : 'commit-hash',
    requested,
  };
}
