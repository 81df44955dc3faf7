/** Flushes a tree whose files were written without a flush each. */
import { execFile } from 'node:child_process';
import { closeSync, constants, fsync, openSync, readdirSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { named } from './disk-error.ts';
import { isCode, isMissing } from './write.ts';

/** How many files and folders are flushed one by one, those of one or two executions; for more, the whole file system is
 *  flushed: that waits for the disk once. */
const mostOneByOne = 64;
const atOnce = 16;
const sync = promisify(fsync);
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Flushes the plain files and the folders of one or several trees; links are not followed, and unreadable entries
 *  are skipped. For a folder in `closed` only its entries are flushed. Rejects with the disk's error. */
export async function settleTree(
  folders: string | readonly string[],
  closed: readonly string[] = [],
): Promise<void> {
  const roots = typeof folders === 'string' ? [folders] : folders;
  const shut = new Set(closed.map(latin));
  const places: string[] = [];
  const open = roots.map(latin).reverse();
  let oneByOne = false;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    places.push(at);
    for (const entry of shut.has(at) ? [] : entriesOf(at)) {
      const name = entry.name.toString('latin1');
      if (entry.isDirectory()) open.push(`${at}/${name}`);
      else if (entry.isFile()) places.push(`${at}/${name}`);
    }
    if (oneByOne || places.length + open.length <= mostOneByOne) continue;
    // Not every system has this program; and a disk error shows up when a file is flushed, too.
    const all = promisify(execFile)('sync', ['-f', ...onePerDisk(roots)]);
    oneByOne = await all.then(
      () => false,
      () => true,
    );
    if (!oneByOne) return;
  }
  // Parallel flushes share one wait for the disk. A folder may be flushed before its files: nothing refers to the
  // tree before all is flushed.
  for (let from = 0; from < places.length; from += atOnce) {
    const done = await Promise.allSettled(places.slice(from, from + atOnce).map(flush));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }
}

/** One of the folders on each file system. */
function onePerDisk(folders: readonly string[]): string[] {
  const disks = new Map<number, string>();
  for (const folder of folders) {
    const is = statSync(folder, { throwIfNoEntry: false });
    if (is !== undefined) disks.set(is.dev, folder);
  }
  return [...disks.values()];
}

/** Any bytes as text. */
const latin = (path: string): string => Buffer.from(path).toString('latin1');

function entriesOf(folder: string) {
  try {
    // Bytes in and out: where the file system does not report an entry's type, Node joins the path itself to check
    // it.
    return readdirSync(Buffer.from(folder, 'latin1'), { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG')) return [];
    throw error;
  }
}

async function flush(place: string): Promise<void> {
  const path = Buffer.from(place, 'latin1');
  let file: number;
  try {
    file = openSync(path, flags);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENXIO', 'ENAMETOOLONG')) return;
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
