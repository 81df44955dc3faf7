/** Removes what checks leave in the workspace: it is in no commit, so no later order may depend on it. */
import { lstat, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { type StageFailure, stageFailure } from '../core/orders/failure-stage.ts';
import type { CurrentOrder } from '../core/records/build.ts';
import { historyLayout, inWorkspace } from '../core/records/layout.ts';
import { sha256 } from '../core/sha256.ts';
import { type CommitPlace, flushNames, putFiles, statWithin, treeWith } from '../git/commit.ts';
import { historyGit } from '../git/history.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { filesInside } from '../platform/files/inside.ts';
import type { StepContext } from './step-context.ts';

export type UntrackedChange = NonNullable<CurrentOrder['written']>;

/** The workspace at the start of the attempt. */
export type WorkspaceBefore = {
  readonly tree: ReadonlyMap<
    string,
    { readonly kind: 'file' | 'dir' | 'link'; readonly mode: number; readonly hash?: string }
  >;
  /** Restores the paths for which `only` returns true. */
  restore(only: (path: string) => boolean): Promise<void>;
};

const whereOf = (place: StepContext, io: CommandIo): CommitPlace => ({
  historyDir: place.run.history,
  workspace: place.workspace,
  env: io.env,
});

/** Records what a proposal has written, before any check can change it: the tree to commit, and the permission bits. */
export async function untrackedChanges(
  place: StepContext,
  head: string | null,
  touched: readonly string[],
  io: CommandIo,
): Promise<UntrackedChange | StageFailure> {
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
  const hashes: Record<string, string> = {};
  for (const path of touched) hashes[path] = sha256(await readFile(join(place.workspace, path)));
  return { tree: made.tree, modes, hashes };
}

/** Restores the paths for which `isPutBack` holds to the state at the start of the attempt, and the order's own files to
 *  what was written. Returns the paths that the checks had changed, sorted, without new files that `.gitignore` hides. */
export async function removeUntracked(
  place: StepContext,
  current: { readonly touched: readonly string[]; readonly written: UntrackedChange },
  before: WorkspaceBefore | undefined,
  head: string | null,
  io: CommandIo,
): Promise<readonly string[]> {
  const { written, touched } = current;
  const unchanged = new Map<string, Buffer>();
  for (const path of touched) {
    const bytes = await asWritten(place.workspace, path, written);
    if (bytes !== undefined) unchanged.set(path, bytes);
  }
  const own = touched.filter((path) => !unchanged.has(path));
  let others: readonly string[] = [];
  if (before !== undefined) {
    others = await driftOf(place, { head, touched, before, env: io.env });
    // Removes the order's own files too; they are written below. A check may have put a folder or link in their place.
    await before.restore(isPutBack);
  }
  const modeOf = (path: string): number => written.modes[path] ?? 0o644;
  const files = filesInside(place.workspace);
  for (const [path, bytes] of unchanged) await files.write(path, bytes, { mode: modeOf(path) });
  if (own.length > 0)
    await putFiles(
      whereOf(place, io),
      written.tree,
      own.map((path) => ({ path, mode: modeOf(path) })),
    );
  return [...own, ...others].sort();
}

/** The content of a file if it is as the proposal wrote it. */
async function asWritten(
  workspace: string,
  path: string,
  written: UntrackedChange,
): Promise<Buffer | undefined> {
  const found = await statWithin(workspace, path);
  if (found?.isFile() !== true || ((found.mode ^ (written.modes[path] ?? 0)) & 0o111) !== 0) return undefined;
  const bytes = await readFile(join(workspace, path));
  return sha256(bytes) === written.hashes[path] ? bytes : undefined;
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
  place: StepContext,
  since: {
    readonly head: string | null;
    readonly touched: readonly string[];
    readonly before: WorkspaceBefore;
    readonly env: Environment;
  },
): Promise<string[]> {
  const indexFile = historyLayout(place.run.history).scratchIndex;
  for (const file of [indexFile, `${indexFile}.lock`]) await rm(file, { force: true });
  const git = historyGit(place.run.history, since.env, { workTree: place.workspace, indexFile });
  if (since.head !== null) await git.text(['read-tree', since.head]);
  // Compares files whose stat data differ. `XY path`: Y is what the workspace has done to it, `??` a path that is in no commit.
  const all = ['--untracked-files=all', '--ignore-submodules=all', '--no-renames'];
  const listed = await git.list(['status', '--porcelain=v1', '-z', ...all]);
  await rm(indexFile, { force: true });
  const touched = new Set(since.touched);
  const drift: string[] = [];
  for (const one of listed) {
    const isTracked = one[1] !== '?';
    const path = one.slice(3).replace(/\/$/, '');
    if (one[1] === ' ' || touched.has(path) || !isPutBack(path)) continue;
    // A file that a filter converts differs from its commit without having been changed.
    if (isTracked ? await isAsBefore(place.workspace, path, since.before) : since.before.tree.has(path))
      continue;
    drift.push(path);
  }
  // Files in `.factory/` are in no commit, and the calls of git above leave them out.
  for (const [path, { kind }] of since.before.tree)
    if (kind === 'file' && path.startsWith(`${inWorkspace.factory}/`) && isPutBack(path))
      if (!(await isAsBefore(place.workspace, path, since.before))) drift.push(path);
  return [...new Set(drift)];
}

async function isAsBefore(workspace: string, path: string, before: WorkspaceBefore): Promise<boolean> {
  const was = before.tree.get(path);
  const found = await statWithin(workspace, path);
  if (found === undefined) return was === undefined;
  // Git alone compares links; a folder is a submodule, whose content git does not know.
  if (was?.kind === 'dir') return found.isDirectory();
  if (was?.kind !== 'file' || !found.isFile()) return false;
  return (found.mode & 0o7777) === was.mode && sha256(await readFile(join(workspace, path))) === was.hash;
}
