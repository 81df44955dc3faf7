/** What lies in a folder now: every path with its facts, links not followed, no content read. */
import { chmodSync, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { beforeWrite } from '../system/fence.ts';
import { isMissing } from '../system/files.ts';
import { below, fromBytes } from './names.ts';
import type { Entry, EntryKind } from './snapshot.ts';
import { isDenied, trouble } from './trouble.ts';

/** One path. `special` is a socket, a pipe or a device. */
export type Found = {
  /** Slash path relative to the top. */
  readonly path: string;
  readonly kind: EntryKind | 'special';
  /** Permission bits with setuid, setgid and sticky; always 0o777 for links, which have none. */
  readonly mode: number;
  readonly stat: FoundStat;
};

/** What of a path's stat is handed on: the whole of it is near a kilobyte, and a folder may hold many names. */
export type FoundStat = Facts & Pick<Stats, 'dev' | 'atimeMs'>;

export type WalkOptions = {
  /** Called before a folder is entered; false leaves its contents out. */
  readonly enter?: (folder: Found) => boolean;
  /** Makes folders that cannot be listed accessible to their owner (`mode` still tells how they were). */
  readonly unlock?: boolean;
  /** Called with a folder that may not be listed, which then counts as empty. Without it the walk ends there. */
  readonly denied?: (error: unknown, folder: string) => void;
};

/** Everything below `root` (itself not listed), sorted by code unit of the whole path. Synchronous, since a stat
 *  through the thread pool costs twice the stat; a stack instead of recursion, since trees may be deep. */
export function* walk(root: string, options: WalkOptions = {}): Generator<Found> {
  const open = [list(root, '', options)];
  for (let frame = open.at(-1); frame !== undefined; frame = open.at(-1)) {
    const key = frame.keys[frame.next++];
    if (key === undefined) {
      open.pop();
    } else if (key.endsWith('/')) {
      const found = frame.found.get(key.slice(0, -1));
      if (found !== undefined && (options.enter?.(found) ?? true)) open.push(list(root, found.path, options));
    } else {
      const found = frame.found.get(key);
      if (found !== undefined) yield found;
    }
  }
}

// A folder is listed under its name and, for its contents, under its name with a slash: sorted together they give
// the order of whole paths ("a", "a-b", "a/x").
type Frame = { readonly keys: string[]; readonly found: Map<string, Found>; next: number };

function list(root: string, folder: string, options: WalkOptions): Frame {
  try {
    return listOnce(root, folder);
  } catch (error) {
    if (isDenied(error) && options.denied !== undefined) {
      options.denied(error, folder);
      return { keys: [], found: new Map(), next: 0 };
    }
    if (options.unlock !== true || !isDenied(error)) throw error;
    beforeWrite(root);
    chmodSync(below(root, folder), 0o700);
    return listOnce(root, folder);
  }
}

function listOnce(root: string, folder: string): Frame {
  const keys: string[] = [];
  const found = new Map<string, Found>();
  for (const name of namesIn(root, folder)) {
    const one = look(root, folder === '' ? name : `${folder}/${name}`);
    if (one === undefined) continue;
    found.set(name, one);
    keys.push(name);
    if (one.kind === 'dir') keys.push(`${name}/`);
  }
  return { keys: keys.sort(), found, next: 0 };
}

/** The names in a folder, unsorted; none when it has gone. */
export function namesIn(root: string, folder: string): readonly string[] {
  try {
    return readNames(below(root, folder));
  } catch (error) {
    if (isMissing(error)) return [];
    throw trouble('list the folder', folder === '' ? root : folder, error);
  }
}

/** The same of one that is there, with the system's own error. */
export function readNames(path: string | Buffer): readonly string[] {
  const names = readdirSync(path, 'utf8');
  // The replacement character stands for bytes that are no UTF-8 (or for itself): only the bytes tell.
  return names.some((name) => name.includes('\uFFFD')) ? readdirSync(path, 'buffer').map(fromBytes) : names;
}

/** For lstat: undefined instead of an error where nothing is. */
export const orUndefined = { throwIfNoEntry: false } as const;

export const kindOf = (stat: Stats): EntryKind | 'special' =>
  stat.isFile() ? 'file' : stat.isDirectory() ? 'dir' : stat.isSymbolicLink() ? 'link' : 'special';

/** One path; undefined when it does not exist. */
export function look(root: string, path: string): Found | undefined {
  try {
    const stat = lstatSync(below(root, path), orUndefined);
    if (stat === undefined) return undefined;
    const kind = kindOf(stat);
    const { dev, atimeMs, size, mode, mtimeMs, ctimeMs, ino, nlink } = stat;
    return {
      path,
      kind,
      mode: kind === 'link' ? 0o777 : mode & 0o7777,
      stat: { dev, atimeMs, size, mode, mtimeMs, ctimeMs, ino, nlink },
    };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw trouble('look at', path, error);
  }
}

/** Where a link points, as it stands. */
export function targetOf(root: string, path: string): string {
  try {
    const target = readlinkSync(below(root, path), 'utf8');
    return target.includes('\uFFFD') ? fromBytes(readlinkSync(below(root, path), 'buffer')) : target;
  } catch (error) {
    throw trouble('read the link', path, error);
  }
}

/** A time in milliseconds as Node's calls take it: they would make the present of one before 1970. */
export const secondsOf = (ms: number): number => Math.max(0, ms) / 1e3;

/** What of a path's stat is worth keeping. */
export type Facts = Pick<Stats, 'size' | 'mode' | 'mtimeMs' | 'ctimeMs' | 'ino' | 'nlink'>;

export const factsOf = ({ size, mode, mtimeMs, ctimeMs, ino, nlink }: Facts): Facts => ({
  size,
  mode,
  mtimeMs,
  ctimeMs,
  ino,
  nlink,
});

/** True when nothing has touched the regular file since `was` was taken: size, mode, times and inode are the same. A
 *  write through a memory mapping on a tmpfs changes none of them. */
export const isUntouched = (stat: Facts, was: Entry): boolean =>
  was.ctimeMs === stat.ctimeMs &&
  was.mtimeMs === stat.mtimeMs &&
  was.ino === stat.ino &&
  was.size === stat.size &&
  was.mode === (stat.mode & 0o7777);
