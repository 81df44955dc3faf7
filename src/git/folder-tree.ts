/** The tree that git makes of a folder. */
import type { Environment } from '../core/contracts/process.ts';
import { treeWith } from './commit.ts';
import { historyGit } from './history.ts';
import { type GitProblem, startHistory, unignoredFiles } from './start-history.ts';

/** The tree of every file and link of `folder` that its `.gitignore` files do not hide, without `.factory/`: what the first commit of
 *  a run has of a folder. `historyDir` is a missing folder for git's files. */
export async function treeOfFolder(
  folder: string,
  historyDir: string,
  env: Environment,
): Promise<{ readonly tree: string } | GitProblem> {
  const started = await startHistory({ workdir: undefined, historyDir, allowDirty: false, runId: '', env });
  if ('problem' in started) return started;
  const paths = await unignoredFiles(historyGit(historyDir, env, { workTree: folder }));
  const made = await treeWith({ historyDir, workspace: folder, parent: null, paths, env });
  // A new history has no submodules, so nothing can lie in one.
  if ('problem' in made) throw new Error(`Internal: ${made.problem}`);
  return made;
}
