/** A snapshot's tree: folders within folders. Folders are never changed, so two trees share those that are the same. */
import { sha256 } from '../core/sha256.ts';
import type { Entry, Tree } from './snapshot.ts';

/** Same kind, mode, content or target: what a name of a tree and a diff are made of. */
export const sameEntry = (a: Entry, b: Entry): boolean =>
  a === b || (a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.target === b.target);

/** What a folder holds under one name. */
export type Item = Entry | Folder;

export class Folder {
  readonly kind = 'dir';
  /** SHA-256 (hex) over the names, kinds, modes and contents of all that is below: of equal folders it is equal. */
  readonly id: string;
  /** How many paths are below. */
  readonly count: number;
  private readonly hasFolders: boolean;

  /** `items` by name, sorted by code unit. */
  constructor(
    readonly mode: number,
    readonly items: ReadonlyMap<string, Item>,
  ) {
    let [text, count, hasFolders] = ['', 0, false];
    for (const [name, item] of items) {
      // Neither a name nor a target can hold a NUL, and a hash has its length, so no two folders give one text.
      const content = item instanceof Folder ? item.id : (item.hash ?? item.target ?? '');
      text += `${name}\0${item.kind}\0${item.mode.toString(8)}\0${content}\0`;
      count += 1;
      if (!(item instanceof Folder)) continue;
      count += item.count;
      hasFolders = true;
    }
    // Names in other bytes are kept as lone surrogates, which UTF-8 would make one and the same.
    this.id = sha256(Buffer.from(text, 'utf16le'));
    this.count = count;
    this.hasFolders = hasFolders;
  }

  /** Everything below by its path, which begins with `prefix`, sorted by code unit of the whole path. */
  *below(prefix: string): Generator<[path: string, entry: Entry], undefined> {
    for (const name of this.hasFolders ? this.order() : this.items.keys()) {
      const isContents = name.endsWith('/');
      const item = this.items.get(isContents ? name.slice(0, -1) : name);
      if (item === undefined) continue;
      if (!(item instanceof Folder)) yield [prefix + name, item];
      else if (isContents) yield* item.below(prefix + name);
      else yield [prefix + name, entryOf(item)];
    }
  }

  /** A folder is listed under its name and, for its contents, under its name with a slash: sorted together they give the order of
   *  whole paths ("a", "a-b", "a/x"). */
  private order(): readonly string[] {
    const names: string[] = [];
    for (const [name, item] of this.items) {
      names.push(name);
      if (item instanceof Folder) names.push(`${name}/`);
    }
    return names.sort();
  }
}

export const entryOf = (item: Item): Entry =>
  item instanceof Folder ? { kind: 'dir', mode: item.mode } : item;

const noEntries: ReadonlyMap<string, Item> = new Map();

/** A tree as a map from paths to entries. */
export class FolderTree implements Tree {
  constructor(readonly top: Folder = new Folder(0, noEntries)) {}

  /** Folders that are not listed themselves are made for what is in them. */
  static from(entries: Iterable<readonly [string, Entry]>): FolderTree {
    return new FolderTree(folderOf(0, [...entries]));
  }

  get size(): number {
    return this.top.count;
  }

  /** What is at a path of any number of names. */
  item(path: string): Item | undefined {
    let at: Item | undefined = this.top;
    for (const name of path.split('/')) at = at instanceof Folder ? at.items.get(name) : undefined;
    return at;
  }

  get(path: string): Entry | undefined {
    const item = this.item(path);
    return item === undefined ? undefined : entryOf(item);
  }

  has(path: string): boolean {
    return this.item(path) !== undefined;
  }

  [Symbol.iterator](): Generator<[string, Entry], undefined> {
    return this.top.below('');
  }

  entries(): Generator<[string, Entry], undefined> {
    return this.top.below('');
  }

  *keys(): Generator<string, undefined> {
    for (const [path] of this) yield path;
  }

  *values(): Generator<Entry, undefined> {
    for (const [, entry] of this) yield entry;
  }

  forEach(act: (entry: Entry, path: string, tree: Tree) => void): void {
    for (const [path, entry] of this) act(entry, path, this);
  }
}

/** The folders of any tree. */
export const topOf = (tree: Tree): Folder =>
  tree instanceof FolderTree ? tree.top : FolderTree.from(tree).top;

function folderOf(mode: number, entries: readonly (readonly [string, Entry])[]): Folder {
  const own = new Map<string, Entry>();
  const inner = new Map<string, (readonly [string, Entry])[]>();
  for (const [path, entry] of entries) {
    const end = path.indexOf('/');
    if (end < 0) own.set(path, entry);
    else {
      const name = path.slice(0, end);
      const list = inner.get(name) ?? [];
      inner.set(name, list);
      list.push([path.slice(end + 1), entry]);
    }
  }
  const items = [...new Set([...own.keys(), ...inner.keys()])].sort().map((name): [string, Item] => {
    const entry = own.get(name);
    if (entry !== undefined && entry.kind !== 'dir') return [name, entry];
    return [name, folderOf(entry?.mode ?? 0, inner.get(name) ?? [])];
  });
  return new Folder(mode, new Map(items));
}

type Facts = { readonly [Fact in 'mtimeMs' | 'ctimeMs' | 'ino']?: number | undefined };

/** A file's entry: spelt out, since a spread makes each half as large again. */
export function fileEntry(mode: number, size: number, hash: string, facts: Facts): Entry {
  const kind = 'file';
  const { mtimeMs, ctimeMs, ino } = facts;
  if (mtimeMs === undefined) return { kind, mode, size, hash };
  if (ctimeMs === undefined || ino === undefined) return { kind, mode, size, hash, mtimeMs };
  return { kind, mode, size, hash, mtimeMs, ctimeMs, ino };
}
