/** Puts a tree on the disk whose files were written without a flush each. */
import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, fsync, openSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { named } from './disk-trouble.ts';
import { isCode, isMissing } from './files.ts';

/** Files and folders that are flushed one by one; for more, the file system is asked to flush all that it has. */
const mostOneByOne = 200;
const atOnce = 16;
const sync = promisify(fsync);
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Flushes the plain files and the folders of one tree or of several; links are not followed, and what may
 *  not be read is passed over. Of a folder in `closed` only its own names are flushed. Rejects with the disk's error. */
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
    // Not every system has such a program; and where it is the disk that fails, it says so of a file as well.
    const all = promisify(execFile)('sync', ['-f', ...roots.filter((root) => existsSync(root))]);
    oneByOne = await all.then(
      () => false,
      () => true,
    );
    if (!oneByOne) return;
  }
  // Several at once share one wait for the disk; a folder's names come after what they name all the same, since nothing
  // is said before all is there.
  for (let from = 0; from < places.length; from += atOnce) {
    const done = await Promise.allSettled(places.slice(from, from + atOnce).map(flush));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }
}

/** Bytes as text, whatever they are. */
const latin = (path: string): string => Buffer.from(path).toString('latin1');

function entriesOf(folder: string) {
  try {
    // Bytes in and out: where the file system does not tell what an entry is, Node joins the two itself to look.
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
