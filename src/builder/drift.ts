/** Removes what checks leave in the workspace: it is in no commit, so no later order may depend on it. */
import { lstat, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inWorkspace } from '../model/layout.ts';
import { sha256 } from '../model/sha256.ts';
import type { CommandIo } from '../system/command-io.ts';
import type { Environment } from '../system/git.ts';
import { differing, flushNames, pathsOf, putFiles, standsIn, treeWith, type Where } from './commit.ts';
import { historyGit, inHistory } from './in-history.ts';
import { type StageFailure, stageFailure } from './stage.ts';
import type { CurrentOrder } from './state.ts';
import type { Place } from './tool.ts';

export type Written = NonNullable<CurrentOrder['written']>;

/** The workspace at the start of the attempt. */
export type Before = {
  readonly tree: ReadonlyMap<
    string,
    { readonly kind: 'file' | 'dir' | 'link'; readonly mode: number; readonly hash?: string }
  >;
  /** Restores the paths for which `only` returns true. */
  restore(only: (path: string) => boolean): Promise<void>;
};

const whereOf = (place: Place, io: CommandIo): Where => ({
  historyDir: place.run.history,
  workspace: place.workspace,
  env: io.env,
});

/** Records what a proposal has written, before any check can change it: the tree to commit, and the permission bits. */
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
  // As a checkout has them (line ends): the checks must see the files that the commit and its users will have.
  await putFiles(
    whereOf(place, io),
    made.tree,
    Object.entries(modes).map(([path, mode]) => ({ path, mode })),
  );
  return { tree: made.tree, modes };
}

/** Restores the paths for which `isPutBack` holds to the state at the start of the attempt, and the order's own files to
 *  what was written. Returns the paths that the checks had changed, sorted, without new files that `.gitignore` hides. */
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
    // Removes the order's own files too; they are written below. A check may have put a folder or link in their place.
    await before.restore(isPutBack);
  }
  const files = Object.entries(written.modes).map(([path, mode]) => ({ path, mode }));
  await putFiles(where, written.tree, files);
  return [...own, ...others].sort();
}

/** Whether a path is restored to the state at the start of an attempt: the project's files and, in `.factory/`, the run's
 *  inputs, plan and orders, which later nodes read again. The rest of `.factory/` belongs to the build or to a pipeline
 *  that keeps data across attempts. */
export const isPutBack = (path: string): boolean =>
  !isIn(inWorkspace.factory, path) || readAgain.some((folder) => isIn(folder, path));

const readAgain = [inWorkspace.inputs, inWorkspace.plan, inWorkspace.orders];
const isIn = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Paths of the head that changed since the attempt began, and new ones that are in no commit. */
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
  // Reads files whose stat data differ; exits with 1 if any differs.
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
    // A file that a filter converts differs from its commit without having been changed.
    if (
      tracked.has(path) ? await isAsBefore(place.workspace, path, since.before) : since.before.tree.has(path)
    )
      continue;
    drift.push(path);
  }
  // Files in `.factory/` are in no commit, and the calls of git above leave them out.
  for (const [path, { kind }] of since.before.tree)
    if (kind === 'file' && path.startsWith(`${inWorkspace.factory}/`) && isPutBack(path))
      if (!(await isAsBefore(place.workspace, path, since.before))) drift.push(path);
  return [...new Set(drift)];
}

async function isAsBefore(workspace: string, path: string, before: Before): Promise<boolean> {
  const was = before.tree.get(path);
  const found = await standsIn(workspace, path);
  if (found === undefined) return was === undefined;
  // Git alone compares links; a folder is a submodule, whose content git does not know.
  if (was?.kind === 'dir') return found.isDirectory();
  if (was?.kind !== 'file' || !found.isFile()) return false;
  return (found.mode & 0o7777) === was.mode && sha256(await readFile(join(workspace, path))) === was.hash;
}
