/** Removes whole folders. */
import {
  closeSync,
  fsync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { about, named } from './disk-error.ts';
import { beforeWrite } from './fence.ts';
import { namesIn } from './read.ts';
import {
  isCode,
  isMissing,
  isTempSibling,
  removeIfEmpty,
  removeNow,
  temporaryName,
  unlockFolder,
} from './write.ts';

/** Removes a file, or a folder with its content, whatever its permissions; nothing where nothing exists. A link's target
 *  stays unchanged, and so do the permissions of the parent folder. If one entry cannot be removed, the others still are;
 *  then rejects with the system's first error. Node's `rm` is not used: it rejects at the first error while other
 *  removals are still running. */
export async function removeTree(path: string): Promise<void> {
  // With a trailing slash a symbolic link would mean its target.
  const top = Buffer.from(resolve(path));
  const found = lstatSync(top, { throwIfNoEntry: false });
  // A read-only disk also refuses to remove a missing path.
  if (found === undefined) return;
  if (found.isDirectory()) await removeFolder(top, { removed: 0 });
  else unlessMissing(() => unlinkSync(top));
}

/** As `removeTree`, for a path that will be used again: the folder is renamed first, in one call. A process that is
 *  stopped during the removal and then superseded therefore removes nothing of its successor. The parent folder is
 *  removed too if it is empty. */
export async function removeAside(path: string): Promise<void> {
  const aside = moveAside(path);
  if (aside === undefined) return;
  await removeTree(aside);
  // The removal may have taken long.
  beforeWrite(path);
  removeIfEmpty(dirname(path));
}

/** Gives a folder another name, for `removeMoved`; undefined where there is none. */
export function moveAside(path: string): string | undefined {
  beforeWrite(path);
  const aside = temporaryName(path);
  try {
    renameSync(path, aside);
    return aside;
  } catch (error) {
    if (isMissing(error)) return undefined;
    // On an overlay, a folder of a lower layer cannot be renamed.
    if (isCode(error, 'EXDEV')) return path;
    throw named(path, error);
  }
}

/** Removes what this process has moved aside in a folder. */
export async function removeMoved(folder: string): Promise<void> {
  for (const name of namesIn(folder)) {
    if (!isTempSibling(name)) continue;
    beforeWrite(folder);
    await removeTree(join(folder, name));
  }
}

/** How many times a folder is emptied while another process adds files. */
const rounds = 3;
/** After how many removals the event loop gets a turn, for signals and the heartbeat. */
const atOnce = 500;

async function removeFolder(folder: Buffer, count: { removed: number }): Promise<void> {
  for (let round = 1, isUnlocked = false; ; round++) {
    try {
      await empty(folder, count);
      return unlessMissing(() => rmdirSync(folder));
    } catch (error) {
      // Only then are its permissions looked at: for most folders they are right.
      if (isCode(error, 'EACCES', 'EPERM') && !isUnlocked) isUnlocked = unlockFolder(folder);
      else if (!isCode(error, 'ENOTEMPTY', 'EEXIST') || round >= rounds) throw error;
    }
  }
}

async function empty(folder: Buffer, count: { removed: number }): Promise<void> {
  const kept: unknown[] = [];
  for (const entry of entriesOf(folder)) {
    // As bytes, since a name may not be UTF-8.
    const path = Buffer.concat([folder, Buffer.from('/'), entry.name]);
    try {
      if (entry.isDirectory()) await removeFolder(path, count);
      else unlessMissing(() => unlinkSync(path));
    } catch (error) {
      // Another user may own it, and only that user can remove it.
      kept.push(error);
    }
    if (++count.removed % atOnce === 0) await setImmediate();
  }
  if (kept.length > 0) throw kept[0];
}

function entriesOf(folder: Buffer) {
  try {
    return readdirSync(folder, { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Does `act`; it is well where what it is about is not there. */
export function unlessMissing(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Removes what a killed process has left of files that it was writing, and flushes files that others wrote. */
const sync = promisify(fsync);

/** A temporary file of `writeFileAtomic` in another process. */
const isNeighbour = (name: string): boolean =>
  /^\..+\.[0-9a-f]{12}\d*\.tmp$/.test(name) && !isTempSibling(name);

/** Removes the temporary files that other processes have left in `folder`: those of one that was killed before its rename,
 *  and those of one that is stopped, whose rename must fail when it is continued. Only for the folder's owner. A missing
 *  folder has none. */
export async function removeTempSiblings(folder: string): Promise<void> {
  if (lacks(folder, 0o700)) {
    beforeWrite(folder);
    unlockFolder(folder);
  }
  for (const name of await neighboursIn(folder)) removeNow(join(folder, name));
}

/** Whether there is anything that `removeTempSiblings` would remove, or may be in a folder that cannot be read. Changes nothing:
 *  the run may be on a read-only disk. */
export const hasTempSiblings = async (folder: string): Promise<boolean> =>
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
