/** What checks changed beside an order's own files: no false alarms, each path by its own name. */
import { rm } from 'node:fs/promises';
import type { Environment } from '../system/git.ts';
import { historyGit, inHistory } from './in-history.ts';
import type { Place } from './tool.ts';

/** Sorted paths that differ from the commit `head` or are in no commit, without `touched`, what `.gitignore` files
 *  hide, and `.factory/`. */
export async function driftOf(
  place: Place,
  since: { readonly head: string | null; readonly touched: readonly string[]; readonly env: Environment },
): Promise<string[]> {
  const indexFile = inHistory(place.run.history).scratchIndex;
  for (const file of [indexFile, `${indexFile}.lock`]) await rm(file, { force: true });
  const git = historyGit(place.run.history, since.env, { workTree: place.workspace, indexFile });
  await git.text(['read-tree', since.head ?? '--empty']);
  // Reads what differs by its stat facts; exits with 1 where something does.
  await git.run(['update-index', '-q', '--refresh']);
  const changed = await git.list(['diff-files', '--name-only', '-z']);
  const hidden = ['--exclude-per-directory=.gitignore', '--exclude=/.factory/'];
  const others = await git.list(['ls-files', '--others', '-z', ...hidden]);
  await rm(indexFile, { force: true });
  const touched = new Set(since.touched);
  const paths = [...changed, ...others].map((path) => path.replace(/\/$/, ''));
  return [...new Set(paths)].filter((path) => !touched.has(path) && !path.startsWith('.factory/')).sort();
}
