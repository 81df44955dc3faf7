/** One run at a time on a repository: a lock in its git folder, which all its working trees share and no commit holds. */
import { cutLanding, endLanding, heldBy, type Landing, mendLanding } from '../builder/landing.ts';
import { BadRecord } from '../builder/record.ts';
import { commonGitDir } from '../builder/repository.ts';
import type { Log } from '../engine/watch.ts';
import { quoteWord } from '../policy/words.ts';
import { acquireLock, type LockAnswer, type LockOptions } from '../store/lock.ts';
import type { Clock } from '../system/clock.ts';
import { fence } from '../system/fence.ts';
import { isCode, makeFolder, systemWords } from '../system/files.ts';
import { type Environment, GitError } from '../system/git.ts';
import { type Refused, refused } from './run.ts';

/** The lock in `place`, which is made; what stands in the way there is told by the lock. */
async function lockIn(place: string, wanted: LockOptions): Promise<LockAnswer> {
  try {
    makeFolder(place);
  } catch (error) {
    if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
  }
  return acquireLock(place, wanted);
}

/** Does `act` while nobody else works on the repository at `repo`; before it, what a run that was killed while it landed
 *  left half done is finished, and `cut` tells of it. What is no repository is left to `act` to refuse. */
export async function holding<T>(
  repo: string,
  doors: {
    readonly env: Environment;
    readonly clock: Clock;
    readonly log: Log;
    /** Of a resume: whether an owner that is stopped or out of sight is not waited for. Else one that is stopped keeps the
     *  repository. */
    readonly takeOver?: boolean;
  },
  act: (cut: Landing | undefined) => Promise<T>,
): Promise<T | Refused> {
  const gitDir = await commonGitDir(repo, doors.env);
  if (gitDir === undefined) return act(undefined);
  const place = heldBy(gitDir);
  const { clock, takeOver } = doors;
  const isResume = takeOver !== undefined;
  const wanted = {
    clock,
    takeOver: takeOver === true,
    stoppedYields: isResume,
    ownedBy: 'it is held by',
  };
  const answer = await lockIn(place, wanted).catch((error: unknown) => {
    if (isCode(error, 'EACCES', 'EROFS', 'EPERM'))
      return {
        kind: 'refused' as const,
        why: `${place} cannot be written`,
        fix: undefined,
        takeOver: undefined,
      };
    throw error;
  });
  if (answer.kind === 'refused') {
    const { why, fix, takeOver: orAtOnce } = answer;
    // The reason says how long to wait: only a resume can be told not to.
    return refused(
      1,
      `another run works on the repository ${repo}: ${why}`,
      fix ?? (isResume ? orAtOnce : undefined),
    );
  }
  const { lock } = answer;
  // Who is followed while it sleeps moves nothing of the repository when it wakes.
  const open = fence(place, lock.assertOwner, lock.successor);
  try {
    const cut = await cutLanding(gitDir).catch(unreadable(repo));
    if (cut !== undefined && 'problem' in cut) return refused(1, cut.problem, cut.fix);
    const mended = cut === undefined ? undefined : await mendLanding(cut, gitDir, doors).catch(stuck(cut));
    if (cut === undefined || mended === undefined) return await act(undefined);
    if (typeof mended === 'object') return refused(1, mended.problem, mended.fix);
    if (mended === 'landed') doors.log('info', 'a landing that was cut is finished', { run: cut.run_id });
    if (mended === 'left') {
      doors.log('warn', 'a landing that was cut is left as it is: the repository was worked on since', {
        run: cut.run_id,
      });
      await endLanding(gitDir);
    }
    return await act(mended === 'left' ? undefined : cut);
  } finally {
    // What stopped the run (a disk that is full) stops this too, and says more. A lock that cannot be written is free as
    // soon as this process has ended.
    await lock.release().catch((error: unknown) => {
      doors.log('warn', 'the lock of the repository was not given back', { why: systemWords(error) });
    });
    open();
  }
}

/** A disk that keeps no order may leave another file's content there after a power cut. */
const unreadable = (repo: string) => (error: unknown) => {
  if (!(error instanceof BadRecord)) throw error;
  return {
    problem: `a run may have been cut while it landed on ${repo}, and its note cannot be read: ${error.message}`,
    fix: `see that the repository stands as you want it (git -C ${quoteWord(repo)} status), remove that file, then do it again`,
  };
};

/** What keeps git from finishing is not over yet. */
const stuck = (cut: Landing) => (error: unknown) => {
  if (!(error instanceof GitError)) throw error;
  return {
    problem: `the landing of run ${cut.run_id} on "${cut.branch}" is half done, and cannot be finished: ${error.message}`,
    fix: 'mend that (space on the disk, a filter), then do it again',
  };
};
