/** A snapshot put into a folder other than the workspace. */
import { lstatSync, readdirSync, renameSync, rmdirSync, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { beforeWrite } from '../system/fence.ts';
import { makeFolder } from '../system/files.ts';
import { removeTree } from '../system/remove.ts';
import { makeTemporary } from '../system/temporary.ts';
import { isWithin } from './dirs.ts';
import { below, shown } from './names.ts';
import { restoreTree } from './restore.ts';
import type { Tree } from './snapshot.ts';
import type { Store } from './store.ts';
import { codeOf, trouble, WorkspaceError } from './trouble.ts';

/** What a checkout is at work in, or has been. */
const sign = '.factory-checkout';

/** Makes `folder`, which must be missing or empty (a link to an empty one will do), hold exactly `tree`. One that is
 *  missing gets its name when it is whole, so that what a killed process has left is never taken for it, and the next
 *  try removes it. One that is there is filled where it stands (it may be a mount, or where a shell is at work), by one at
 *  a time, and keeps what a killed process had written. When it fails nothing stays, nor do folders above it that were not
 *  there before. Rejects with a WorkspaceError that names the path, or with what is wrong with the store. */
export async function checkoutTree(tree: Tree, folder: string, store: Store): Promise<void> {
  const given = resolve(folder);
  const become = (workspace: string, to: Tree, only?: (path: string) => boolean) =>
    restoreTree({ workspace, to, known: [], store, only, isNamed: true });
  if (isMissingAt(given)) return madeWhole(given, (workspace) => become(workspace, tree));
  const { workspace, ours } = await claimed(given);
  const isNoSign = (path: string): boolean => !path.startsWith(`${sign}-`) || tree.has(path);
  try {
    await become(workspace, tree, isNoSign);
  } catch (error) {
    // What stops the one often stops the others, and says it first: a disk that has become read-only.
    await become(workspace, new Map(), isNoSign).catch(() => {});
    await removeTree(ours).catch(() => {});
    throw error;
  }
  await removeTree(ours);
}

/** A path of `tree` in `folder` whose permissions the disk there has not kept, with what they are (some disks keep none);
 *  undefined where there is none. Looks at one path of each kind and mode: a disk keeps them or does not. */
export function modeLost(
  tree: Tree,
  folder: string,
): { readonly path: string; readonly is: number; readonly wanted: number } | undefined {
  const seen = new Set<string>();
  for (const [path, { kind, mode: wanted }] of tree) {
    const alike = `${kind} ${wanted}`;
    if (kind === 'link' || seen.has(alike)) continue;
    seen.add(alike);
    const found = lstatSync(below(folder, path), { throwIfNoEntry: false });
    if (found === undefined) continue;
    const is = found.mode & 0o7777;
    if (is !== wanted) return { path, is, wanted };
  }
  return undefined;
}

const no = (path: string, why: string): WorkspaceError =>
  new WorkspaceError(
    `cannot check out into "${shown(path)}": ${why}; name a folder that is missing or empty`,
  );

/** In words why nothing can be put there. */
function refusal(path: string, error: unknown): Error {
  const code = codeOf(error);
  if (code === 'ENOTEMPTY') return no(path, 'the folder is not empty');
  if (code === 'EEXIST' || code === 'ENOTDIR') return no(path, 'it is not a folder');
  // Of what the run has, nothing is to be made readable or left out.
  if (code === 'EACCES')
    return new WorkspaceError(
      `cannot check out into "${shown(path)}": this user may not write there; name another folder`,
    );
  return trouble('check out into', path, error);
}

function isMissingAt(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    throw refusal(path, error);
  }
}

/** Has a folder filled beside `path`, and gives it that name. */
async function madeWhole(path: string, fill: (folder: string) => Promise<void>): Promise<void> {
  let beside: string | undefined;
  let made: string | undefined;
  try {
    beforeWrite(path);
    made = makeFolder(dirname(path));
    beside = await makeTemporary(dirname(path), sign);
    // In a folder of its own, since that one is for our eyes only.
    const folder = join(beside, 'tree');
    makeFolder(folder);
    await fill(await realpath(folder));
    beforeWrite(path);
    renameSync(folder, path);
    await removeTree(beside);
  } catch (error) {
    if (beside !== undefined) await removeTree(beside).catch(() => {});
    if (made !== undefined) removeUpTo(made, dirname(path));
    throw refusal(path, error);
  }
}

/** Folders that hold nothing but each other, from `folder` up to `top`. */
function removeUpTo(top: string, folder: string): void {
  try {
    for (let at = folder; isWithin(top, at); at = dirname(at)) rmdirSync(at);
  } catch {
    // Somebody has put something into it, or has removed it. What went wrong before is what is to be told.
  }
}

/** An empty folder with our sign in it, by its real path. Of two who come at the same time, the later one sees the other's
 *  sign, or each does: never do both go on. */
async function claimed(path: string): Promise<{ readonly workspace: string; readonly ours: string }> {
  let ours: string | undefined;
  try {
    // A link that leads nowhere is no folder.
    makeFolder(path);
    if (readdirSync(path).length > 0) throw no(path, 'the folder is not empty');
    // A restore opens up a workspace that is closed; this folder is somebody's.
    if ((statSync(path).mode & 0o300) !== 0o300) throw no(path, 'the folder may not be written in');
    const workspace = await realpath(path);
    ours = await makeTemporary(workspace, sign);
    if (readdirSync(workspace).length > 1) throw no(path, 'the folder is not empty');
    return { workspace, ours };
  } catch (error) {
    if (ours !== undefined) await removeTree(ours);
    throw refusal(path, error);
  }
}
