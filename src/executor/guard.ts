/** The artifacts of a work order's run lie outside of its directory: only who holds the repository writes them. */
import { heldBy } from '../builder/landing.ts';
import { commonGitDir } from '../builder/repository.ts';
import { beforeWrite, fence } from '../system/fence.ts';
import type { Environment } from '../system/git.ts';
import type { Request } from './request.ts';

/** Does `act` with the artifacts under the repository's lock, and hands it the repository's git folder, where there is
 *  one. */
export async function guarded<T>(
  request: Request,
  env: Environment,
  act: (gitDir: string | undefined) => Promise<T>,
): Promise<T> {
  const gitDir = await commonGitDir(request.repo, env);
  if (gitDir === undefined) return act(undefined);
  const open = fence(request.artifacts, () => beforeWrite(heldBy(gitDir)));
  try {
    return await act(gitDir);
  } finally {
    open();
  }
}
