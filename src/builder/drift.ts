/** What checks leave behind: no commit holds it, and no later order may lean on it. */
import { lstat, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inWorkspace } from '../model/layout.ts';
import { sha256 } from '../model/sha256.ts';
import type { Environment } from '../system/git.ts';
import { differing, flushNames, pathsOf, putFiles, standsIn, treeWith, type Where } from './commit.ts';
import { historyGit, inHistory } from './in-history.ts';
import { type StageFailure, stageFailure } from './stage.ts';
import type { CurrentOrder } from './state.ts';
import type { CommandIo, Place } from './tool.ts';

type Written = NonNullable<CurrentOrder['written']>;

/** The workspace as it was when the attempt began. */
export type Before = {
  readonly tree: ReadonlyMap<
    string,
    { readonly kind: 'file' | 'dir' | 'link'; readonly mode: number; readonly hash?: string }
  >;
  /** Puts back the paths that it answers true for. */
  restore(only: (path: string) => boolean): Promise<void>;
};

const whereOf = (place: Place, io: CommandIo): Where => ({
  historyDir: place.run.history,
  workspace: place.workspace,
  env: io.env,
});

/** Notes what a proposal has written, before any check can change it: the tree to commit, and the permission bits. */
export async function whatWasWritten(
  place: Place,
  head: string | null,
  touched: readonly string[],
  io: CommandIo,
): Promise<Written | StageFailure> {
  const made = await treeWith({ ...whereOf(place, io), parent: head, paths: touched });
  if ('problem' in made) return stageFailure('write_scope_violation', made.problem);
  await flushNames(place.run.history);
  const modes: Record<string, number> = {};
  for (const path of touched) modes[path] = (await lstat(join(place.workspace, path))).mode & 0o7777;
  return { tree: made.tree, modes };
}

/** Puts what `isPutBack` tells back to what it was when the attempt began, and the order's own files to what was written.
 *  Answers with what the checks had changed, sorted, without new files that `.gitignore` files hide. */
export async function putBackDrift(
  place: Place,
  current: { readonly touched: readonly string[]; readonly written: Written },
  before: Before | undefined,
  head: string | null,
  io: CommandIo,
): Promise<readonly string[]> {
  const where = whereOf(place, io);
  const { written, touched } = current;
  const now = await treeWith({ ...where, parent: head, paths: touched });
  const own =
    'problem' in now || now.tree === written.tree ? [] : await differing(where, now.tree, written.tree);
  let others: readonly string[] = [];
  if (before !== undefined) {
    others = await driftOf(place, { head, touched, before, env: io.env });
    // The own files go too, and come again on a clear way: a check may have put a folder or a link in their place.
    await before.restore(isPutBack);
  }
  const files = Object.entries(written.modes).map(([path, mode]) => ({ path, mode }));
  await putFiles(where, written.tree, files);
  return [...own, ...others].sort();
}

/** Whether a path is put back to what it was when an attempt began: the project's, and in `.factory/` the run's inputs, its
 *  plan and its orders, which later steps read again. All else there is the build's own, or that of a pipeline which keeps
 *  something through its attempts. */
export const isPutBack = (path: string): boolean =>
  !isIn(inWorkspace.factory, path) || readAgain.some((folder) => isIn(folder, path));

const readAgain = [inWorkspace.inputs, inWorkspace.plan, inWorkspace.orders];
const isIn = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Paths of the head that are not as they were, and new ones that are in no commit: no false alarms, each path by its
 *  own name. */
async function driftOf(
  place: Place,
  since: {
    readonly head: string | null;
    readonly touched: readonly string[];
    readonly before: Before;
    readonly env: Environment;
  },
): Promise<string[]> {
  const indexFile = inHistory(place.run.history).scratchIndex;
  for (const file of [indexFile, `${indexFile}.lock`]) await rm(file, { force: true });
  const git = historyGit(place.run.history, since.env, { workTree: place.workspace, indexFile });
  await git.text(['read-tree', since.head ?? '--empty']);
  // Reads what differs by its stat facts; exits with 1 where something does.
  await git.run(['update-index', '-q', '--ignore-submodules', '--refresh']);
  const changed = await git.list(['diff-files', '--ignore-submodules=all', '--name-only', '-z']);
  const hidden = ['--exclude-per-directory=.gitignore', '--exclude=/.factory/'];
  const others = await git.list(['ls-files', '--others', '-z', ...hidden]);
  await rm(indexFile, { force: true });
  const tracked = await pathsOf(place.run.history, since.head, since.env);
  const touched = new Set(since.touched);
  const drift: string[] = [];
  for (const path of new Set([...changed, ...others].map((one) => one.replace(/\/$/, '')))) {
    if (touched.has(path) || !isPutBack(path)) continue;
    // A file that a filter converts differs from its commit and has not been changed all the same.
    if (
      tracked.has(path) ? await isAsBefore(place.workspace, path, since.before) : since.before.tree.has(path)
    )
      continue;
    drift.push(path);
  }
  // No commit has these, and git is not asked about them.
  for (const [path, { kind }] of since.before.tree)
    if (kind === 'file' && path.startsWith(`${inWorkspace.factory}/`) && isPutBack(path))
      if (!(await isAsBefore(place.workspace, path, since.before))) drift.push(path);
  return [...new Set(drift)];
}

async function isAsBefore(workspace: string, path: string, before: Before): Promise<boolean> {
  const was = before.tree.get(path);
  const found = await standsIn(workspace, path);
  if (found === undefined) return was === undefined;
  // What is no file is compared by git alone; a folder stands for a submodule, whose content git does not know.
  if (was?.kind === 'dir') return found.isDirectory();
  if (was?.kind !== 'file' || !found.isFile()) return false;
  return (found.mode & 0o7777) === was.mode && sha256(await readFile(join(workspace, path))) === was.hash;
}
