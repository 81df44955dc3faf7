/** Standard input of a caller, which the launcher reads ahead for the product. */
import fs, { type Stats } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { linkTarget } from './links.ts';

export type InputKind = 'none' | 'null' | 'file' | 'pipe' | 'socket' | 'other';

export const inputKind = (stats: () => Stats): InputKind => {
  try {
    const is = stats();
    if (is.isFile()) return 'file';
    if (is.isFIFO()) return 'pipe';
    if (is.isSocket()) return 'socket';
    return is.isCharacterDevice() && is.rdev === fs.statSync('/dev/null').rdev ? 'null' : 'other';
  } catch {
    return 'none';
  }
};

/** Input of the process with the folder `proc` below `/proc`, if it is a file or a pipe. */
export const readInput = (kind: InputKind, proc: string): Readable | undefined => {
  const open = (flags: number) => fs.openSync(path.join(proc, 'fd/0'), flags);
  // By position, so that the offset of the file can be set to what the product has read.
  if (kind === 'file') {
    const info = fs.readFileSync(path.join(proc, 'fdinfo/0'), 'utf8');
    const start = Number(/^pos:\s*(\d+)/m.exec(info)?.[1] ?? 0);
    // One that is its own may have become unreadable by name.
    return proc === selfFolder
      ? fs.createReadStream('', { fd: 0, start, autoClose: false })
      : fs.createReadStream('', { fd: open(fs.constants.O_RDONLY), start });
  }
  if (kind !== 'pipe') return undefined;
  // A separate descriptor: the script’s must stay blocking.
  const fd = open(fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  // Of a pipe with a name whose writers have ended before, the system tells no end until there was another writer.
  try {
    fs.closeSync(open(fs.constants.O_WRONLY | fs.constants.O_NONBLOCK));
  } catch {
    // It may only be read.
  }
  return new net.Socket({ fd, readable: true, writable: false });
};

/** The folder of this process below `/proc`. */
export const selfFolder = '/proc/self';

/** Whether what the product left unread would have been read by the script that has started the caller. */
export const isScriptsInput = (proc: string, parent: number): boolean =>
  linkTarget(path.join(proc, 'fd/0')) === linkTarget(`/proc/${parent}/fd/0`);

export const lostInput =
  'the product left standard input of the script unread, which is lost: add </dev/null to this call';
