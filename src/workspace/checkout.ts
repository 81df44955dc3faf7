/** A snapshot put into a folder other than the workspace. */
import { lstatSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { makeFolder } from '../system/files.ts';
import { shown } from './names.ts';
import { restoreTree } from './restore.ts';
import type { Tree } from './snapshot.ts';
import type { Store } from './store.ts';
import { codeOf, trouble, WorkspaceError } from './trouble.ts';

/** Makes `folder`, which must be missing or empty (a link to an empty one will do), hold exactly `tree`. When it
 *  fails nothing stays in it, and it is gone where it was not there before; a process that is killed leaves what it
 *  had written. Rejects with a WorkspaceError that names the path, or with what is wrong with the store. */
export async function checkoutTree(tree: Tree, folder: string, store: Store): Promise<void> {
  const given = resolve(folder);
  const { workspace, isNew } = await emptyFolder(given);
  const become = (to: Tree) =>
    restoreTree({ workspace, to, known: [], store, only: undefined, isNamed: true });
  try {
    await become(tree);
  } catch (error) {
    await become(new Map());
    if (isNew) rmdirSync(workspace);
    throw error;
  }
}

async function emptyFolder(path: string): Promise<{ readonly workspace: string; readonly isNew: boolean }> {
  const no = (why: string): WorkspaceError =>
    new WorkspaceError(
      `cannot check out into "${shown(path)}": ${why}; name a folder that is missing or empty`,
    );
  try {
    const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
    makeFolder(path);
    if (readdirSync(path).length > 0) throw no('the folder is not empty');
    // A restore opens up a workspace that is closed; this folder is somebody's.
    if ((statSync(path).mode & 0o300) !== 0o300) throw no('the folder may not be written in');
    return { workspace: await realpath(path), isNew };
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOTDIR') throw no('it is not a folder');
    throw trouble('check out into', path, error);
  }
}
