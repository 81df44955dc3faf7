/** A store of snapshots copied for another run, also while its owner adds to it. */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, syncFolder } from '../system/files.ts';
import { trouble } from './trouble.ts';

/** Copies the store in the folder `from` into the new folder `to`, flushed. Trees go first: whatever contents a tree
 *  names were on disk before it, so none that is copied names contents that are not. `from` is only read. Rejects with
 *  a WorkspaceError that names the file which cannot be copied. */
export async function copyStore(from: string, to: string): Promise<void> {
  await copyFolder(join(from, 'trees'), join(to, 'trees'));
  await copyFolder(from, to);
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await entriesOf(from)) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    // What is being written has another name when it counts.
    if (entry.name.endsWith('.tmp')) continue;
    if (entry.isDirectory()) {
      if (entry.name !== 'trees') await copyFolder(source, target);
    } else if (entry.isFile()) await copyFlushed(source, target);
  }
  await syncFolder(to);
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw trouble('read', folder, error);
  }
}

async function copyFlushed(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    const file = await open(to, 'r');
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw trouble('copy', from, error);
  }
}
