/** A snapshot put into a folder other than the workspace. */
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeFolder } from '../system/files.ts';
import { isWithin } from './dirs.ts';
import { shown } from './names.ts';
import { restoreTree } from './restore.ts';
import type { Tree } from './snapshot.ts';
import type { Store } from './store.ts';
import { codeOf, trouble, WorkspaceError } from './trouble.ts';

/** Makes `folder`, which must be missing or empty (a link to an empty one will do), hold exactly `tree`. When it
 *  fails nothing stays in it, and it is gone with those above it that were not there before; a process that is killed
 *  leaves what it had written. Rejects with a WorkspaceError that names the path, or with what is wrong with the store. */
export async function checkoutTree(tree: Tree, folder: string, store: Store): Promise<void> {
  const given = resolve(folder);
  const { workspace, made } = await emptyFolder(given);
  const become = (to: Tree) =>
    restoreTree({ workspace, to, known: [], store, only: undefined, isNamed: true });
  try {
    await become(tree);
  } catch (error) {
    await become(new Map());
    if (made !== undefined) removeUpTo(made, given);
    throw error;
  }
}

/** Folders that hold nothing but each other, from `folder` up to `top`; what else came into one in between stays. */
function removeUpTo(top: string, folder: string): void {
  try {
    for (let at = folder; isWithin(top, at); at = dirname(at)) rmdirSync(at);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
  }
}

async function emptyFolder(
  path: string,
): Promise<{ readonly workspace: string; readonly made: string | undefined }> {
  const no = (why: string): WorkspaceError =>
    new WorkspaceError(
      `cannot check out into "${shown(path)}": ${why}; name a folder that is missing or empty`,
    );
  try {
    const made = makeFolder(path);
    if (readdirSync(path).length > 0) throw no('the folder is not empty');
    // A restore opens up a workspace that is closed; this folder is somebody's.
    if ((statSync(path).mode & 0o300) !== 0o300) throw no('the folder may not be written in');
    return { workspace: await realpath(path), made };
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOTDIR') throw no('it is not a folder');
    throw trouble('check out into', path, error);
  }
}
