/** What a workspace holds, found with one stat a path: files whose facts are known are not read. */
import { chmodSync, lstatSync, type Stats } from 'node:fs';
import { beforeWrite } from '../platform/files/fence.ts';
import { below, orUndefined } from '../platform/files/names.ts';
import { dropSetId, hasSetId, withoutSetId } from '../platform/files/set-id.ts';
import { isDenied, trouble } from '../platform/files/workspace-error.ts';
import { isMissing } from '../platform/files/write.ts';
import type { Entry, Stray, Tree } from './snapshot.ts';
import { Folder, FolderTree, fileEntry, type Item, sameEntry } from './tree.ts';
import {
  entryKind,
  entryNames,
  type FileFacts,
  fileFacts,
  isUntouched,
  nothingMounted,
  targetOf,
} from './walk.ts';

export type Scan = {
  /** A tree whose facts may identify the content of a file that this scanner has not seen yet. */
  readonly before: Tree;
  /** True for a content that need not be stored again. */
  readonly has: (hash: string) => boolean;
  /** Stores an unknown content. The answer describes the bytes that were stored. */
  readonly keep: (
    place: string | Buffer,
    expected: number,
  ) => Promise<{ readonly hash: string; readonly size: number }>;
};

/** A name in a folder, and what the last scan found there; no entry for what has no place in a tree: a socket, a pipe, a
 *  device, a name that vanished after it was listed. */
type Child = {
  readonly path: string;
  readonly place: string | Buffer;
  readonly name: string;
  entry: Entry | undefined;
  folder?: Listed;
};

/** `names` as the system lists them, `children` sorted by name. `folder`: as the last scan has found it; undefined where something in
 *  it, at whatever depth, has become another since. */
type Listed = {
  readonly path: string;
  readonly parent: Listed | undefined;
  names: readonly string[];
  children: readonly Child[];
  folder: Folder | undefined;
};

const listed = (path: string, parent?: Listed): Listed => ({
  path,
  parent,
  names: [],
  children: [],
  folder: undefined,
});

/** Scans one workspace repeatedly. What it remembers is believed only where the facts agree. */
export class Scanner {
  private top = listed('');
  private tree = new FolderTree();
  /** Found by the last scan. */
  strays: Stray[] = [];
  private unread: { readonly child: Child; readonly within: Listed; readonly stat: FileFacts }[] = [];
  /** The file system's own time, in milliseconds, before anything was read in this scan. */
  private clock: number | undefined;

  constructor(private readonly workspace: string) {}

  /** The tree as it is: the very one of the last scan when nothing has changed since. A workspace that is missing or
   *  no folder is an empty one. Rejects with a WorkspaceError that names what cannot be read, or where something is
   *  mounted. */
  async scan(s: Scan): Promise<FolderTree> {
    this.unread = [];
    this.strays = [];
    this.clock = undefined;
    if (lstatSync(this.workspace, orUndefined)?.isDirectory() !== true) {
      this.forget();
      return this.tree;
    }
    nothingMounted(this.workspace);
    try {
      await this.enter(s);
      await this.read(s);
    } catch (error) {
      this.forget();
      throw error;
    }
    if (this.top.folder === undefined) this.tree = new FolderTree(folderOf(this.top, 0));
    return this.tree;
  }

  /** To be called when what was kept has not reached the store: nothing is known any more. */
  forget(): void {
    this.top = listed('');
    this.tree = new FolderTree();
  }

  // A list instead of recursion, since trees may be deep.
  private async enter(s: Scan): Promise<void> {
    const open = [this.top];
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      this.list(folder);
      for (const child of folder.children) {
        const stat = look(child);
        const { entry } = child;
        // The common case first and alone: everything else is rare.
        if (entry !== undefined && stat?.isFile() === true && isUntouched(stat, entry)) continue;
        this.see(folder, child, stat, s);
        if (child.folder !== undefined) open.push(child.folder);
      }
      // Not all of them at the end: there may be as many as files.
      if (this.unread.length >= manyUnread) await this.read(s);
    }
  }

  /** Brings the names of a folder up to date. */
  private list(folder: Listed): void {
    const names = entryNames(this.workspace, folder.path);
    if (names.length === folder.names.length && names.every((name, n) => name === folder.names[n])) return;
    const known = new Map(folder.children.map((child) => [child.path, child]));
    folder.names = names;
    folder.children = [...names].sort().map((name) => {
      const path = folder.path === '' ? name : `${folder.path}/${name}`;
      const child = known.get(path) ?? { path, name, place: below(this.workspace, path), entry: undefined };
      known.delete(path);
      return child;
    });
    for (const child of known.values()) if (child.entry !== undefined) touch(folder);
  }

  /** Takes what is at a path. */
  private see(within: Listed, child: Child, seen: Stats | undefined, s: Scan): void {
    const stat = seen?.isFile() === true && hasSetId(seen) ? withoutBits(child, seen) : seen;
    const kind = stat === undefined ? 'special' : entryKind(stat);
    if (kind !== 'dir') delete child.folder;
    if (stat === undefined || kind === 'special') {
      become(within, child, undefined);
      if (stat !== undefined) this.strays.push({ path: child.path, isSocket: stat.isSocket() });
    } else if (kind === 'dir') {
      become(within, child, { kind, mode: stat.mode & 0o7777 });
      child.folder ??= listed(child.path, within);
    } else if (kind === 'link') {
      become(within, child, { kind, mode: 0o777, target: targetOf(this.workspace, child.path) });
    } else {
      const before = s.before.get(child.path);
      if (before?.hash === undefined || !isUntouched(stat, before) || !s.has(before.hash))
        this.unread.push({ child, within, stat: fileFacts(stat) });
      else if (this.isPast(stat)) become(within, child, before);
      else become(within, child, fileEntry(before.mode, stat.size, before.hash, { mtimeMs: stat.mtimeMs }));
    }
  }

  /** Reads what the facts do not identify. */
  private async read(s: Scan): Promise<void> {
    for (const { child, within, stat } of this.unread) {
      // A file touched within the clock's last step could be touched again without a change of its facts; one whose length
      // is another one than was seen has been. Without facts it is read again next time. Asked before the content is read.
      const past = this.isPast(stat);
      try {
        const { hash, size } = await s.keep(child.place, stat.size);
        const facts = past && size === stat.size ? stat : { mtimeMs: stat.mtimeMs };
        // Of two equal strings one is kept: they are most of what is known of a file.
        const known = s.before.get(child.path)?.hash;
        become(within, child, fileEntry(withoutSetId(stat.mode), size, known === hash ? known : hash, facts));
      } catch (error) {
        if (!isMissing(error))
          throw trouble(isDenied(error) ? 'read' : 'keep the content of', child.path, error);
        become(within, child, undefined);
      }
    }
    this.unread = [];
  }

  private isPast(stat: FileFacts): boolean {
    this.clock ??= timeIn(this.workspace);
    return stat.ctimeMs < this.clock - grainMs;
  }
}

/** After so many unknown files they are read. */
const manyUnread = 1000;

/** The coarsest step of a system's clock, twice. */
const grainMs = 20;

function look({ place, path }: Child): Stats | undefined {
  try {
    return lstatSync(place, orUndefined);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw trouble('look at', path, error);
  }
}

/** The facts of a file once its set-id bits are gone. */
function withoutBits(child: Child, stat: Stats): Stats | undefined {
  try {
    beforeWrite(child.place.toString());
    dropSetId(child.place, stat);
  } catch (error) {
    throw trouble('set the mode of', child.path, error);
  }
  return look(child);
}

/** The time of the folder's file system, whose clock need be neither the system's nor that of the place where the
 *  snapshots are kept. Found by setting the mode that the folder has; the distant past where that is not permitted, so that
 *  nothing counts as old. */
function timeIn(folder: string): number {
  try {
    chmodSync(folder, lstatSync(folder).mode & 0o7777);
    return lstatSync(folder).ctimeMs;
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}

function become(within: Listed, child: Child, is: Entry | undefined): void {
  const was = child.entry;
  if (was === is) return;
  const isAlike =
    was !== undefined &&
    is !== undefined &&
    sameEntry(was, is) &&
    was.mtimeMs === is.mtimeMs &&
    was.ctimeMs === is.ctimeMs &&
    was.ino === is.ino;
  if (isAlike) return;
  child.entry = is;
  touch(within);
}

/** Something in the folder is another than it was. */
function touch(folder: Listed): void {
  for (let at: Listed | undefined = folder; at?.folder !== undefined; at = at.parent) at.folder = undefined;
}

function folderOf(from: Listed, mode: number): Folder {
  if (from.folder?.mode === mode) return from.folder;
  const items = new Map<string, Item>();
  for (const { name, entry, folder } of from.children)
    if (entry !== undefined) items.set(name, folder === undefined ? entry : folderOf(folder, entry.mode));
  from.folder = new Folder(mode, items);
  return from.folder;
}
