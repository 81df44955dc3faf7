/** A store of snapshots copied for another run, also while its owner adds to it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, makeFolder, syncFolder } from '../system/files.ts';
import { pour } from './content.ts';
import { trouble } from './trouble.ts';

/** Copies the store in the folder `from` into the new folder `to`, flushed. Snapshots go first: whatever contents a snapshot
 *  names were on disk before it, so none that is copied names contents that are not. `from` is only read. Rejects with a
 *  WorkspaceError that names the file which cannot be copied. */
export async function copyStore(from: string, to: string): Promise<void> {
  await copyFolder(join(from, 'trees'), join(to, 'trees'));
  await copyFolder(join(from, 'large'), join(to, 'large'));
  await copyFolder(from, to);
}

/** The files of a folder, without its subfolders. */
async function copyFolder(from: string, to: string): Promise<void> {
  makeFolder(to);
  for (const entry of await entriesOf(from)) {
    // What is being written has another name when it counts.
    if (!entry.isFile() || entry.name.endsWith('.tmp')) continue;
    await copyFlushed(join(from, entry.name), join(to, entry.name));
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
    const { mode } = await stat(from);
    await pour(from, to, { mode: mode & 0o7777, sync: true });
  } catch (error) {
    throw trouble('copy', from, error);
  }
}
