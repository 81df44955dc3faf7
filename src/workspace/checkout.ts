/** A snapshot put into a folder other than the workspace. */
import { lstatSync, readdirSync, realpathSync, renameSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ContentStore } from '../contents/store.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { below, shownPath, toBytes } from '../platform/files/names.ts';
import { readNames } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary } from '../platform/files/temporary.ts';
import { codeOf, trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { makeFolder } from '../platform/files/write.ts';
import { restoreTree } from './restore.ts';
import { isWithin } from './roots.ts';
import type { Tree } from './snapshot.ts';

/** Makes `folder`, which must be missing or empty (a link to an empty one will do), hold exactly `tree`. The tree is made in a
 *  temporary folder and moved when it is complete; what a killed process has left of one, the next try removes. When it fails
 *  nothing stays, nor do folders above it that were not there before. Rejects with a WorkspaceError that names the path, or
 *  with what is wrong with the store. */
export async function checkoutTree(tree: Tree, folder: string, store: ContentStore): Promise<void> {
  const path = resolve(folder);
  let temporary: string | undefined;
  let made: string | undefined;
  try {
    beforeWrite(path);
    const isMissing = lstatSync(path, { throwIfNoEntry: false }) === undefined;
    if (isMissing) made = makeFolder(dirname(path));
    else checkEmpty(path);
    // Inside a folder that is there: it may be a mount, or the current folder of a shell.
    temporary = await makeTemporary(isMissing ? dirname(path) : path, '.factory-checkout');
    const workspace = join(realpathSync.native(temporary), 'tree');
    // A separate folder, since a temporary one is readable by its owner only.
    makeFolder(workspace);
    await restoreTree({ workspace, to: tree, known: [], store, only: undefined, isNew: true });
    beforeWrite(path);
    if (isMissing) renameSync(workspace, path);
    else moveInto(workspace, path);
    await removeTree(temporary);
  } catch (error) {
    if (temporary !== undefined) await removeTree(temporary).catch(() => {});
    if (made !== undefined) removeUpTo(made, dirname(path));
    throw refusal(path, error);
  }
}

function checkEmpty(path: string): void {
  // A link that leads nowhere is no folder.
  makeFolder(path);
  if (readdirSync(path).some((name) => !name.startsWith('.factory-checkout-')))
    throw no(path, 'the folder is not empty');
  if ((statSync(path).mode & 0o300) !== 0o300) throw no(path, 'the folder may not be written in');
}

/** Moves what is in a folder into the folder `path`, where nothing else is by now. */
function moveInto(from: string, path: string): void {
  if (readdirSync(path).length > 1) throw no(path, 'the folder is not empty');
  for (const name of readNames(from)) renameSync(below(from, name), toBytes(join(path, name)));
}

const no = (path: string, why: string): WorkspaceError =>
  new WorkspaceError(
    `cannot check out into "${shownPath(path)}": ${why}; name a folder that is missing or empty`,
  );

/** Why nothing can be put there. */
function refusal(path: string, error: unknown): Error {
  const code = codeOf(error);
  if (code === 'ENOTEMPTY') return no(path, 'the folder is not empty');
  if (code === 'EEXIST' || code === 'ENOTDIR') return no(path, 'it is not a folder');
  if (code === 'EACCES')
    return new WorkspaceError(
      `cannot check out into "${shownPath(path)}": this user may not write there; name another folder`,
    );
  return trouble('check out into', path, error);
}

/** Folders that hold nothing but each other, from `folder` up to `top`. */
function removeUpTo(top: string, folder: string): void {
  try {
    for (let at = folder; isWithin(top, at); at = dirname(at)) rmdirSync(at);
  } catch {
    // Another process has put something into it, or has removed it. The first error is reported.
  }
}
