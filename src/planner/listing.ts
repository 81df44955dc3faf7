/** The files that exist before a plan is carried out. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inWorkspace } from '../model/layout.ts';
import { isSealedPath } from '../policy/holdout.ts';
import { isMissing } from '../system/files.ts';
import { isFolder } from '../system/read.ts';

/** Folders of tools, skipped at any depth. */
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

/** Every file below `root`, as slash paths relative to it, sorted; without folders of tools and of the engine, `sealed`
 *  paths and folders whose names are not UTF-8, which a plan cannot name. A link to a file is listed, a link to a folder
 *  is neither followed nor listed. Rejects if `root` is not a readable folder. */
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
        // A file `.git` belongs to a separate working tree or a submodule.
        files.push(path);
    }
  }
  return files.sort();
}
