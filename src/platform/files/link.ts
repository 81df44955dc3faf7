/** Files that exist once: of several writers the first wins, whichever process it is. */
import { closeSync, fdatasync, linkSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { named } from './disk-error.ts';
import { beforeWrite } from './fence.ts';
import { isCode, isMissing, makeFolder, syncFolder, tempSibling } from './write.ts';

const datasync = promisify(fdatasync);

/** How often a temporary file is written again: the owner of a run removes those that it finds there. */
const mostTries = 20;

/** Makes the file with this text, whole and flushed with its name. False where the name exists already: nothing is changed then. */
export async function linkOnce(path: string, text: string): Promise<boolean> {
  makeFolder(dirname(path));
  for (let tries = 1; ; tries++) {
    const temporary = tempSibling(path);
    try {
      await writeFlushed(temporary, text);
      beforeWrite(path);
      linkSync(temporary, path);
      break;
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false;
      if (!isMissing(error) || tries === mostTries) throw named(path, error);
    } finally {
      rmSync(temporary, { force: true });
    }
  }
  await syncFolder(dirname(path));
  return true;
}

/** Makes a new file and flushes it, not its name. A process that is killed meanwhile leaves a part of it. */
export async function writeFlushed(path: string, text: string, mode = 0o600): Promise<void> {
  beforeWrite(path);
  const file = openSync(path, 'wx', mode);
  try {
    const bytes = Buffer.from(text);
    for (let from = 0; from < bytes.length; ) from += writeSync(file, bytes, from);
    await datasync(file);
  } finally {
    closeSync(file);
  }
}
