/** Checks commits of a run out as a new clone would: with all attributes of the repository. Filters stay off. */
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { branchRef } from '../core/records/layout.ts';
import { removeTree } from '../platform/files/remove.ts';
import { isMissing, makeFolder } from '../platform/files/write.ts';
import { type Git, makeRepository, ownGit } from '../platform/git.ts';
import { moveRefs, overlook } from './commit.ts';

/** A repository with the commits of a run; what is done in it changes nothing of the run. */
export type BorrowedHistory = {
  readonly dir: string;
  readonly indexFile: string;
  /** Git with `workTree` as its working tree. */
  at(workTree: string): Git;
};

/** Creates a repository in the new folder `dir` that reads the objects of the history in `historyDir`. Its branch is at
 *  `head`. Unlike the history it has no separate attributes: those of the commits apply. */
export async function borrowHistory(
  historyDir: string,
  head: string,
  { dir, env }: { readonly dir: string; readonly env: Environment },
): Promise<BorrowedHistory> {
  const settingsFile = join(dir, 'settings');
  const indexFile = join(dir, 'index');
  const branch = branchRef.slice('refs/heads/'.length);
  await makeRepository(dir, { settingsFile, bare: true, branch, sha256: head.length === 64, env });
  makeFolder(join(dir, 'objects', 'info'));
  await writeFile(join(dir, 'objects', 'info', 'alternates'), `${join(historyDir, 'objects')}\n`);
  // The history ends at the commit with which the run began.
  await copyFile(join(historyDir, 'shallow'), join(dir, 'shallow')).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  await moveRefs(ownGit({ cwd: dir, gitDir: dir, settingsFile, env }), head);
  return {
    dir,
    indexFile,
    at: (workTree) => ownGit({ cwd: workTree, gitDir: dir, settingsFile, workTree, indexFile, env }),
  };
}

/** Writes the files of a commit, all or those of `paths`, into the empty folder `folder`. */
export async function checkOut(
  borrowed: BorrowedHistory,
  commit: string,
  folder: string,
  paths?: readonly string[],
): Promise<void> {
  const git = borrowed.at(folder);
  await git.text(['read-tree', commit]);
  const how = ['checkout-index', '--index', '--force', '--quiet'];
  if (paths === undefined) await git.text([...how, '--all']);
  else await git.text([...how, '-z', '--stdin'], { input: paths.map((path) => `${path}\0`).join('') });
}

/** Removes what `paths` name from a checkout; git does not report it. */
export async function leaveOut(
  borrowed: BorrowedHistory,
  folder: string,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0 || !(await overlook(borrowed.at(folder), paths))) return;
  for (const path of paths) await removeTree(join(folder, path));
}
