/** Puts the commits of a run where people want them: on a branch of the source, or into a new repository. */
import { chmod, copyFile, readdir, rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { historyLayout } from '../core/records/layout.ts';
import { isDisks, tellsOfDisk } from '../platform/files/disk-error.ts';
import { settleTree } from '../platform/files/flush-tree.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { isCode, isMissing, makeFolder, syncFolder, systemWords } from '../platform/files/write.ts';
import { type Git, GitError, makeRepository, ownGit, sourceGit } from '../platform/git.ts';
import { historyGit } from './history.ts';
import { branchUse, commitNamed, hasCommit, type RefusedRepository } from './repository.ts';

const refuse = (problem: string, fix: string): RefusedRepository => ({ problem, fix });

/** Creates `branch` in the repository `source` at `head`, or fast-forwards it (`reuse`). The working tree, the index and all
 *  other branches stay unchanged. */
export async function deliverBranch(options: {
  readonly historyDir: string;
  readonly source: string;
  readonly branch: string;
  readonly base: string | null;
  readonly head: string;
  readonly reuse: boolean;
  readonly env: Environment;
}): Promise<RefusedRepository | undefined> {
  const { source, branch, base, head } = options;
  const git = sourceGit(source, options.env);
  const ref = `refs/heads/${branch}`;
  const fix = 'pass --branch NAME for another one';
  const tip = async () => {
    const found = await git.run(['rev-parse', '--verify', '--quiet', ref]);
    return found.ok ? found.text : undefined;
  };
  const before = await tip();
  if (before === head) return undefined;
  if (before !== undefined && !options.reuse)
    return refuse(`the branch "${branch}" exists in ${source}`, fix);
  const problem = await bringCommits(git, options, { mayBeCurrent: false });
  if (problem === 'gone')
    return refuse(
      `${source} no longer has the commit ${base} with which the run began`,
      'pass --to DIR for a new repository',
    );
  if (problem !== undefined) return refuse(problem.inUse, fix);
  return moveBranch(git, { branch, before, head });
}

/** Fast-forwards a branch of `source` to a commit that is there. */
export async function forwardBranch(
  source: string,
  { branch, head }: { readonly branch: string; readonly head: string },
  env: Environment,
): Promise<RefusedRepository | undefined> {
  const git = sourceGit(source, env);
  const before = await commitNamed(git, `refs/heads/${branch}`);
  if (before === head) return undefined;
  const inUse = await branchUse(git, branch, { mayBeCurrent: false });
  if (inUse !== undefined) return refuse(inUse, 'switch to another branch there');
  return moveBranch(git, { branch, before, head });
}

async function moveBranch(
  git: Git,
  to: {
    readonly branch: string;
    readonly before: string | undefined;
    readonly head: string;
  },
): Promise<RefusedRepository | undefined> {
  const { branch, before, head } = to;
  const fix = 'pass --branch NAME for another one';
  if (before !== undefined && !(await hasCommit(git, head, before)))
    return refuse(`the branch "${branch}" has commits that the run does not have`, fix);
  // The old value (zeros for none) is compared, so that no other move is undone.
  const old = before ?? '0'.repeat(head.length);
  const ref = `refs/heads/${branch}`;
  const moved = await git.run(['update-ref', '-m', 'factory deliver', '--no-deref', ref, head, old]);
  if (moved.ok) return undefined;
  return refuse(`the branch "${branch}" could not be moved: ${moved.why}`, fix);
}

/** Brings the commits from `base` to `head` into the repository of `git`, for `branch`. Answers why that branch cannot have
 *  them: it is taken (see `branchTaken`), or the commit `base` is gone; git would accept commits without their parents. */
export async function bringCommits(
  git: Git,
  options: {
    readonly historyDir: string;
    readonly branch: string;
    readonly base: string | null;
    readonly head: string;
    readonly env: Environment;
  },
  { mayBeCurrent }: { readonly mayBeCurrent: boolean },
): Promise<'gone' | { readonly inUse: string } | undefined> {
  const { branch, base, head } = options;
  const inUse = await branchUse(git, branch, { mayBeCurrent });
  if (inUse !== undefined) return { inUse };
  if (base !== null && !(await git.run(['cat-file', '-e', `${base}^{commit}`])).ok) return 'gone';
  if (head !== base) await bring(options, base === null ? [] : [base], git);
  return undefined;
}

/** Packs what `head` has beyond `without` and puts it into another repository's objects. */
const bring = (
  from: { readonly historyDir: string; readonly head: string; readonly env: Environment },
  without: readonly string[],
  into: Git,
): Promise<void> =>
  copyObjects(
    historyGit(from.historyDir, from.env),
    [from.head, ...without.map((commit) => `^${commit}`)],
    into,
    from.env,
  );

/** Packs what `revisions` name and puts it into another repository's objects. */
export async function copyObjects(from: Git, revisions: readonly string[], into: Git, env: Environment) {
  const folder = await makeTemporary(temporaryOf(env), 'factory-pack');
  try {
    const input = `${revisions.join('\n')}\n`;
    // Not by name: git would rename the pack out of the source repository, which may be on another device.
    const pack = join(folder, 'pack');
    await from.text(['pack-objects', '--quiet', '--revs', '--stdout'], { input, outputFile: pack });
    await into.text(['index-pack', '--stdin'], { inputFile: pack });
  } finally {
    await removeTree(folder);
  }
}

type FolderDelivery = {
  readonly historyDir: string;
  readonly source: string | undefined;
  readonly branch: string;
  readonly base: string | null;
  readonly head: string;
  readonly env: Environment;
};

/** Creates a repository at `to`, which must not exist or be an empty directory, with `branch` checked out at `head`. It
 *  appears whole or not at all. `whole`: with all of the history; a source that cannot give it leaves out what is older than
 *  the commit with which the run began. */
export async function deliverFolder(
  options: FolderDelivery & { readonly to: string },
): Promise<{ readonly whole: boolean } | RefusedRepository> {
  const notEmpty = await occupied(options.to);
  if (notEmpty !== undefined)
    return refuse(`${options.to} ${notEmpty}`, 'name a directory that does not exist');
  const { to } = options;
  let temporary: string | undefined;
  try {
    makeFolder(dirname(to));
    temporary = await makeTemporary(dirname(to), `.${basename(to)}.factory`);
    const made = join(temporary, 'repository');
    const whole = await createRepository(made, options);
    await settleTree(made);
    const empty = await stat(to).catch(() => undefined);
    if (empty !== undefined) await chmod(made, empty.mode & 0o7777);
    await rename(made, to);
    await syncFolder(dirname(to));
    return { whole };
  } catch (error) {
    if (isDisks(error) || !(error instanceof Error && 'code' in error)) throw error;
    return refuse(`${options.to} cannot be created: ${systemWords(error)}`, 'name another directory');
  } finally {
    if (temporary !== undefined) await removeTree(temporary);
  }
}

/** Answers with whether it has all of the history. */
async function createRepository(
  folder: string,
  { historyDir, source, branch, base, head, env }: FolderDelivery,
): Promise<boolean> {
  const { settings } = historyLayout(historyDir);
  await makeRepository(folder, {
    ...{ settingsFile: settings, bare: false, branch, env },
    sha256: head.length === 64,
  });
  const git = ownGit({ cwd: folder, settingsFile: settings, env });
  const past = base !== null && (await bringPast(source, base, git, env));
  await bring({ historyDir, head, env }, past ? [base] : [], git);
  const whole = past || base === null || (await isRoot(historyGit(historyDir, env), base));
  if (!whole) await copyFile(join(historyDir, 'shallow'), join(folder, '.git', 'shallow'));
  await git.text(['update-ref', `refs/heads/${branch}`, head]);
  await git.text(['read-tree', '-u', '--reset', head]);
  return whole;
}

async function occupied(path: string): Promise<string | undefined> {
  try {
    return (await readdir(path)).length === 0 ? undefined : 'exists and is not empty';
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    return isMissing(error) ? 'exists and is not a directory' : `cannot be read: ${systemWords(error)}`;
  }
}

/** Whether the commit has no parent, wherever a shallow history ends. */
const isRoot = async (git: Git, commit: string): Promise<boolean> =>
  !/^parent /m.test((await git.text(['cat-file', 'commit', commit])).split('\n\n', 1)[0] ?? '');

/** Copies the source's history up to `base`; false when the source cannot give all of it. */
async function bringPast(
  source: string | undefined,
  base: string,
  into: Git,
  env: Environment,
): Promise<boolean> {
  const isThere = source !== undefined && (await stat(source).catch(() => undefined))?.isDirectory() === true;
  if (!isThere) return false;
  const git = sourceGit(source, env);
  const shallow = await git.run(['rev-parse', '--is-shallow-repository']);
  if (!shallow.ok || shallow.text !== 'false' || !(await git.run(['cat-file', '-e', `${base}^{commit}`])).ok)
    return false;
  try {
    await copyObjects(git, [base], into, env);
    return true;
  } catch (error) {
    // A partial clone lacks objects.
    if (error instanceof GitError && !error.unanswered && !tellsOfDisk(error.message)) return false;
    throw error;
  }
}

/** The run's commits beyond `base`, oldest first. */
export async function commitsBeyond(
  historyDir: string,
  base: string | null,
  head: string,
  env: Environment,
): Promise<readonly { readonly commit: string; readonly subject: string }[]> {
  const range = base === null ? [head] : [head, `^${base}`];
  const log = await historyGit(historyDir, env).text(['log', '--reverse', '--format=%H %s', ...range]);
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({
      commit: line.slice(0, line.indexOf(' ')),
      subject: line.slice(line.indexOf(' ') + 1),
    }));
}
