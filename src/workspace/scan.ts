/** What a workspace holds now, found with one stat a path: folders that nothing happened in are not listed again, and
 *  files whose facts are known are not read. */
import { chmodSync, lstatSync, type Stats, statfsSync } from 'node:fs';
import { isMissing } from '../system/files.ts';
import { nothingMounted } from './mounts.ts';
import { below } from './names.ts';
import type { Entry, Stray, Tree } from './snapshot.ts';
import { fileEntry, isSame } from './tree.ts';
import { isDenied, trouble } from './trouble.ts';
import { type Facts, factsOf, inodeIn, isUntouched, kindOf, namesIn, orUndefined, targetOf } from './walk.ts';

export type Scan = {
  /** A tree whose facts may tell the content of a file that this scanner has not seen yet. */
  readonly before: Tree;
  /** True for a content that need not be kept again. */
  readonly has: (hash: string) => boolean;
  /** Where unknown contents go. The answer describes the bytes that were stored. */
  readonly keep: (
    place: string | Buffer,
    expected: number,
  ) => Promise<{ readonly hash: string; readonly size: number }>;
};

/** A name in a folder: what it was when it was looked at last, and the way to it, made once where it is not long, nor one
 *  of very many. */
type Child = {
  readonly path: string;
  readonly place: string | Buffer | undefined;
  entry: Entry;
  folder?: Folder;
};

type Folder = {
  readonly path: string;
  names: readonly string[];
  /** One for each name. */
  children: readonly Child[];
  /** Vouch for the list of names; without them it is read each time. */
  facts: Pick<Stats, 'ctimeMs' | 'mtimeMs' | 'ino'> | undefined;
  /** How the children stand in a tree: a folder's contents may come later than the folder. Made when needed. */
  order: readonly (Child | Folder)[] | undefined;
};

const newFolder = (path: string): Folder => ({
  path,
  names: [],
  children: [],
  facts: undefined,
  order: undefined,
});

/** What has no place in a tree: a socket, a pipe, a device, a name that has gone since it was listed. */
const nothing: Entry = { kind: 'file', mode: 0 };

/** Looks at one workspace again and again. What it remembers is believed only where the facts agree. */
export class Scanner {
  private top = newFolder('');
  private tree: Tree = new Map();
  private changed = false;
  /** Found by the last scan. */
  strays: Stray[] = [];
  /** Made since nothing was known. */
  private places = 0;
  private unread: { readonly child: Child; readonly stat: Facts }[] = [];
  /** The file system's own time, in milliseconds, before anything was listed or read in this scan. */
  private clock: number | undefined;
  /** The device on which a folder's times tell whether its names are the same. */
  private honest: number | undefined;
  /** The workspace itself, as it was when nothing was mounted on it. */
  private place: Pick<Stats, 'dev' | 'ino'> | undefined;
  private isUnmounted = false;

  constructor(private readonly workspace: string) {}

  /** The tree as it is now: the very map of the last scan when everything is as it was then. A workspace that is not
   *  there, or is no folder, is an empty one. Rejects with a WorkspaceError that names what cannot be looked at, or where
   *  something is mounted. */
  async scan(s: Scan): Promise<Tree> {
    this.changed = false;
    this.unread = [];
    this.strays = [];
    this.clock = undefined;
    const stat = lstatSync(this.workspace, orUndefined);
    if (stat === undefined || !stat.isDirectory()) {
      this.forget();
      return this.tree;
    }
    this.isUnmounted = false;
    const { dev, ino } = stat;
    if (dev !== this.place?.dev || ino !== this.place.ino) this.unmounted();
    this.place = { dev, ino };
    this.honest ??= tellsTimes(this.workspace) ? stat.dev : -1;
    try {
      await this.enter(stat, s);
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
    this.places = 0;
    this.top = newFolder('');
    this.tree = new Map();
  }

  // A list instead of recursion, since trees may be deep.
  private async enter(top: Stats, s: Scan): Promise<void> {
    const open = [{ folder: this.top, stat: top }];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      this.list(at.folder, at.stat);
      for (const child of at.folder.children) {
        const stat = look(child, this.workspace);
        if (stat !== undefined && stat.dev !== top.dev) stat.ino = inodeIn(top.dev, stat);
        // The common case first and alone: everything else is rare.
        if (stat?.isFile() === true && isUntouched(stat, child.entry)) continue;
        const known = child.folder?.facts;
        if (stat === undefined || stat.ino !== known?.ino || stat.dev !== this.honest) this.unmounted();
        this.see(at.folder, child, stat, s);
        if (child.folder !== undefined && stat !== undefined) open.push({ folder: child.folder, stat });
      }
      // Not all of them at the end: there may be as many as files.
      if (this.unread.length >= manyUnread) await this.read(s);
    }
  }

  /** Throws a WorkspaceError where something is mounted. What is mounted somewhere shows another file or folder there than
   *  the one that was: where everything is the very one of the last scan, nobody has to be asked. */
  private unmounted(): void {
    if (!this.isUnmounted) nothingMounted(this.workspace);
    this.isUnmounted = true;
  }

  /** Brings the names of a folder up to date. */
  private list(folder: Folder, stat: Stats): void {
    const { facts } = folder;
    if (
      facts !== undefined &&
      facts.ctimeMs === stat.ctimeMs &&
      facts.mtimeMs === stat.mtimeMs &&
      facts.ino === stat.ino
    )
      return;
    const { ctimeMs, mtimeMs, ino } = stat;
    // The top is listed each time: asking for the time touches it.
    const tells = folder !== this.top && stat.dev === this.honest && this.isPast(stat);
    folder.facts = tells ? { ctimeMs, mtimeMs, ino } : undefined;
    const names = namesIn(this.workspace, folder.path);
    if (names.length === folder.names.length && names.every((name, n) => name === folder.names[n])) return;
    const known = new Map(folder.names.map((name, n) => [name, folder.children[n]]));
    folder.names = names;
    folder.children = names.map((name) => {
      const path = folder.path === '' ? name : `${folder.path}/${name}`;
      const child = known.get(name) ?? { path, place: this.placeOf(path), entry: nothing };
      known.delete(name);
      return child;
    });
    folder.order = undefined;
    for (const child of known.values()) if (child?.entry !== nothing) this.changed = true;
  }

  /** Takes what is at a path now. */
  private see(folder: Folder, child: Child, stat: Stats | undefined, s: Scan): void {
    const kind = stat === undefined ? 'special' : kindOf(stat);
    if (kind !== 'dir' && child.folder !== undefined) {
      delete child.folder;
      folder.order = undefined;
    }
    if (stat === undefined || kind === 'special') {
      this.become(child, nothing);
      if (stat !== undefined) this.strays.push({ path: child.path, isSocket: stat.isSocket() });
    } else if (kind === 'dir') {
      this.become(child, { kind, mode: stat.mode & 0o7777, mtimeMs: stat.mtimeMs });
      if (child.folder === undefined) folder.order = undefined;
      child.folder ??= newFolder(child.path);
    } else if (kind === 'link') {
      this.become(child, { kind, mode: 0o777, target: targetOf(this.workspace, child.path) });
    } else {
      const before = s.before.get(child.path);
      if (before?.hash !== undefined && isUntouched(stat, before) && s.has(before.hash))
        this.become(child, this.isPast(stat) ? before : withoutFacts(before, stat));
      else this.unread.push({ child, stat: factsOf(stat) });
    }
  }

  private become(child: Child, is: Entry): void {
    const was = child.entry;
    if (
      was === is ||
      (was !== nothing &&
        isSame(was, is) &&
        was.mtimeMs === is.mtimeMs &&
        was.ctimeMs === is.ctimeMs &&
        was.ino === is.ino)
    )
      return;
    child.entry = is;
    // A folder's time goes into the next tree that is another one: stages come and go with files of a moment.
    if (is.kind !== 'dir' || !isSame(was, is)) this.changed = true;
  }

  /** Reads what the facts do not vouch for. */
  private async read(s: Scan): Promise<void> {
    for (const { child, stat } of this.unread) {
      // A file touched within the clock's grain could be touched again without its facts showing it; one whose length
      // is not what was seen has been. Without facts it is read again next time. Asked before the content is read.
      const past = this.isPast(stat);
      try {
        const { hash, size } = await s.keep(child.place ?? below(this.workspace, child.path), stat.size);
        const facts = past && size === stat.size ? stat : tooYoung(stat);
        // Of two texts that say the same, one is kept: they are most of what is known of a file.
        const known = s.before.get(child.path)?.hash;
        this.become(child, fileEntry(stat.mode & 0o7777, size, known === hash ? known : hash, facts));
      } catch (error) {
        if (!isMissing(error))
          throw trouble(isDenied(error) ? 'read' : 'keep the content of', child.path, error);
        this.become(child, nothing);
      }
    }
    this.unread = [];
  }

  private placeOf(path: string): string | Buffer | undefined {
    if (path.length > longFrom || this.places >= mostPlaces) return undefined;
    this.places += 1;
    return below(this.workspace, path);
  }

  private isPast(stat: Facts): boolean {
    this.clock ??= timeIn(this.workspace, this.honest !== -1);
    return stat.ctimeMs < this.clock - grainMs;
  }
}

const withoutFacts = ({ kind, mode, size, hash }: Entry, stat: Facts): Entry =>
  size === undefined || hash === undefined ? { kind, mode } : fileEntry(mode, size, hash, tooYoung(stat));

/** What is kept where the facts do not vouch for the content: the inode tells names of one file from files alike. */
const tooYoung = ({ nlink, ino, mtimeMs }: Facts): Pick<Entry, 'mtimeMs' | 'ino'> =>
  nlink > 1 ? { mtimeMs, ino } : { mtimeMs };

/** So many files are looked at before what is unknown of them is read. */
const manyUnread = 1000;

/** From so many characters on a place is made anew each time: to keep it would take more than everything else. */
const longFrom = 200;
/** So many of them are kept: of a very large workspace they would take a third of all that is known of it. */
const mostPlaces = 20_000;

/** The coarsest step of a system's clock, twice. */
const grainMs = 20;

function look(child: Child, workspace: string): Stats | undefined {
  try {
    return lstatSync(child.place ?? below(workspace, child.path), orUndefined);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw trouble('look at', child.path, error);
  }
}

/** The time of the folder's file system, in its own steps, which need be neither the system's nor that of the place
 *  where the snapshots are kept. Found by setting the mode that the folder has; the distant past where that is
 *  not permitted, so that nothing counts as old. So it is where that leaves no trace: a file system that keeps one time
 *  for both (FAT, exFAT) forgets a change as soon as somebody sets that time. */
function timeIn(folder: string, isHonest: boolean): number {
  try {
    chmodSync(folder, lstatSync(folder).mode & 0o7777);
    const { ctimeMs, mtimeMs } = lstatSync(folder);
    return isHonest || ctimeMs !== mtimeMs ? ctimeMs : Number.NEGATIVE_INFINITY;
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}

// Their folders' times change with every name that comes and goes; of others (network, FAT, FUSE) nobody knows.
const honestTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x01021994, // tmpfs
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
  0x794c7630, // overlay
]);

/** Whether the times of what lies there tell of every change. */
export function tellsTimes(folder: string): boolean {
  try {
    return process.platform === 'linux' && honestTypes.has(statfsSync(folder).type);
  } catch {
    return false;
  }
}

/** Sorted by code unit of the whole path. */
function treeOf(top: Folder): Tree {
  const tree = new Map<string, Entry>();
  const open = [{ order: orderOf(top), next: 0 }];
  for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
    const one = at.order[at.next++];
    if (one === undefined) open.pop();
    else if ('names' in one) open.push({ order: orderOf(one), next: 0 });
    else if (one.entry !== nothing) tree.set(one.path, one.entry);
  }
  return tree;
}

// A folder stands under its name and, for its contents, under its name with a slash: sorted together they give the
// order of whole paths ("a", "a-b", "a/x").
function orderOf(folder: Folder): NonNullable<Folder['order']> {
  folder.order ??= folder.children
    .flatMap((child, n): { readonly key: string; readonly is: Child | Folder }[] => {
      const key = folder.names[n] ?? '';
      const itself = { key, is: child };
      return child.folder === undefined ? [itself] : [itself, { key: `${key}/`, is: child.folder }];
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ is }) => is);
  return folder.order;
}
