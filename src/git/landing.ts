/** The record of a landing that has begun, kept in the repository's git directory, and how the next process completes the
 *  move of files that a kill has interrupted. */
import { lstat, readFile, readlink, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import type { Environment } from '../core/contracts/process.ts';
import { once } from '../core/once.ts';
import { tellsOfDisk } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { settleTree } from '../platform/files/flush-tree.ts';
import { readJsonRecord } from '../platform/files/json-record.ts';
import { isFolder } from '../platform/files/read.ts';
import { isMissing, removeNow, syncFolder, writeJson } from '../platform/files/write.ts';
import { type Git, GitError, sourceGit } from '../platform/git.ts';
import { atWorkIn } from '../platform/process/table.ts';
import type { Author } from './commit.ts';
import { bringCommits } from './deliver.ts';
import { branchInUse, dirtyPaths, hasCommit, type RefusedRepository } from './repository.ts';

const landingSchema = once(() =>
  z.object({
    version: z.literal(1),
    run_id: z.string(),
    run_dir: z.string(),
    digest: z.string().describe('Of the work order'),
    repo: z.string(),
    branch: z.string(),
    base: z.string(),
    head: z.string(),
    from: z
      .object({ branch: z.string(), commit: z.string(), clean: z.boolean() })
      .describe('What was checked out when the landing began; the branch is empty for a detached HEAD'),
    began_at: z.string(),
  }),
);
export type Landing = z.infer<ReturnType<typeof landingSchema>>;

/** Directory of the repository's lock and of the record of a landing. `gitDir` is shared by all working trees. */
export const lockDirectory = (gitDir: string): string => join(gitDir, 'factory');
const recordOf = (gitDir: string): string => join(lockDirectory(gitDir), 'landing.json');

/** Writes the record, flushed to disk before anything is moved. */
export async function beginLanding(
  gitDir: string,
  landing: Omit<Landing, 'version' | 'from'>,
  env: Environment,
): Promise<void> {
  const git = sourceGit(landing.repo, env);
  const commit = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  const from = {
    branch: (await branchInUse(git)) ?? '',
    commit: commit.ok ? commit.text : landing.base,
    clean: (await dirtyPaths(git)).length === 0,
  };
  await writeJson(recordOf(gitDir), { version: 1, ...landing, from }, { sync: true, syncFolder: true });
  // The first run on a repository has created the directory.
  await syncFolder(gitDir);
}

/** Removes the record once all that was written to `moved` is on disk: git does not flush files of a working tree. */
export async function endLanding(gitDir: string, moved: readonly string[] = []): Promise<void> {
  if (moved.length > 0) await settleTree(moved);
  removeNow(recordOf(gitDir));
  await syncFolder(lockDirectory(gitDir));
}

/** The landing that was begun and has not ended; undefined when there is none. */
export async function unfinishedLanding(gitDir: string): Promise<Landing | undefined> {
  try {
    return await readJsonRecord(recordOf(gitDir), landingSchema());
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Completes the move of the working tree if it was interrupted halfway; `land` can then be repeated. Files are touched only
 *  where every difference in the tree comes from the move. The caller holds the repository's lock. */
export async function recoverLanding(
  landing: Landing,
  gitDir: string,
  env: Environment,
): Promise<RefusedRepository | undefined> {
  const { repo, branch, base, head, from } = landing;
  if (!isFolder(repo)) return undefined;
  const held = lockDirectory(gitDir);
  const git = sourceGit(repo, env, held);
  const locked = await removeLocks(git, landing, gitDir);
  if (locked !== undefined) return locked;
  const commitAt = async (name: string) => {
    const found = await git.run(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
    return found.ok ? found.text : undefined;
  };
  const [tip, at, on] = [
    await commitAt(`refs/heads/${branch}`),
    await commitAt('HEAD'),
    await branchInUse(git),
  ];
  const moving = tip === head ? on === branch || on === from.branch : tip === base && on === branch;
  if (!from.clean || !moving || (at !== from.commit && at !== head)) return undefined;
  if ((await commitAt(head)) === undefined) return undefined;
  const dirty = await dirtyPaths(git, true);
  if (dirty.length === 0) return undefined;
  const foreign = await foreignChanges(git, landing, dirty);
  if (foreign.length > 0)
    return {
      problem: `run ${landing.run_id} was interrupted while it switched ${repo} to "${branch}", and other changes were made there since: ${foreign.slice(0, 5).join(', ')}`,
      fix: 'save your changes (git stash -u), then run the same command again',
    };
  const message = ['-m', 'factory order run'];
  if (tip !== head) await git.text(['update-ref', ...message, `refs/heads/${branch}`, head, base]);
  if (on !== branch) await git.text(['symbolic-ref', ...message, 'HEAD', `refs/heads/${branch}`]);
  await git.text(['-c', 'submodule.recurse=false', 'reset', '--quiet', '--hard', head], { apart: true });
  return undefined;
}

/** Removes the lock files that the interrupted git has left; refuses while they may belong to another one. */
async function removeLocks(
  git: Git,
  landing: Landing,
  gitDir: string,
): Promise<RefusedRepository | undefined> {
  const names = ['index.lock', 'HEAD.lock', 'ORIG_HEAD.lock', `refs/heads/${landing.branch}.lock`];
  const paths = await git.text(['rev-parse', ...names.flatMap((name) => ['--git-path', name])]);
  for (const path of paths.split('\n').map((line) => resolve(landing.repo, line))) {
    const lock = await stat(path).catch(() => undefined);
    if (lock === undefined || lock.mtimeMs < Math.floor(Date.parse(landing.began_at) / 1000) * 1000) continue;
    const other = atWorkIn([landing.repo, gitDir], 'git');
    // Only Linux shows the processes that work in a directory.
    if (other !== undefined || process.platform !== 'linux')
      return {
        problem: `run ${landing.run_id} was interrupted while it moved "${landing.branch}", and ${path} exists: ${
          other === undefined ? 'another git may be running' : `git is running there (process ${other})`
        }`,
        fix: `wait until it ends${other === undefined ? ', or remove that file if none is running' : ''}, then run the same command again`,
      };
    beforeWrite(lockDirectory(gitDir));
    removeNow(path);
  }
  return undefined;
}

/** Paths whose content is neither that before the move nor that after it, nor an incomplete copy of the latter. */
async function foreignChanges(git: Git, landing: Landing, dirty: readonly string[]): Promise<string[]> {
  const { repo, from, head } = landing;
  const how = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev'];
  const lines = await git.list(['diff-tree', ...how, from.commit, head]);
  const moved = new Map<string, readonly string[]>();
  // `:100644 100644 <old> <new> M` and the path, alternating.
  for (let at = 0; at + 1 < lines.length; at += 2)
    moved.set(lines[at + 1] ?? '', (lines[at] ?? '').split(' ').slice(2, 4));
  const foreign: string[] = [];
  for (const path of new Set([...dirty, ...moved.keys()])) {
    const blobs = moved.get(path);
    // A name that is not UTF-8 cannot be looked at by its text.
    const known = blobs !== undefined && !path.includes('\uFFFD');
    if (!known || !(await isOfMove(git, repo, path, head, blobs))) foreign.push(path);
  }
  return foreign;
}

async function isOfMove(
  git: Git,
  repo: string,
  path: string,
  head: string,
  blobs: readonly string[],
): Promise<boolean> {
  const file = join(repo, path);
  const found = await lstat(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (found === undefined) return true;
  if (found.isSymbolicLink())
    return blobs.includes(
      await git.text(['hash-object', '--stdin'], { input: await readlink(file, 'buffer') }),
    );
  // The files in a directory that replaces a file have separate entries.
  if (found.isDirectory()) return /^0+$/.test(blobs[1] ?? '');
  if (!found.isFile()) return false;
  if (blobs.includes(await git.text(['hash-object', '--', path]))) return true;
  const whole = await git.run(['cat-file', '--filters', `${head}:${path}`]);
  const part = await readFile(file);
  return whole.ok && whole.stdout.subarray(0, part.length).equals(part);
}

/* Moves a branch of the user's repository to the commits of a run, and switches the working tree to it. */

/** `switched`: the working tree has the commits. */
export type LandingResult = { readonly switched: boolean; readonly notes: readonly string[] };

export type LandingRequest = {
  readonly historyDir: string;
  readonly repo: string;
  readonly branch: string;
  /** Whether the branch existed when the run began. */
  readonly existed: boolean;
  readonly base: string;
  readonly head: string;
  /** The branch that was checked out when the run began. */
  readonly startingBranch: string;
  readonly author: Author;
  readonly env: Environment;
  /** Directory of the repository's lock. */
  readonly held?: string;
};

const elsewhere = 'the commits are in the run: factory deliver RUN --branch NAME puts them on another branch';

/** Fast-forwards `branch` from `base` to `head` (or creates it), then switches to it. Refused where the branch was moved by
 *  someone else; a working tree that has changed stays unchanged, with a note. Repeating it is safe at any time. Rejects
 *  with a `GitError` where git fails halfway: `recoverLanding` completes that move. */
export async function land(request: LandingRequest): Promise<LandingResult | RefusedRepository> {
  const { repo, branch, existed, base, head } = request;
  const git = sourceGit(repo, request.env, request.held);
  const found = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  const tip = found.ok ? found.text : undefined;
  if (tip !== head && tip !== (existed ? base : undefined)) {
    if (tip === undefined)
      return { problem: `the branch "${branch}", with which the run began, does not exist`, fix: elsewhere };
    if (head !== base && (await hasCommit(git, tip, head)))
      return { switched: false, notes: [`"${branch}" has the commits already, and newer ones`] };
    const before = existed ? `the run began with ${short(base)}` : 'it did not exist when the run began';
    return { problem: `the branch "${branch}" has moved to ${short(tip)}: ${before}`, fix: elsewhere };
  }
  const bad = await bringCommits(git, request, { mayBeCurrent: true });
  if (bad === 'gone')
    return {
      problem: `${repo} no longer has the commit ${short(base)} with which the run began`,
      fix: 'the commits are in the run: factory deliver RUN --to DIR puts them into a new repository',
    };
  if (bad !== undefined) return { problem: bad.inUse, fix: elsewhere };
  return (await branchInUse(git)) === branch
    ? fastForward(git, request)
    : moveAndSwitch(git, request, tip ?? '0'.repeat(head.length));
}

/** The branch is checked out: its files and the branch move together. */
async function fastForward(git: Git, request: LandingRequest): Promise<LandingResult | RefusedRepository> {
  const { repo, branch, head } = request;
  const refuse = (why: string): RefusedRepository => ({
    problem: `${repo} has changed since the run began, so "${branch}" was not moved: ${why}`,
    fix: elsewhere,
  });
  const at = await git.text(['rev-parse', 'HEAD']);
  const dirty = await dirtyPaths(git);
  if (at !== head && dirty.length > 0) return refuse(`it is not clean (${few(dirty)})`);
  if (at === head) return { switched: true, notes: [] };
  const how = ['--ff-only', '--no-verify-signatures', '--quiet', '--no-overwrite-ignore'];
  // Settings passed by `-c` end at a "=", which the name of a branch may contain.
  const plain = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `branch.${branch}.mergeOptions`,
    GIT_CONFIG_VALUE_0: '',
  };
  const env = { ...committerOf(request.author), ...plain };
  const merged = await git.run([...steady, 'merge', ...how, head], { env, apart: true });
  if (merged.ok) return { switched: true, notes: [] };
  await throwIfHalfDone(git, merged.why);
  return refuse(merged.why);
}

/** Another branch is checked out: the branch moves first, then the working tree, if that is unchanged. */
async function moveAndSwitch(
  git: Git,
  request: LandingRequest,
  old: string,
): Promise<LandingResult | RefusedRepository> {
  const { repo, branch, head, startingBranch } = request;
  const env = committerOf(request.author);
  const message = ['-m', 'factory order run', '--no-deref'];
  if (old !== head) {
    const moved = await git.run(['update-ref', ...message, `refs/heads/${branch}`, head, old], {
      env,
      apart: true,
    });
    if (!moved.ok && tellsOfDisk(moved.why)) throw new GitError(moved.why, false, true);
    if (!moved.ok)
      return { problem: `the branch "${branch}" could not be moved: ${moved.why}`, fix: elsewhere };
  }
  const stays = (why: string): LandingResult => ({
    switched: false,
    notes: [`the commits are on "${branch}", but ${repo} was not switched to it: ${why}`],
  });
  const dirty = await dirtyPaths(git);
  if (dirty.length > 0) return stays(`it is not clean (${few(dirty)})`);
  if ((await branchInUse(git)) !== startingBranch)
    return stays(`"${startingBranch}" is no longer checked out`);
  // `switch` refuses during a merge or a rebase, which `checkout` would abandon.
  const how = ['--quiet', '--no-guess', '--no-overwrite-ignore'];
  const switched = await git.run([...steady, 'switch', ...how, branch], { env, apart: true });
  if (switched.ok) return { switched: true, notes: [] };
  await throwIfHalfDone(git, switched.why);
  return stays(switched.why);
}

/** The tree was clean before: whatever differs, the move has changed. */
async function throwIfHalfDone(git: Git, why: string): Promise<void> {
  if (tellsOfDisk(why) || (await dirtyPaths(git)).length > 0) throw new GitError(why, false, true);
}

const short = (commit: string): string => commit.slice(0, 12);
const few = (paths: readonly string[]): string => paths.slice(0, 5).join(', ');

const committerOf = ({ name, email }: Author) => ({ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email });

/** No background maintenance, and none of the user's settings for merges and switches. */
const steady = [
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
  'merge.autoStash=false',
  'submodule.recurse=false',
].flatMap((setting) => ['-c', setting]);
