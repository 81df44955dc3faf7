/** Removes whole folders. */
import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { named } from './disk-trouble.ts';
import { beforeWrite } from './fence.ts';
import { isCode, isMissing, isOwnNeighbour, nameBeside, removeIfEmpty, unlockFolder } from './files.ts';
import { namesIn } from './read.ts';

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
  else unlessGone(() => unlinkSync(top));
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
  const aside = nameBeside(path);
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
    if (!isOwnNeighbour(name)) continue;
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
      return unlessGone(() => rmdirSync(folder));
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
      else unlessGone(() => unlinkSync(path));
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

function unlessGone(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
