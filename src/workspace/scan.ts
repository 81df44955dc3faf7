/** What a workspace holds, found with one stat a path: files whose facts are known are not read. */
import { chmodSync, lstatSync, type Stats } from 'node:fs';
import { isMissing } from '../system/files.ts';
import { nothingMounted } from './mounts.ts';
import { below } from './names.ts';
import type { Entry, Stray, Tree } from './snapshot.ts';
import { byPath, fileEntry, isSame } from './tree.ts';
import { isDenied, trouble } from './trouble.ts';
import { type Facts, factsOf, isUntouched, kindOf, namesIn, orUndefined, targetOf } from './walk.ts';

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
  entry: Entry | undefined;
  folder?: Folder;
};

/** `names` as the system lists them, `children` sorted by name. */
type Folder = { readonly path: string; names: readonly string[]; children: readonly Child[] };

const newFolder = (path: string): Folder => ({ path, names: [], children: [] });

/** Scans one workspace repeatedly. What it remembers is believed only where the facts agree. */
export class Scanner {
  private top = newFolder('');
  private tree: Tree = new Map();
  private changed = false;
  /** Found by the last scan. */
  strays: Stray[] = [];
  private unread: { readonly child: Child; readonly stat: Facts }[] = [];
  /** The file system's own time, in milliseconds, before anything was read in this scan. */
  private clock: number | undefined;

  constructor(private readonly workspace: string) {}

  /** The tree as it is: the very map of the last scan when nothing has changed since. A workspace that is missing or
   *  no folder is an empty one. Rejects with a WorkspaceError that names what cannot be read, or where something is
   *  mounted. */
  async scan(s: Scan): Promise<Tree> {
    this.changed = false;
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
    if (this.changed) this.tree = treeOf(this.top);
    return this.tree;
  }

  /** To be called when what was kept has not reached the store: nothing is known any more. */
  forget(): void {
    this.top = newFolder('');
    this.tree = new Map();
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
        this.see(child, stat, s);
        if (child.folder !== undefined) open.push(child.folder);
      }
      // Not all of them at the end: there may be as many as files.
      if (this.unread.length >= manyUnread) await this.read(s);
    }
  }

  /** Brings the names of a folder up to date. */
  private list(folder: Folder): void {
    const names = namesIn(this.workspace, folder.path);
    if (names.length === folder.names.length && names.every((name, n) => name === folder.names[n])) return;
    const known = new Map(folder.children.map((child) => [child.path, child]));
    folder.names = names;
    folder.children = [...names].sort().map((name) => {
      const path = folder.path === '' ? name : `${folder.path}/${name}`;
      const child = known.get(path) ?? { path, place: below(this.workspace, path), entry: undefined };
      known.delete(path);
      return child;
    });
    for (const child of known.values()) if (child.entry !== undefined) this.changed = true;
  }

  /** Takes what is at a path. */
  private see(child: Child, stat: Stats | undefined, s: Scan): void {
    const kind = stat === undefined ? 'special' : kindOf(stat);
    if (kind !== 'dir') delete child.folder;
    if (stat === undefined || kind === 'special') {
      this.become(child, undefined);
      if (stat !== undefined) this.strays.push({ path: child.path, isSocket: stat.isSocket() });
    } else if (kind === 'dir') {
      this.become(child, { kind, mode: stat.mode & 0o7777 });
      child.folder ??= newFolder(child.path);
    } else if (kind === 'link') {
      this.become(child, { kind, mode: 0o777, target: targetOf(this.workspace, child.path) });
    } else {
      const before = s.before.get(child.path);
      if (before?.hash === undefined || !isUntouched(stat, before) || !s.has(before.hash))
        this.unread.push({ child, stat: factsOf(stat) });
      else if (this.isPast(stat)) this.become(child, before);
      else this.become(child, fileEntry(before.mode, stat.size, before.hash, { mtimeMs: stat.mtimeMs }));
    }
  }

  private become(child: Child, is: Entry | undefined): void {
    const was = child.entry;
    if (was === is) return;
    const isAlike =
      was !== undefined &&
      is !== undefined &&
      isSame(was, is) &&
      was.mtimeMs === is.mtimeMs &&
      was.ctimeMs === is.ctimeMs &&
      was.ino === is.ino;
    if (isAlike) return;
    child.entry = is;
    this.changed = true;
  }

  /** Reads what the facts do not identify. */
  private async read(s: Scan): Promise<void> {
    for (const { child, stat } of this.unread) {
      // A file touched within the clock's last step could be touched again without a change of its facts; one whose length
      // is another one than was seen has been. Without facts it is read again next time. Asked before the content is read.
      const past = this.isPast(stat);
      try {
        const { hash, size } = await s.keep(child.place, stat.size);
        const facts = past && size === stat.size ? stat : { mtimeMs: stat.mtimeMs };
        // Of two equal strings one is kept: they are most of what is known of a file.
        const known = s.before.get(child.path)?.hash;
        this.become(child, fileEntry(stat.mode & 0o7777, size, known === hash ? known : hash, facts));
      } catch (error) {
        if (!isMissing(error))
          throw trouble(isDenied(error) ? 'read' : 'keep the content of', child.path, error);
        this.become(child, undefined);
      }
    }
    this.unread = [];
  }

  private isPast(stat: Facts): boolean {
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

function treeOf(top: Folder): Tree {
  const entries: [path: string, entry: Entry][] = [];
  const open = [top.children.values()];
  for (let children = open.at(-1); children !== undefined; children = open.at(-1)) {
    const next = children.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const { path, entry, folder } = next.value;
    if (entry !== undefined) entries.push([path, entry]);
    if (folder !== undefined) open.push(folder.children.values());
  }
  // Almost in order: a folder's contents come before names that only begin like it ("a", "a/x", "a-b").
  return new Map(entries.sort(byPath));
}
