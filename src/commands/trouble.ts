/** What ends a command from outside of it, told as everything else that is wrong. */
import { DiskStop, diskTrouble, exitOfDisk, isDisks } from '../system/disk-trouble.ts';
import { Superseded } from '../system/fence.ts';
import { systemWords } from '../system/files.ts';
import { GitError, startGitAgain } from '../system/git.ts';
import type { Io } from './io.ts';
import { refuse } from './refuse.ts';

/** Tells what was thrown, and answers with the exit code. `given` are the words of the command line. */
export async function tellTrouble(error: unknown, io: Io, given: readonly string[]): Promise<number> {
  const json = given.includes('--json');
  if (error instanceof Superseded) {
    const fix = 'factory runs tells how the run stands';
    await refuse([{ code: 'run-taken', severity: 'error', message: error.message, fix }], io, { json }, 1);
    return 1;
  }
  if (error instanceof GitError) {
    const fix = error.missing
      ? 'install git'
      : error.unanswered
        ? startGitAgain
        : 'check the repository with git fsck; put back a copy of it if there is one';
    await refuse([{ code: 'git', severity: 'error', message: error.message, fix }], io, { json }, 1);
    return 1;
  }
  // A disk that is full or forbidden is the user's to mend, and no mistake of ours.
  const trouble = diskTrouble(error);
  if (trouble !== undefined) {
    const problem =
      error instanceof DiskStop
        ? { message: error.message, fix: error.fix }
        : { message: diskWords(trouble), fix: "check the permissions and the disk's space" };
    await refuse([{ code: 'system', severity: 'error', ...problem }], io, { json }, 1);
    return isDisks(error) ? exitOfDisk(given[0] ?? '', io.env) : 1;
  }
  io.err(
    `factory: an error of factory itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 70;
}

/** What the disk has said, and about which file. */
export const diskWords = ({ path, error }: NonNullable<ReturnType<typeof diskTrouble>>): string =>
  `${path === undefined ? '' : `${path}: `}${systemWords(error)}`;
