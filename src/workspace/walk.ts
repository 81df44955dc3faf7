/** What lies in a folder now: every path with its facts, links not followed, no content read. */
import { chmodSync, lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { hashFile } from '../platform/files/bytes.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { below, fromBytes, orUndefined, shownPath } from '../platform/files/names.ts';
import { readNames } from '../platform/files/read.ts';
import { isDenied, trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { isMissing } from '../platform/files/write.ts';
import type { Entry, EntryKind } from './snapshot.ts';

/** One path. `special` is a socket, a pipe or a device. */
export type FoundEntry = {
  /** Slash path relative to the top. */
  readonly path: string;
  readonly kind: EntryKind | 'special';
  /** Permission bits with setuid, setgid and sticky; always 0o777 for links, which have none. */
  readonly mode: number;
  readonly stat: FoundStat;
};

/** What of a path's stat is handed on: the whole of it is near a kilobyte, and a folder may hold many names. */
export type FoundStat = FileFacts & Pick<Stats, 'dev' | 'atimeMs'>;

export type WalkOptions = {
  /** Called before a folder is entered; false leaves its contents out. */
  readonly enter?: (folder: FoundEntry) => boolean;
  /** Makes folders that cannot be listed accessible to their owner (`mode` still tells how they were). */
  readonly unlock?: boolean;
  /** Called with a folder that may not be listed, which then counts as empty. Without it the walk ends there. */
  readonly denied?: (error: unknown, folder: string) => void;
};

/** Everything below `root` (itself not listed), sorted by code unit of the whole path. Synchronous, since a stat
 *  through the thread pool costs twice the stat; a stack instead of recursion, since trees may be deep. */
export function* walk(root: string, options: WalkOptions = {}): Generator<FoundEntry> {
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
type Frame = { readonly keys: string[]; readonly found: Map<string, FoundEntry>; next: number };

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
  const found = new Map<string, FoundEntry>();
  for (const name of entryNames(root, folder)) {
    const one = look(root, folder === '' ? name : `${folder}/${name}`);
    if (one === undefined) continue;
    found.set(name, one);
    keys.push(name);
    if (one.kind === 'dir') keys.push(`${name}/`);
  }
  return { keys: keys.sort(), found, next: 0 };
}

/** The names in a folder, unsorted; none when it has gone. */
export function entryNames(root: string, folder: string): readonly string[] {
  try {
    return readNames(below(root, folder));
  } catch (error) {
    if (isMissing(error)) return [];
    throw trouble('list the folder', folder === '' ? root : folder, error);
  }
}

export const entryKind = (stat: Stats): EntryKind | 'special' =>
  stat.isFile() ? 'file' : stat.isDirectory() ? 'dir' : stat.isSymbolicLink() ? 'link' : 'special';

/** One path; undefined when it does not exist. */
export function look(root: string, path: string): FoundEntry | undefined {
  try {
    const stat = lstatSync(below(root, path), orUndefined);
    if (stat === undefined) return undefined;
    const kind = entryKind(stat);
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
export type FileFacts = Pick<Stats, 'size' | 'mode' | 'mtimeMs' | 'ctimeMs' | 'ino' | 'nlink'>;

export const fileFacts = ({ size, mode, mtimeMs, ctimeMs, ino, nlink }: FileFacts): FileFacts => ({
  size,
  mode,
  mtimeMs,
  ctimeMs,
  ino,
  nlink,
});

/** True when nothing has touched the regular file since `was` was taken: size, mode, times and inode are the same. A
 *  write through a memory mapping on a tmpfs changes none of them. */
export const isUntouched = (stat: FileFacts, was: Entry): boolean =>
  was.ctimeMs === stat.ctimeMs &&
  was.mtimeMs === stat.mtimeMs &&
  was.ino === stat.ino &&
  was.size === stat.size &&
  was.mode === (stat.mode & 0o7777);

/* Whether anything below a folder has changed since a moment: by content, not by touch. */

/** File systems stamp their files by a coarse clock, and reports of a change may come after it. */
const slackMs = 1000;

/** Bytes of the largest file whose content is compared; a larger one that was touched counts as changed. */
const largest = 64 * 1024 * 1024;

type Seen = {
  /** Facts that no change leaves as they are. */
  readonly facts: string;
  /** What it is and holds; undefined where that was not looked at. */
  readonly content: string | undefined;
};

export interface Lookout {
  /** Records the paths and their facts, without reading contents, for the first comparison. */
  begin(): void;
  /** True when something below the folder was made, changed, moved or removed since `at` or within the second before
   *  it, and is not what it was at the look before this one. So a file that is written repeatedly with the same content
   *  counts as changed once. Rejects with a WorkspaceError for what cannot be listed. */
  changedSince(at: Date): Promise<boolean>;
}

/** Looks at `root` when asked, and remembers what it has seen. */
export function lookout(root: string): Lookout {
  let last: ReadonlyMap<string, Seen> | undefined;
  return {
    begin() {
      const now = new Map<string, Seen>();
      if (topOf(root) !== undefined) for (const found of walk(root)) now.set(found.path, untold(found));
      last = now;
    },
    async changedSince(at) {
      const since = at.getTime() - slackMs;
      const top = topOf(root);
      // A workspace that has gone has changed.
      if (top === undefined) return true;
      const now = new Map<string, Seen>();
      let touched = top.ctimeMs >= since;
      for (const found of walk(root)) {
        const isNew = found.stat.ctimeMs >= since;
        touched ||= isNew;
        now.set(found.path, await seen(root, found, isNew, last?.get(found.path)));
      }
      const before = last;
      last = now;
      return touched && (before === undefined || !isSame(before, now));
    },
  };
}

/** Undefined also for a link: it may lead to the whole disk. */
function topOf(root: string): Stats | undefined {
  const stat = lstatSync(root, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? stat : undefined;
}

/** A path whose content is not looked at. A folder is its names, which are looked at one by one. */
function untold({ kind, mode, stat }: FoundEntry): Seen {
  return kind === 'dir' || kind === 'special'
    ? { facts: `${kind} ${mode}`, content: undefined }
    : {
        facts: `${kind} ${mode} ${stat.size} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}`,
        content: undefined,
      };
}

async function seen(
  root: string,
  found: FoundEntry,
  isNew: boolean,
  before: Seen | undefined,
): Promise<Seen> {
  const { stat, kind, mode, path } = found;
  const plain = untold(found);
  if (before?.facts === plain.facts) return before;
  if (!isNew || stat.size > largest || (kind !== 'file' && kind !== 'link')) return plain;
  try {
    const content = kind === 'link' ? targetOf(root, path) : (await hashFile(below(root, path))).hash;
    return { ...plain, content: `${kind} ${mode} ${content}` };
  } catch {
    // It has just gone, or may not be read.
    return plain;
  }
}

const isSame = (before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): boolean =>
  before.size === now.size &&
  [...now].every(([path, is]) => {
    const was = before.get(path);
    return (
      was !== undefined &&
      (was.facts === is.facts || (was.content !== undefined && was.content === is.content))
    );
  });

/* Mounts in a workspace: their files are not the workspace's, whatever their path. */

/** Throws a WorkspaceError where something is mounted at `folder` (a real path) or below: listing, removing or writing there
 *  would do so in the file system, or in the other folder, that shows through. */
export function nothingMounted(folder: string): void {
  for (const point of mountPoints(folder)) {
    if (point !== folder && !point.startsWith(`${folder}/`)) continue;
    throw new WorkspaceError(
      `something is mounted at "${shownPath(point)}": its files are not the workspace's, and are left alone; ` +
        'unmount it (umount)',
    );
  }
}

/** The places where something is mounted, by real paths, at least those at `folder` and below; none where the system does
 *  not list them. */
function mountPoints(folder: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync('/proc/self/mountinfo', 'latin1');
  } catch {
    return [];
  }
  // Asked at every stage, of a list that may be long. Blanks, line ends and backslashes are written in another way.
  if (/^[\w./-]*$/.test(folder) && !text.includes(` ${folder}`)) return [];
  return text.split('\n').flatMap((line) => {
    const point = line.split(' ', 5)[4];
    if (point === undefined) return [];
    // Blanks, line ends and backslashes are written as three octal digits.
    const plain = point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 8)),
    );
    return [fromBytes(Buffer.from(plain, 'latin1'))];
  });
}
