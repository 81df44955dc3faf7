/** Removes what a killed process has left of files that it was writing, and flushes files that others wrote. */
import { closeSync, fsync, lstatSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { about } from './disk-trouble.ts';
import { beforeWrite } from './fence.ts';
import { isCode, isMissing, isOwnNeighbour, removeNow, unlockFolder } from './files.ts';

const sync = promisify(fsync);

/** A temporary file of `writeFileAtomic` in another process. */
const isNeighbour = (name: string): boolean =>
  /^\..+\.[0-9a-f]{12}\d*\.tmp$/.test(name) && !isOwnNeighbour(name);

/** Removes the temporary files that other processes have left in `folder`: those of one that was killed before its rename,
 *  and those of one that is stopped, whose rename must fail when it is continued. Only for the folder's owner. A missing
 *  folder has none. */
export async function removeNeighbours(folder: string): Promise<void> {
  if (lacks(folder, 0o700)) {
    beforeWrite(folder);
    unlockFolder(folder);
  }
  for (const name of await neighboursIn(folder)) removeNow(join(folder, name));
}

/** Whether there is anything that `removeNeighbours` would remove, or may be in a folder that cannot be read. Changes nothing:
 *  the run may be on a read-only disk. */
export const hasNeighbours = async (folder: string): Promise<boolean> =>
  lacks(folder, 0o500) || (await neighboursIn(folder)).length > 0;

/** A node may have made its folder inaccessible before it was killed with its engine. */
function lacks(folder: string, mode: number): boolean {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && (found.mode & mode) !== mode;
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ELOOP')) return false;
    throw error;
  }
}

async function neighboursIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(isNeighbour);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ELOOP')) return [];
    throw error;
  }
}

/** Removes the locks that git commands left in a repository when they were killed: they would block every later one.
 *  No git may be at work there. */
export async function removeGitLocks(repository: string): Promise<void> {
  const top = await readdir(repository).catch(() => []);
  const refs = await readdir(join(repository, 'refs'), { recursive: true }).catch(() => []);
  for (const name of [...top, ...refs.map((ref) => join('refs', ref))])
    if (name.endsWith('.lock')) removeNow(join(repository, name));
}

/** Flushes a file that others have written. */
export async function flushFile(path: string): Promise<void> {
  const file = openSync(path, 'r');
  try {
    await about(path, sync(file));
  } finally {
    closeSync(file);
  }
}
