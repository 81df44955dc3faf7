/** The tree that a workspace would have as the next commit. */
import type { Environment } from '../core/contracts/process.ts';
import { isSealedPath } from '../core/policy/holdout-paths.ts';
import { historyLayout } from '../core/records/layout.ts';
import { treeWith } from './commit.ts';
import { historyGit, readHistoryStart } from './history.ts';
import { unignoredFiles } from './start-history.ts';

/** The tree of `commit` with all files of the workspace that it has or that `.gitignore` files do not hide. What of the first commit was
 *  never in the workspace (`had`: its files at the start), such as a holdout, stays as the commit has it. Writes objects into `historyDir`:
 *  a copy. */
export async function treeOnCommit(where: {
  readonly historyDir: string;
  readonly workspace: string;
  readonly commit: string;
  readonly had: { has(path: string): boolean };
  readonly env: Environment;
}): Promise<{ readonly tree: string } | { readonly problem: string }> {
  const { historyDir, workspace, commit, had, env } = where;
  const { first_commit: first, left_out, submodules } = await readHistoryStart(historyDir);
  const indexFile = historyLayout(historyDir).scratchIndex;
  const git = historyGit(historyDir, env, { workTree: workspace, indexFile });
  await git.text(['read-tree', commit]);
  const began = first === null ? [] : await git.list(['ls-tree', '-r', '--name-only', '-z', first]);
  const hidden = new Set(began.filter((path) => !had.has(path)));
  const out = [...left_out, ...submodules].map((path) => path.replace(/\/+$/, ''));
  const all = [...(await git.list(['ls-files', '-z'])), ...(await unignoredFiles(git))];
  const paths = all.filter((path) => !hidden.has(path) && !isSealedPath(path, out));
  return treeWith({ historyDir, workspace, parent: commit, paths, env });
}
