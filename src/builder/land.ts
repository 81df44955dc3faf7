/** A run's commits come home: the branch in the repository is moved to them, and switched to. */
import { resolve } from 'node:path';
import { tellsOfDisk } from '../system/disk-trouble.ts';
import { type Environment, GitError, sourceGit } from '../system/git.ts';
import { settleTree } from '../system/settle.ts';
import type { Author } from './author.ts';
import { branchTaken, bring, notMoved } from './deliver.ts';
import { markedBy } from './landing.ts';
import { branchInUse, dirtyPaths, type Refused } from './repository.ts';

export type Landed = { readonly switched: boolean; readonly notes: readonly string[] };

/** Moves `branch` from where it stood when the run began to `head`, then switches the working tree to it. Refused when
 *  the branch has moved meanwhile, and not to what holds `head`; a working tree that has changed meanwhile stays as it is, with a note. What a cut
 *  leaves half done is `mendLanding`'s to finish; after that it may be done again. */
export async function land(options: {
  readonly historyDir: string;
  readonly repo: string;
  readonly branch: string;
  readonly existed: boolean;
  readonly base: string;
  readonly head: string;
  /** The branch that the repository was on when the run began. */
  readonly startingBranch: string;
  readonly author: Author;
  /** `NAME=value`, put into the environment of every git that moves something. */
  readonly marker: string;
  readonly env: Environment;
  /** The folder of the repository's lock. */
  readonly held?: string;
}): Promise<Landed | Refused> {
  const { repo, branch, base, head } = options;
  const git = sourceGit(repo, options.env, options.held);
  const ref = `refs/heads/${branch}`;
  const by = {
    GIT_COMMITTER_NAME: options.author.name,
    GIT_COMMITTER_EMAIL: options.author.email,
    ...markedBy(options.marker),
  };
  const gone = 'the commits are in the run: factory deliver RUN --branch NAME puts them on another branch';
  const tip = await git.run(['rev-parse', '--verify', '--quiet', ref]);
  const short = (commit: string) => commit.slice(0, 12);
  if (tip.ok && tip.text !== head && (!options.existed || tip.text !== base)) {
    // It has landed before, and work has gone on there.
    if (head !== base && (await git.run(['merge-base', '--is-ancestor', head, tip.text])).ok)
      return { switched: false, notes: [`the commits are on "${branch}" already, which has gone on since`] };
    const was = options.existed ? `the run began with ${short(base)}` : 'there was none when the run began';
    return {
      problem: `the branch "${branch}" has moved meanwhile: it stands at ${short(tip.text)}, and ${was}`,
      fix: gone,
    };
  }
  if (!tip.ok && options.existed)
    return { problem: `the branch "${branch}" is gone, which the run began with`, fix: gone };
  const taken = await branchTaken(git, repo, branch, true);
  if (taken !== undefined) return { problem: taken, fix: gone };
  // What is brought is upon it, and git would not miss it before somebody looks.
  if (!(await git.run(['cat-file', '-e', `${base}^{commit}`])).ok)
    return {
      problem: `${repo} no longer has the commit ${short(base)} that the run began with`,
      fix: 'the commits are in the run: factory deliver RUN --to DIR puts them into a new repository',
    };
  if (head !== base) await bring({ historyDir: options.historyDir, head, env: options.env }, [base], git);

  const here = await branchInUse(git);
  const dirty = await dirtyPaths(git);
  /** A move that the disk stopped, or that has changed files and failed, is for whoever comes next to finish. */
  const unfinished = async (why: string): Promise<void> => {
    if (tellsOfDisk(why) || (await dirtyPaths(git)).join('\0') !== dirty.join('\0'))
      throw new GitError(why, false, true);
  };
  /** Git flushes neither of them: a power cut during the push that follows would leave empty ones, and with those no
   *  repository that anybody, or who mends the landing, could go on with. */
  const settled = async (): Promise<void> => {
    const paths = await Promise.all(
      ['index', 'HEAD'].map((name) => git.text(['rev-parse', '--git-path', name])),
    );
    await settleTree(paths.map((path) => resolve(repo, path)));
  };
  if (here === branch) {
    const at = await git.run(['rev-parse', 'HEAD']);
    if (at.ok && at.text === head && dirty.length === 0) return { switched: true, notes: [] };
    // Files of the working tree and the branch move together, or neither does.
    const options = ['--ff-only', '--no-verify-signatures', '--quiet', '--no-overwrite-ignore'];
    // By `-c` the name of the setting would end at a "=" in the branch's.
    const plainly = {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `branch.${branch}.mergeOptions`,
      GIT_CONFIG_VALUE_0: '',
    };
    const merged = await git.run([...still, 'merge', ...options, head], {
      env: { ...by, ...plainly },
      apart: true,
    });
    if (merged.ok) {
      await settled();
      return { switched: true, notes: [] };
    }
    await unfinished(merged.why);
    return {
      problem: `${repo} has changed meanwhile, so "${branch}" stays where it is: ${merged.why}`,
      fix: gone,
    };
  }
  if (tip.ok ? tip.text !== head : true) {
    const old = tip.ok ? tip.text : '0'.repeat(head.length);
    const moved = await git.run(['update-ref', '-m', 'factory order run', '--no-deref', ref, head, old], {
      env: by,
      apart: true,
    });
    if (!moved.ok && tellsOfDisk(moved.why)) throw new GitError(moved.why, false, true);
    if (!moved.ok) return notMoved(branch, moved.why, gone);
  }
  const stays = (why: string): Landed => ({
    switched: false,
    notes: [`the commits are on "${branch}", but ${repo} was not switched to it: ${why}`],
  });
  if (dirty.length > 0) return stays(`it is not clean any more (${dirty.slice(0, 5).join(', ')})`);
  if (here !== options.startingBranch) return stays(`it is no longer on "${options.startingBranch}"`);
  // Not by checkout, which forgets a merge or a series of patches that somebody is amid.
  const how = ['--quiet', '--no-guess', '--no-overwrite-ignore'];
  const switched = await git.run([...still, 'switch', ...how, branch], {
    env: by,
    apart: true,
  });
  if (!switched.ok) await unfinished(switched.why);
  else await settled();
  return switched.ok ? { switched: true, notes: [] } : stays(switched.why);
}

/** No housekeeping behind anybody's back, and nobody's wishes about merges of his own. */
const still = [
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
  'merge.autoStash=false',
].flatMap((setting) => ['-c', setting]);
