/** The files that a plan finds in place. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inWorkspace } from '../model/layout.ts';
import { isSealedPath } from '../policy/holdout.ts';
import { isMissing } from '../system/files.ts';
import { isFolder } from '../system/read.ts';

/** Folders of tools, left out at any depth. */
export const toolFolders: ReadonlySet<string> = new Set([
  '.git',
  '__pycache__',
  '.pytest_cache',
  'node_modules',
  '.mypy_cache',
  '.tox',
  '.venv',
  'venv',
  '.eggs',
]);

/** Every file below `root`, as slash paths relative to it, sorted; tools' folders and the engine's own are left
 *  out, and so are `sealed` paths and folders whose names are no UTF-8, which nobody could write down. A link to a file
 *  counts as one, a link to a folder is neither followed nor listed. Rejects when `root` is not a folder that can be read. */
export async function listRepoFiles(root: string, sealed: readonly string[] = []): Promise<string[]> {
  const files: string[] = [];
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(
      (error: unknown): Dirent[] => {
        if (folder !== '' && isMissing(error)) return [];
        throw error;
      },
    );
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (isSealedPath(path, sealed)) continue;
      if (entry.isDirectory()) {
        if (!toolFolders.has(entry.name) && path !== inWorkspace.factory) pending.push(path);
      } else if (entry.name !== '.git' && !(entry.isSymbolicLink() && isFolder(join(root, path))))
        // A `.git` that is a file is of a working tree beside its repository, or of a submodule.
        files.push(path);
    }
  }
  return files.sort();
}
