/** One run at a time on a repository: a lock in its git directory, which all its working trees share. */
import { quoteWord } from '../../core/policy/words.ts';
import {
  endLanding,
  type Landing,
  lockDirectory,
  recoverLanding,
  unfinishedLanding,
} from '../../git/landing.ts';
import { commonGitDir, type RefusedRepository } from '../../git/repository.ts';
import { fence } from '../../platform/files/fence.ts';
import { BadJsonRecord } from '../../platform/files/json-record.ts';
import { isCode, makeFolder, systemWords } from '../../platform/files/write.ts';
import { GitError } from '../../platform/git.ts';
import { acquireLock } from '../../run/lock.ts';
import type { OrderResult } from './land.ts';
import { resumeOrder } from './run-order.ts';
import { findRequest } from './sources.ts';
import { type OrderHost, type OrderRefusal, refusedOrder } from './types.ts';

/** `interrupted`: the run whose landing was interrupted, and how it ended now. */
type Work<T> = (interrupted?: { readonly digest: string; readonly result: OrderResult }) => Promise<T>;

/** Calls `work` while no other run can work on the repository at `repo`. First a landing that a kill has interrupted is
 *  completed, except that of `resumes`, which `work` resumes itself. */
export async function withRepositoryLock<T>(
  repo: string,
  host: OrderHost & { readonly resumes?: string },
  work: Work<T>,
): Promise<T | OrderRefusal> {
  const gitDir = await commonGitDir(repo, host.env);
  // `work` refuses what is not a repository.
  if (gitDir === undefined) return work();
  const place = lockDirectory(gitDir);
  const answer = await lockIn(place, host);
  if (answer.kind === 'refused')
    return refusedOrder(1, `another run works on the repository ${repo}: ${answer.why}`, answer.fix);
  const { lock } = answer;
  // An owner that was stopped and has lost the lock changes nothing more.
  const open = fence(place, lock.assertOwner, lock.successor);
  try {
    const landing = await unfinishedLanding(gitDir).catch(unreadable(repo));
    if (landing === undefined) return await work();
    if ('problem' in landing) return refusedOrder(1, landing.problem, landing.fix);
    const problem = await recoverLanding(landing, gitDir, host.env).catch(notRecovered(landing));
    if (problem !== undefined) return refusedOrder(1, problem.problem, problem.fix);
    if (landing.run_id === host.resumes) return await work();
    const result = await completeLanding(landing, gitDir, host);
    return await work(result === undefined ? undefined : { digest: landing.digest, result });
  } finally {
    // The lock ends with this process in any case, and a full disk has stopped more than its release.
    await lock.release().catch((error: unknown) => {
      host.log('warn', 'the lock of the repository could not be released', { why: systemWords(error) });
    });
    open();
  }
}

async function lockIn(
  place: string,
  { clock, takeOver, resumes }: OrderHost & { readonly resumes?: string },
) {
  try {
    makeFolder(place);
    const answer = await acquireLock(place, {
      clock,
      takeOver: takeOver === true,
      ownedBy: 'it is held by',
    });
    // Only a resume has the flag to take over.
    if (answer.kind === 'acquired' || answer.fix !== undefined || resumes === undefined) return answer;
    return { ...answer, fix: answer.takeOver };
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EROFS', 'EPERM')) throw error;
    return { kind: 'refused' as const, why: `${place} cannot be written`, fix: undefined };
  }
}

/** Resumes the run to land, push and report again; undefined where its directory is gone. */
async function completeLanding(
  landing: Landing,
  gitDir: string,
  host: OrderHost,
): Promise<OrderResult | undefined> {
  const request = await findRequest(landing.run_dir).catch(() => undefined);
  const result = request === undefined ? undefined : await resumeOrder(landing.run_dir, host);
  if (result !== undefined && !('problems' in result)) return result;
  host.log('warn', 'a run that was interrupted while it landed cannot be resumed', { run: landing.run_id });
  await endLanding(gitDir, [landing.repo, gitDir]);
  return undefined;
}

const unreadable = (repo: string) => (error: unknown) => {
  if (!(error instanceof BadJsonRecord)) throw error;
  return {
    problem: `a landing on ${repo} may have been interrupted, and its record cannot be read: ${error.message}`,
    fix: `check the repository (git -C ${quoteWord(repo)} status), remove that file, then run the same command again`,
  };
};

const notRecovered =
  (landing: Landing) =>
  (error: unknown): RefusedRepository => {
    if (!(error instanceof GitError)) throw error;
    return {
      problem: `the landing of run ${landing.run_id} on "${landing.branch}" was interrupted and cannot be completed: ${error.message}`,
      fix: 'fix that (disk space, a filter), then run the same command again',
    };
  };
