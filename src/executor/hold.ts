/** One run at a time on a repository: a lock in its git folder, which all its working trees share and no commit contains. */
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

/** Does `act` while no other run works on the repository at `repo`; before it, the landing of a run that was killed is
 *  finished, and `cut` names it. What is no repository is left to `act` to refuse. */
export async function holding<T>(
  repo: string,
  doors: {
    readonly env: Environment;
    readonly clock: Clock;
    readonly log: Log;
    /** Of a resume: whether an owner that is stopped or cannot be seen loses the repository at once. */
    readonly takeOver?: boolean;
  },
  act: (cut: Landing | undefined) => Promise<T>,
): Promise<T | Refused> {
  const gitDir = await commonGitDir(repo, doors.env);
  if (gitDir === undefined) return act(undefined);
  const place = heldBy(gitDir);
  const isResume = doors.takeOver !== undefined;
  const answer = await lockIn(place, {
    clock: doors.clock,
    takeOver: doors.takeOver === true,
    ownedBy: 'it is held by',
  });
  if (answer.kind === 'refused') {
    const { why, fix, takeOver: orAtOnce } = answer;
    // Only a resume has the flag.
    return refused(
      1,
      `another run works on the repository ${repo}: ${why}`,
      fix ?? (isResume ? orAtOnce : undefined),
    );
  }
  const { lock } = answer;
  // An owner that was taken over while it was stopped changes nothing of the repository when it is continued.
  const open = fence(place, lock.assertOwner, lock.successor);
  try {
    const cut = await cutLanding(gitDir).catch(unreadable(repo));
    if (cut !== undefined && 'problem' in cut) return refused(1, cut.problem, cut.fix);
    const mended = cut === undefined ? undefined : await mendLanding(cut, gitDir, doors).catch(stuck(cut));
    if (cut === undefined || mended === undefined) return await act(undefined);
    if (typeof mended === 'object') return refused(1, mended.problem, mended.fix);
    if (mended === 'landed') doors.log('info', 'finished an interrupted landing', { run: cut.run_id });
    if (mended === 'left') {
      doors.log('warn', 'an interrupted landing is left unfinished: the repository has changed since', {
        run: cut.run_id,
      });
      await endLanding(gitDir);
    }
    return await act(mended === 'left' ? undefined : cut);
  } finally {
    // An error that stopped the run (a full disk) stops this too, and is reported. A lock that cannot be written is free as
    // soon as this process has ended.
    await lock.release().catch((error: unknown) => {
      doors.log('warn', 'the lock of the repository was not released', { why: systemWords(error) });
    });
    open();
  }
}

/** The lock in `place`, which is made; `acquireLock` reports what is in its place. */
async function lockIn(place: string, wanted: LockOptions): Promise<LockAnswer> {
  try {
    try {
      makeFolder(place);
    } catch (error) {
      if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
    }
    return await acquireLock(place, wanted);
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EROFS', 'EPERM')) throw error;
    return { kind: 'refused', owner: undefined, why: `${place} cannot be written` };
  }
}

/** After a power cut a disk may leave other content there. */
const unreadable = (repo: string) => (error: unknown) => {
  if (!(error instanceof BadRecord)) throw error;
  return {
    problem: `a run may have been interrupted while it landed on ${repo}, and its record cannot be read: ${error.message}`,
    fix: `check the repository (git -C ${quoteWord(repo)} status), remove that file, then try again`,
  };
};

/** Git still cannot finish it. */
const stuck = (cut: Landing) => (error: unknown) => {
  if (!(error instanceof GitError)) throw error;
  return {
    problem: `the landing of run ${cut.run_id} on "${cut.branch}" is half done, and cannot be finished: ${error.message}`,
    fix: 'fix that (disk space, a filter), then try again',
  };
};
