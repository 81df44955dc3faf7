/** Puts a tree on the disk whose files were written without a flush each. */
import { execFile } from 'node:child_process';
import { closeSync, constants, fsync, openSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { named } from './disk-trouble.ts';
import { isCode, isMissing } from './files.ts';

/** Files and folders that are flushed one by one; for more, the file system is asked to flush all that it has. */
const mostOneByOne = 200;
const atOnce = 16;
const sync = promisify(fsync);
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Flushes the plain files and the folders of a tree; links are not followed, and what may not be read is passed over.
 *  Rejects with the disk's error. Where there are many and the system has no `sync -f`, they are left to the system's own
 *  pace (half a minute or so). */
export async function settleTree(folder: string): Promise<void> {
  const places: string[] = [];
  // Bytes as text, whatever they are.
  const open = [Buffer.from(folder).toString('latin1')];
  for (let at = open.pop(); at !== undefined && places.length <= mostOneByOne; at = open.pop()) {
    places.push(at);
    for (const entry of entriesOf(at)) {
      if (entry.isDirectory()) open.push(`${at}/${entry.name}`);
      else if (entry.isFile()) places.push(`${at}/${entry.name}`);
    }
  }
  if (places.length + open.length > mostOneByOne) {
    await promisify(execFile)('sync', ['-f', folder]).catch(() => {});
    return;
  }
  // Several at once share one wait for the disk; a folder's names come after what they name all the same, since nothing
  // is said before all is there.
  for (let from = 0; from < places.length; from += atOnce) {
    const done = await Promise.allSettled(places.slice(from, from + atOnce).map(flush));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(Buffer.from(folder, 'latin1'), { withFileTypes: true, encoding: 'latin1' });
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM')) return [];
    throw error;
  }
}

async function flush(place: string): Promise<void> {
  const path = Buffer.from(place, 'latin1');
  let file: number;
  try {
    file = openSync(path, flags);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENXIO')) return;
    throw error;
  }
  try {
    await sync(file);
  } catch (error) {
    // Some file systems (network, overlay) cannot flush a folder.
    if (!isCode(error, 'EINVAL', 'ENOTSUP', 'EBADF')) throw named(path.toString(), error);
  } finally {
    closeSync(file);
  }
}
