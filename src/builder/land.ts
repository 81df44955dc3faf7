/** Moves a branch of the user's repository to the commits of a run, and switches the working tree to it. */
import { tellsOfDisk } from '../system/disk-trouble.ts';
import { type Environment, type Git, GitError, sourceGit } from '../system/git.ts';
import type { Author } from './author.ts';
import { bringCommits } from './deliver.ts';
import { branchInUse, dirtyPaths, type Refused } from './repository.ts';

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
export async function land(request: LandingRequest): Promise<LandingResult | Refused> {
  const { repo, branch, existed, base, head } = request;
  const git = sourceGit(repo, request.env, request.held);
  const found = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  const tip = found.ok ? found.text : undefined;
  if (tip !== head && tip !== (existed ? base : undefined)) {
    if (tip === undefined)
      return { problem: `the branch "${branch}", with which the run began, does not exist`, fix: elsewhere };
    if (head !== base && (await git.run(['merge-base', '--is-ancestor', head, tip])).ok)
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
  if (bad !== undefined) return { problem: bad.taken, fix: elsewhere };
  return (await branchInUse(git)) === branch
    ? fastForward(git, request)
    : moveAndSwitch(git, request, tip ?? '0'.repeat(head.length));
}

/** The branch is checked out: its files and the branch move together. */
async function fastForward(git: Git, request: LandingRequest): Promise<LandingResult | Refused> {
  const { repo, branch, head } = request;
  const refuse = (why: string): Refused => ({
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
): Promise<LandingResult | Refused> {
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
