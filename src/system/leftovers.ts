/** What a process that was killed leaves of files it was just making, and how to be sure of those that were made. */
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { about } from './disk-trouble.ts';
import { beforeWrite } from './fence.ts';
import { isMissing, isOwnNeighbour, syncFolder } from './files.ts';

/** As `writeFileAtomic` of another process names them. */
const isNeighbour = (name: string): boolean =>
  /^\..+\.[0-9a-f]{12}\d*\.tmp$/.test(name) && !isOwnNeighbour(name);

/** Removes from `folder` what a process that was killed has left there in place of the file that it was replacing, or
 *  what one that is stopped waits to rename: without it that write cannot come to its end. Nobody who owns the folder
 *  but ourselves may be replacing files there at the time. A folder that is not there has nothing. */
export async function removeNeighbours(folder: string): Promise<void> {
  for (const name of await neighboursIn(folder)) {
    const path = join(folder, name);
    beforeWrite(path);
    await rm(path, { force: true });
  }
}

/** Whether there is anything that `removeNeighbours` would remove. */
export const hasNeighbours = async (folder: string): Promise<boolean> =>
  (await neighboursIn(folder)).length > 0;

async function neighboursIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(isNeighbour);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Removes the locks that git commands left in a repository when they were killed: they would keep every later one out.
 *  No git may be at work there. */
export async function removeGitLocks(repository: string): Promise<void> {
  const top = await readdir(repository).catch(() => []);
  const refs = await readdir(join(repository, 'refs'), { recursive: true }).catch(() => []);
  for (const name of [...top, ...refs.map((ref) => join('refs', ref))])
    if (name.endsWith('.lock')) {
      const path = join(repository, name);
      beforeWrite(path);
      await rm(path, { force: true });
    }
}

/** Flushes every file and folder of a tree to the disk; links are not followed. */
export async function flushTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await flushTree(path);
    else if (entry.isFile()) await flushFile(path);
  }
  await syncFolder(folder);
}

/** Flushes a file that is there. */
export async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await about(path, file.sync());
  } finally {
    await file.close();
  }
}
