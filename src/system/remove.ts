/** Whole folders, taken away. */
import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { named } from './disk-trouble.ts';
import { beforeWrite } from './fence.ts';
import { isCode, isMissing, nameBeside, removeIfEmpty, unlockFolder } from './files.ts';

/** Removes what is there, a folder with all that is in it, however it is locked; nothing where nothing is. What a link leads
 *  to stays, and so do the modes of the folder that `path` is in. What cannot be removed keeps nothing beside it; rejects then,
 *  with the system's first error.
 *
 *  Node's `rm` removes what is in a folder all at once: when one thing fails it has ended, and goes on with the others. */
export async function removeTree(path: string): Promise<void> {
  // With a slash at its end a link would be the folder that it leads to.
  const top = Buffer.from(resolve(path));
  const found = lstatSync(top, { throwIfNoEntry: false });
  // A read-only disk refuses to remove what is not there, too.
  if (found === undefined) return;
  if (found.isDirectory()) await removeFolder(top, { removed: 0 });
  else unlessGone(() => unlinkSync(top));
}

/** As `removeTree`, for a path that will be used again: the folder gets another name first, in one call. A process that
 *  is stopped while it removes, and taken over meanwhile, then removes nothing of its successor's. The folder that it was in
 *  goes too where nothing else is in it. */
export async function removeAside(path: string): Promise<void> {
  beforeWrite(path);
  const aside = nameBeside(path);
  let isAside = false;
  try {
    renameSync(path, aside);
    isAside = true;
  } catch (error) {
    if (isMissing(error)) return;
    // A folder of a layer below, on an overlay, cannot be renamed.
    if (!isCode(error, 'EXDEV')) throw named(path, error);
  }
  await removeTree(isAside ? aside : path);
  // That may have taken long.
  beforeWrite(path);
  removeIfEmpty(dirname(path));
}

/** How many times a folder is emptied into which somebody puts things meanwhile. */
const rounds = 3;
/** After how many removals others have their turn: signals, the heartbeat. */
const atOnce = 500;

async function removeFolder(folder: Buffer, count: { removed: number }): Promise<void> {
  unlockFolder(folder);
  for (let round = 1; ; round++) {
    const kept: unknown[] = [];
    for (const name of namesIn(folder)) {
      // As bytes, since a name need be no UTF-8.
      const path = Buffer.concat([folder, Buffer.from('/'), name]);
      try {
        if (isFolder(path)) await removeFolder(path, count);
        else unlessGone(() => unlinkSync(path));
      } catch (error) {
        // Others may have made it, and only they can remove it.
        kept.push(error);
      }
      if (++count.removed % atOnce === 0) await setImmediate();
    }
    if (kept.length > 0) throw kept[0];
    try {
      return unlessGone(() => rmdirSync(folder));
    } catch (error) {
      if (!isCode(error, 'ENOTEMPTY', 'EEXIST') || round === rounds) throw error;
    }
  }
}

const isFolder = (path: Buffer): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function namesIn(folder: Buffer): readonly Buffer[] {
  try {
    return readdirSync(folder, { encoding: 'buffer' });
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
