/** What a process that was killed leaves of files it was just making, and how to be sure of those that were made. */
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { about } from './disk-trouble.ts';
import { isMissing, syncFolder } from './files.ts';

const isNeighbour = (name: string): boolean => /^\..+\.[0-9a-f]{12}\.tmp$/.test(name);

/** Removes from `folder` what a killed process has left there in place of the file that it was replacing. Nobody may be
 *  replacing files there at the time. A folder that is not there has nothing. */
export async function removeNeighbours(folder: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const name of names.filter(isNeighbour)) await rm(join(folder, name), { force: true });
}

/** Flushes every file and folder of a tree to the disk; links are not followed. */
export async function flushTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await flushTree(path);
    else if (entry.isFile()) await about(path, flushFile(path));
  }
  await syncFolder(folder);
}

async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
