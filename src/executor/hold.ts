/** One run at a time on a repository: a lock in its git folder, which all its working trees share and no commit holds. */
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { acquireLock } from '../store/lock.ts';
import type { Clock } from '../system/clock.ts';
import { isCode } from '../system/files.ts';
import { type Environment, sourceGit } from '../system/git.ts';
import { type Refused, refused } from './run.ts';

/** Does `act` while nobody else works on the repository at `repo`. What is no repository is left to `act` to refuse. */
export async function holding<T>(
  repo: string,
  doors: { readonly env: Environment; readonly clock: Clock },
  act: () => Promise<T>,
): Promise<T | Refused> {
  const found = await sourceGit(repo, doors.env)
    .run(['rev-parse', '--git-common-dir'])
    .catch((error: unknown) => {
      // The folder itself is not there.
      if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    });
  if (found?.ok !== true) return act();
  const place = join(await realpath(resolve(repo, found.text)), 'factory');
  const answer = await acquireLock(place, { clock: doors.clock }).catch((error: unknown) => {
    if (isCode(error, 'EACCES', 'EROFS', 'EPERM'))
      return { kind: 'refused' as const, why: `${place} cannot be written` };
    throw error;
  });
  if (answer.kind === 'refused') {
    const why = answer.why.replace(/^this run is owned by/, 'it is held by');
    return refused(1, `another run works on the repository ${repo}: ${why}`);
  }
  try {
    return await act();
  } finally {
    await answer.lock.release();
  }
}
