/** Bringing a run's commits to where people want them: a branch of the source, or a new repository. */
import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdtemp, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DiskStop, isDisks, mendDisk, tellsOfDisk } from '../system/disk-trouble.ts';
import { isCode, isMissing, makeFolder, syncFolders, systemWords } from '../system/files.ts';
import { type Environment, type Git, GitError, makeRepository, ownGit, sourceGit } from '../system/git.ts';
import { isAbandoned, makerWord } from '../system/maker.ts';
import { readPlain } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { historyGit, inHistory } from './in-history.ts';
import { said } from './scope.ts';

type Problem = { readonly problem: string; readonly fix: string };
const problem = (text: string, fix: string): Problem => ({ problem: text, fix });

const ownBranches = new Set(['main', 'master']);

/** Why a branch may not have this name; undefined when it may. */
export async function branchProblem(git: Git, branch: string): Promise<string | undefined> {
  if (ownBranches.has(branch)) return `"${branch}" is protected: commits go on a branch of their own`;
  const bad = branch.startsWith('-') || branch.startsWith('refs/') || branch === 'HEAD' || branch === '@';
  const valid = !bad && (await git.run(['check-ref-format', `refs/heads/${branch}`])).ok;
  return valid ? undefined : `"${branch}" is not a valid branch name`;
}

/** Why a branch cannot be made or moved under this name, undefined when it can. `own`: the working tree at `source`
 *  itself may stand on it. */
export async function branchTaken(
  git: Git,
  source: string,
  branch: string,
  own = false,
): Promise<string | undefined> {
  const ref = `refs/heads/${branch}`;
  const trees = (await git.text(['worktree', 'list', '--porcelain'])).split('\n\n');
  const here = await realpath(source);
  const isMain = own && (await isMainTree(git, source));
  for (const [at, lines] of trees.map((text) => text.split('\n')).entries()) {
    const folder = (lines[0] ?? '').slice('worktree '.length);
    if (lines.includes('detached') && (await isAmid(git, folder, branch)))
      return `the branch "${branch}" is being rebased or bisected in a working tree of ${source}: ${folder}`;
    // Where its records lie elsewhere, as those of a submodule do, git names their folder and not the main tree's.
    const isHere = folder === here || (at === 0 && isMain);
    if (!lines.includes(`branch ${ref}`) || (own && isHere)) continue;
    return `the branch "${branch}" is checked out in a working tree of ${source}: ${folder}`;
  }
  const branches = (await git.text(['for-each-ref', '--format=%(refname) %(symref)', 'refs/heads']))
    .split('\n')
    .map((line) => line.split(' '));
  // Git would move what it leads to, and nobody has asked whether that may be.
  const [, leadsTo = ''] = branches.find(([name]) => name === ref) ?? [];
  if (leadsTo !== '') return `the branch "${branch}" is another name of ${leadsTo}`;
  const inTheWay = branches
    .map(([name = '']) => name)
    .find((other) => ref.startsWith(`${other}/`) || other.startsWith(`${ref}/`));
  if (inTheWay === undefined) return undefined;
  return `the branch "${inTheWay.slice('refs/heads/'.length)}" is in the way of "${branch}": git keeps both in one folder`;
}

/** Whether `source` is the working tree that git lists first. */
async function isMainTree(git: Git, source: string): Promise<boolean> {
  const asked = ['--git-dir', '--git-common-dir'].map((which) => git.text(['rev-parse', which]));
  const [own, common] = (await Promise.all(asked)).map((path) => resolve(source, path));
  return own === common;
}

/** Whether the working tree at `folder` stands beside the branch for a while only, and is to come back to it. */
async function isAmid(git: Git, folder: string, branch: string): Promise<boolean> {
  const names = [
    'rebase-merge/head-name',
    'rebase-merge/update-refs',
    'rebase-apply/head-name',
    'BISECT_START',
  ];
  const asked = names.flatMap((name) => ['--git-path', name]);
  const paths = await git.run(['-C', folder, 'rev-parse', ...asked]);
  for (const path of paths.ok ? paths.text.split('\n') : []) {
    const told = readPlain(resolve(folder, path));
    const lines = told.kind === 'text' ? told.text.split('\n') : [];
    if (lines.some((line) => line.replace(/^refs\/heads\//, '') === branch)) return true;
  }
  return false;
}

/** Makes `branch` in the repository `source` at `head`. Working tree, index and every other branch stay as they are. */
export async function deliverBranch(options: {
  readonly historyDir: string;
  readonly source: string;
  readonly branch: string;
  readonly base: string | null;
  readonly head: string;
  /** Move a branch that is there, as long as it stands somewhere on the way to `head`. */
  readonly reuse?: boolean;
  readonly env: Environment;
}): Promise<{ readonly ok: true } | Problem> {
  const { source, branch, base, head } = options;
  const git = sourceGit(source, options.env);
  const ref = `refs/heads/${branch}`;
  const another = 'pass --branch NAME for another one';
  const at = await git.run(['rev-parse', '--verify', '--quiet', ref]);
  // Delivered already, and perhaps cut before the push.
  if (at.ok && at.text === head) return { ok: true };
  if (at.ok && options.reuse !== true) return problem(`the branch "${branch}" exists in ${source}`, another);
  const taken = await branchTaken(git, source, branch);
  if (taken !== undefined) return problem(taken, another);
  if (base !== null && !(await git.run(['cat-file', '-e', `${base}^{commit}`])).ok) {
    return problem(
      `${source} no longer has the commit ${base} that the run began with`,
      'pass --to DIR for a repository of its own',
    );
  }
  await bring(options, base === null ? [] : [base], git);
  if (at.ok && !(await git.run(['merge-base', '--is-ancestor', at.text, head])).ok) {
    const began = base === null ? 'with no commit' : `at ${base.slice(0, 12)}`;
    return problem(
      `the branch "${branch}" has moved: it stands at ${at.text.slice(0, 12)}, which is not on the way from where the run began (${began}) to its commits`,
      another,
    );
  }
  // The old value is compared, all zeros for none: nobody else's move is undone.
  const old = at.ok ? at.text : '0'.repeat(head.length);
  const moved = await git.run(['update-ref', '-m', 'factory deliver', '--no-deref', ref, head, old]);
  if (moved.ok) return { ok: true };
  // The same delivery, made at the same time.
  const now = await git.run(['rev-parse', '--verify', '--quiet', ref]);
  return now.ok && now.text === head ? { ok: true } : notMoved(branch, moved.why, another);
}

/** What git says where the branch does not stand where it stood a moment ago. Of one that is there and cannot be read, torn
 *  by a power cut, it says why behind the name. */
const movedMeanwhile =
  /but expected|reference already exists|reference is missing|unable to resolve reference '[^']*'$/m;

/** In a git folder that keeps its refs in tables: the lock of them all. */
export const tablesLock = 'reftable/tables.list.lock';

/** Why a branch did not move: somebody else's git is at work there or was killed, or moved it first. Throws where it cannot
 *  be written: of a folder that finds no room git says only that it is not there. */
export function notMoved(branch: string, why: string, another: string): Problem {
  // Of the tables git does not say which file is in the way.
  const inTables = /cannot lock references$/m.test(why) ? `${tablesLock} in the git folder` : undefined;
  const lock = /Unable to create '(.*\.lock)': File exists/.exec(why)?.[1] ?? inTables;
  if (lock === undefined && movedMeanwhile.test(why))
    return problem(`the branch "${branch}" was moved by somebody at this very moment: ${why}`, another);
  if (lock === undefined) throw new GitError(`the branch "${branch}" cannot be written: ${why}`, false);
  return problem(
    `the branch "${branch}" is locked: another git is at work there, or one was killed and left ${lock}`,
    'wait until it ends; if none is at work there, remove that file; then do it again',
  );
}

/** Packs what `head` has beyond `without` and puts it into another repository's objects. */
export async function bring(
  from: { readonly historyDir: string; readonly head: string; readonly env: Environment },
  without: readonly string[],
  into: Git,
): Promise<void> {
  await packOver(
    historyGit(from.historyDir, from.env),
    from.historyDir,
    [from.head, ...without.map((commit) => `^${commit}`)],
    into,
  );
}

async function packOver(from: Git, scratch: string, revs: readonly string[], into: Git): Promise<void> {
  const folder = await scratchIn(scratch);
  try {
    const name = await from.text(['pack-objects', '--quiet', '--revs', join(folder, 'out')], {
      input: `${revs.join('\n')}\n`,
    });
    await into.text(['index-pack', '--stdin'], { inputFile: join(folder, `out-${name.trim()}.pack`) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function scratchIn(place: string): Promise<string> {
  try {
    await clearStale(place, 'factory-pack-', /^(.*)-\w{6}$/);
    return await mkdtemp(join(place, `factory-pack-${makerWord()}-`));
  } catch (error) {
    // Where the commits come from is in the way, and not where they go.
    if (!isCode(error, 'EACCES', 'EROFS')) throw error;
    throw new GitError(`cannot be written: ${systemWords(error)}`, false, false, place);
  }
}

/** Makes a repository at `to` with `branch` checked out at `head`. `to` must not exist, or be an empty folder; it appears
 *  whole or not at all. Where the source still has the commit that the run began with, its history comes along. */
export async function deliverFolder(options: {
  readonly historyDir: string;
  readonly source: string | undefined;
  readonly to: string;
  readonly branch: string;
  readonly base: string | null;
  readonly head: string;
  readonly env: Environment;
}): Promise<{ readonly ok: true; readonly whole: boolean } | Problem> {
  const { historyDir, base, head, env } = options;
  const taken = await occupied(options.to);
  if (taken !== undefined) return problem(`${options.to} ${taken}`, 'name a folder that does not exist');
  // An empty folder that is a link is filled where it leads.
  const to = await realpath(options.to).catch(() => options.to);
  const neighbour = join(dirname(to), `${beginOf(to)}${makerWord()}.${randomBytes(3).toString('hex')}.tmp`);
  let madeParent: string | undefined;
  try {
    madeParent = makeFolder(dirname(to));
    await clearBeside(to);
    const { settings } = inHistory(historyDir);
    const length = head.length === 64;
    await makeRepository(neighbour, {
      settingsFile: settings,
      bare: false,
      branch: options.branch,
      sha256: length,
      env,
    });
    const git = ownGit({ cwd: neighbour, settingsFile: settings, env });
    const past = base !== null && (await bringPast(options.source, base, historyDir, git, env));
    await bring({ historyDir, head, env }, past ? [base] : [], git);
    const whole = past || base === null || (await isFirst(historyGit(historyDir, env), base));
    if (!whole) await copyFile(join(historyDir, 'shallow'), join(neighbour, '.git', 'shallow'));
    await git.text(['update-ref', `refs/heads/${options.branch}`, head]);
    await git.text(['read-tree', '-u', '--reset', head]);
    // It appears whole also after a power cut.
    await settleTree(neighbour);
    // Whoever made the folder may have kept others out of it.
    const own = await stat(to).catch(() => undefined);
    if (own !== undefined) await chmod(neighbour, own.mode & 0o7777);
    await rename(neighbour, to);
    await syncFolders(dirname(to), dirname(madeParent ?? to));
    return { ok: true, whole };
  } catch (error) {
    // What could not be made (a file stands where a folder would be) cannot be removed either.
    await rm(neighbour, { recursive: true, force: true }).catch((trouble: unknown) => {
      if (!isMissing(trouble)) throw trouble;
    });
    if (madeParent !== undefined) await removeEmpty(dirname(to), madeParent);
    if (isCode(error, 'ENOTEMPTY', 'EEXIST') && (await occupied(to)) !== undefined)
      return problem(`${options.to} is there by now, and is not empty`, 'name a folder that does not exist');
    if (isDisks(error))
      throw new DiskStop(`${options.to} cannot be made: ${systemWords(error)}`, mendDisk, error);
    // The folder that it was made in is gone again.
    if (error instanceof GitError && error.where?.startsWith(neighbour) === true)
      throw new GitError(error.message, error.missing, error.unanswered, options.to);
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
      return problem(`${options.to} cannot be made: ${systemWords(error)}`, 'name another folder');
    }
    throw error;
  }
}

/** How the name begins of what is made beside the folder `to`. */
const beginOf = (to: string): string => `.${basename(to)}.`;

/** Removes what deliveries to the folder `to` that were killed have left beside it. */
export const clearBeside = (to: string): Promise<void> =>
  clearStale(dirname(to), beginOf(to), /^(.*?)(?:\.[0-9a-f]{6})?\.tmp$/);

/** Removes what deliveries that were killed have left in `folder`, and nothing of one that is at work. `ending` finds the word
 *  for the maker in what follows `before`. */
async function clearStale(folder: string, before: string, ending: RegExp): Promise<void> {
  for (const name of await readdir(folder)) {
    const maker = name.startsWith(before) ? ending.exec(name.slice(before.length))?.[1] : undefined;
    if (maker === undefined) continue;
    const path = join(folder, name);
    const isOld = /^[0-9a-f]{12}$/.test(maker);
    if (isOld || (await isAbandoned(maker, path)) === true) await rm(path, { recursive: true, force: true });
  }
}

/** Takes back the folders that were made, from `folder` up to `first`, as long as nobody has put anything there. */
async function removeEmpty(folder: string, first: string): Promise<void> {
  for (let at = folder; at.length >= first.length; at = dirname(at))
    if (
      !(await rmdir(at).then(
        () => true,
        () => false,
      ))
    )
      return;
}

/** Whether nothing came before `commit`, wherever a shallow history ends. */
const isFirst = async (git: Git, commit: string): Promise<boolean> =>
  !/^parent /m.test((await git.text(['cat-file', 'commit', commit])).split('\n\n', 1)[0] ?? '');

/** The source's history up to `base`; false when it cannot give all of it. */
async function bringPast(
  source: string | undefined,
  base: string,
  scratch: string,
  into: Git,
  env: Environment,
): Promise<boolean> {
  if (
    source === undefined ||
    !(await stat(source).then(
      (found) => found.isDirectory(),
      () => false,
    ))
  )
    return false;
  const git = sourceGit(source, env);
  const shallow = await git.run(['rev-parse', '--is-shallow-repository']);
  if (!shallow.ok || shallow.text !== 'false' || !(await git.run(['cat-file', '-e', `${base}^{commit}`])).ok)
    return false;
  try {
    await packOver(git, scratch, [base], into);
    return true;
  } catch (error) {
    // It lacks something: what a clone left at a remote that is out of reach, say.
    if (error instanceof GitError && !error.unanswered && !tellsOfDisk(error.message)) return false;
    throw error;
  }
}

async function occupied(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return 'is there already, and is no folder';
    return (await readdir(path)).length === 0 ? undefined : 'is there already, and is not empty';
  } catch (error) {
    if (!isMissing(error)) return `cannot be looked at: ${said(error)}`;
  }
  return undefined;
}

/** The run's commits beyond `base`, oldest first. */
export async function commitsOf(
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
