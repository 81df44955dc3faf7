/** Three-way merge of what branches have made of one tree, path by path. */
import type { StoredContent } from '../contents/batch.ts';
import { CachePaths } from './caches.ts';
import { isBinary, type MergeTexts } from './merge-text.ts';
import type { Entry, Tree } from './snapshot.ts';
import { Folder, FolderTree, fileEntry, type Item, sameEntry, topOf } from './tree.ts';

/** Why a path cannot be merged, as the end of "conflict: PATH …". */
export const conflictKinds = {
  lines: 'both change the same lines',
  deleted: 'one deletes or renames it, another changes it',
  kind: 'it is of another kind in each',
  link: 'the links lead to different places',
  binary: 'both change it, and it is no text',
  large: 'both change it, and it is larger than 1 MiB',
  mode: 'each gives it other permissions',
} as const;
export type ConflictKind = keyof typeof conflictKinds;

export type TreeMerge = {
  /** Of use only without conflicts. */
  readonly tree: FolderTree;
  readonly conflicts: ReadonlyMap<string, ConflictKind>;
  /** Caches that several branches have changed: the version of the first stays. */
  readonly kept: readonly string[];
};

export type MergeTools = {
  /** A content of the trees. */
  read(hash: string): Promise<Buffer>;
  readonly texts: MergeTexts;
  /** Stores a content that no tree has. */
  keep(bytes: Buffer): StoredContent;
  /** The time of files that the merge changes: what was built of other versions is older, and so out of date. */
  readonly mtimeMs: number;
};

/** Bytes of the largest text that is merged. */
const largest = 1024 * 1024;

/** What all sides together make of `base`, in the order of `sides`: changed by one side, or by all alike, is taken; two versions of
 *  a text are merged, contents and permissions apart; a file that was renamed is a deleted and a created one. What no side
 *  changes is neither read nor copied, and keeps its facts. */
export async function mergeTrees(
  base: Tree,
  sides: Iterable<Tree> | AsyncIterable<Tree>,
  tools: MergeTools,
): Promise<TreeMerge> {
  const merge = new Merge(new FolderTree(topOf(base)), tools);
  let tree = merge.base;
  for await (const side of sides) tree = await merge.add(tree, new FolderTree(topOf(side)));
  return { tree, conflicts: merge.conflicts, kept: [...merge.kept].sort() };
}

type Maybe = Item | undefined;

const isAlike = (a: Maybe, b: Maybe): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.mode === b.mode &&
    (a instanceof Folder ? b instanceof Folder && a.id === b.id : !(b instanceof Folder) && sameEntry(a, b)));

class Merge {
  readonly conflicts = new Map<string, ConflictKind>();
  readonly kept = new Set<string>();
  private readonly made = new Map<string, Buffer>();
  private readonly caches: CachePaths;
  private ours: FolderTree;
  private theirs: FolderTree;

  constructor(
    readonly base: FolderTree,
    private readonly tools: MergeTools,
  ) {
    this.ours = base;
    this.theirs = base;
    this.caches = new CachePaths((hash) => this.read(hash));
  }

  async add(ours: FolderTree, theirs: FolderTree): Promise<FolderTree> {
    this.ours = ours;
    this.theirs = theirs;
    const top = await this.folder('', this.base.top, ours.top, theirs.top);
    return new FolderTree(top ?? new Folder(this.base.top.mode, new Map()));
  }

  private async item(path: string, base: Maybe, ours: Maybe, theirs: Maybe): Promise<Maybe> {
    if (isAlike(ours, theirs) || isAlike(base, theirs)) return ours;
    if (isAlike(base, ours)) return this.fromOneSide(path, base, theirs, false);
    const ofFolder = (side: Maybe): boolean =>
      side instanceof Folder || (side === undefined && base instanceof Folder);
    if (ofFolder(ours) && ofFolder(theirs)) return this.folder(path, base, ours, theirs);
    if (await this.isCache(path, (ours ?? theirs) instanceof Folder)) {
      this.kept.add(path);
      return ours;
    }
    if (ours === undefined || theirs === undefined) return this.conflict(path, 'deleted', ours);
    if (ours.kind !== theirs.kind) return this.conflict(path, 'kind', ours);
    if (ours.kind !== 'file' || theirs.kind !== 'file') return this.conflict(path, 'link', ours);
    return this.file(path, base?.kind === 'file' ? base : undefined, ours, theirs);
  }

  /** Two folders, or one that a side has deleted: it stays where something is left in it. */
  private async folder(path: string, base: Maybe, ours: Maybe, theirs: Maybe): Promise<Folder | undefined> {
    const [b, o, t] = [base, ours, theirs].map((side) => (side instanceof Folder ? side : undefined));
    const names = new Set([b, o, t].flatMap((side) => [...(side?.items.keys() ?? [])]));
    const items = new Map<string, Item>();
    for (const name of [...names].sort()) {
      const inner = path === '' ? name : `${path}/${name}`;
      const item = await this.item(inner, b?.items.get(name), o?.items.get(name), t?.items.get(name));
      if (item !== undefined) items.set(name, item);
    }
    if (o === undefined || t === undefined)
      return items.size === 0 ? undefined : new Folder((o ?? t)?.mode ?? 0, items);
    return new Folder(await this.folderMode(path, b?.mode, o.mode, t.mode), items);
  }

  /** Of a folder that several have made, and of a cache, the permissions of the first count. */
  private async folderMode(
    path: string,
    base: number | undefined,
    ours: number,
    theirs: number,
  ): Promise<number> {
    if (base === undefined || (ours !== base && theirs !== base && (await this.isCache(path, true))))
      return ours;
    return this.mode(path, base, ours, theirs) ?? ours;
  }

  private async file(path: string, base: Entry | undefined, ours: Entry, theirs: Entry): Promise<Entry> {
    const mode = this.mode(path, base?.mode, ours.mode, theirs.mode);
    if (mode === undefined) return ours;
    if (theirs.hash === ours.hash || theirs.hash === base?.hash) return { ...ours, mode };
    if (ours.hash === base?.hash) return { ...this.changed(theirs), mode };
    if (Math.max(base?.size ?? 0, ours.size ?? 0, theirs.size ?? 0) > largest)
      return this.conflict(path, 'large', ours);
    const texts = {
      base: base === undefined ? Buffer.alloc(0) : await this.read(base.hash ?? ''),
      ours: await this.read(ours.hash ?? ''),
      theirs: await this.read(theirs.hash ?? ''),
    };
    if (Object.values(texts).some(isBinary)) return this.conflict(path, 'binary', ours);
    const merged = await this.tools.texts(texts);
    if (merged === undefined) return this.conflict(path, 'lines', ours);
    const { hash, size } = this.tools.keep(merged);
    this.made.set(hash, merged);
    return fileEntry(mode, size, hash, { mtimeMs: this.tools.mtimeMs });
  }

  /** The permissions, or undefined and a conflict. */
  private mode(path: string, base: number | undefined, ours: number, theirs: number): number | undefined {
    if (ours === theirs || theirs === base) return ours;
    if (ours === base) return theirs;
    this.conflicts.set(path, 'mode');
    return undefined;
  }

  /** What only one side has changed. The facts of the workspace that it was made in are left out. */
  private async fromOneSide(path: string, base: Maybe, theirs: Maybe, inCache: boolean): Promise<Maybe> {
    if (theirs === undefined) return undefined;
    if (isAlike(base, theirs)) return base;
    const isCache = inCache || (await this.isCache(path, theirs instanceof Folder));
    if (!(theirs instanceof Folder)) return isCache ? withoutFacts(theirs) : this.changed(theirs);
    const was = base instanceof Folder ? base.items : undefined;
    const items = new Map<string, Item>();
    for (const [name, item] of theirs.items) {
      const inner = await this.fromOneSide(`${path}/${name}`, was?.get(name), item, isCache);
      if (inner !== undefined) items.set(name, inner);
    }
    return new Folder(theirs.mode, items);
  }

  private changed(entry: Entry): Entry {
    if (entry.kind !== 'file') return entry;
    return fileEntry(entry.mode, entry.size ?? 0, entry.hash ?? '', { mtimeMs: this.tools.mtimeMs });
  }

  /** A list that a branch has added says nothing of what was there before: git would not ignore it either. */
  private async isCache(path: string, isFolder: boolean): Promise<boolean> {
    const { base, ours, theirs, caches } = this;
    const trees = base.has(path) ? [base] : [base, ours, theirs];
    for (const tree of new Set(trees)) if (await caches.has(tree, path, isFolder)) return true;
    return false;
  }

  private conflict<T extends Maybe>(path: string, kind: ConflictKind, ours: T): T {
    this.conflicts.set(path, kind);
    return ours;
  }

  private async read(hash: string): Promise<Buffer> {
    return this.made.get(hash) ?? this.tools.read(hash);
  }
}

const withoutFacts = (entry: Entry): Entry =>
  entry.kind === 'file'
    ? fileEntry(entry.mode, entry.size ?? 0, entry.hash ?? '', { mtimeMs: entry.mtimeMs })
    : entry;
