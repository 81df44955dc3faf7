/** Snapshots in the store: a record for each folder, named by its hash, and for each snapshot the name of its top folder's. */

import type { ContentBatch } from '../contents/batch.ts';
import type { ContentStore } from '../contents/store.ts';
import { sha256 } from '../core/sha256.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
import { bootId, readFolder, writeFolder } from './folder-record.ts';
import { Folder, FolderTree } from './tree.ts';

export class Trees {
  private readonly boot = bootId();
  /** Hashes of the records of folders; only those that are on disk. */
  private readonly keys: WeakMap<Folder, string>;

  /** `before`: those of the same store under an earlier name. */
  constructor(
    private readonly store: ContentStore,
    before?: Trees,
  ) {
    this.keys = before?.keys ?? new WeakMap();
  }

  /** Whether the tree is in the store, and all that it holds. */
  has(tree: FolderTree): boolean {
    return this.keys.has(tree.top);
  }

  /** Adds what the store does not have of a tree; `before` is one that differs in few folders. The returned function is to be called
   *  when the batch is on disk. A folder in which only the facts of files are others that a stat can tell again is not written. */
  add(tree: FolderTree, before: FolderTree, batch: ContentBatch): () => void {
    const added = new Map<Folder, string>();
    const keyOf = (folder: Folder, was: Folder | undefined): string => {
      const known = this.keys.get(folder) ?? added.get(folder);
      if (known !== undefined) return known;
      const inner = new Map<Folder, string>();
      for (const [name, item] of folder.items) {
        const earlier = was?.items.get(name);
        if (item instanceof Folder)
          inner.set(item, keyOf(item, earlier instanceof Folder ? earlier : undefined));
      }
      const same = was !== undefined && this.isAlike(folder, was, inner) ? this.keys.get(was) : undefined;
      if (same !== undefined) {
        this.keys.set(folder, same);
        return same;
      }
      const record = writeFolder(folder, this.boot, (one) => inner.get(one) ?? '');
      const key = sha256(record);
      batch.add('bytes', key, record);
      added.set(folder, key);
      return key;
    };
    const top = keyOf(tree.top, before.top);
    if (added.size > 0) batch.add('snapshot', tree.top.id, Buffer.from(top, 'latin1'));
    return () => {
      for (const [folder, key] of added) this.keys.set(folder, key);
    };
  }

  /** The snapshot of that name; folders that it shares with `like` are taken from there. Throws a DamagedStore where it is missing,
   *  or not what was written. */
  load(id: string, like: FolderTree): FolderTree {
    const { store } = this;
    store.refresh();
    let failure: DamagedStore | undefined;
    for (const { bytes, pack } of store.versions('snapshot', id)) {
      try {
        const top = bytes === undefined ? undefined : this.folder(bytes.toString('latin1'), like.top, 0);
        if (top?.id === id) return new FolderTree(top);
        failure ??= store.wrong(pack, `snapshot ${id}`);
      } catch (error) {
        if (!(error instanceof DamagedStore)) throw error;
        failure ??= error;
      }
    }
    const torn = store.torn().map(({ path, from }) => `; ${path} is damaged from byte ${from} on`);
    throw failure ?? new DamagedStore(`there is no snapshot ${id} in ${store.dir}${torn.join('')}`);
  }

  private folder(key: string, like: Folder | undefined, mode: number): Folder {
    const isShared = like !== undefined && this.keys.get(like) === key;
    if (isShared && like.mode === mode) return like;
    const folder = isShared ? new Folder(mode, like.items) : this.read(key, like, mode);
    this.keys.set(folder, key);
    return folder;
  }

  private read(key: string, like: Folder | undefined, mode: number): Folder {
    const folder = readFolder(this.store.bytes(key), this.boot, mode, (inner, name, innerMode) => {
      const alike = like?.items.get(name);
      return this.folder(inner, alike instanceof Folder ? alike : undefined, innerMode);
    });
    for (const item of folder.items.values())
      if (item.kind === 'file' && item.hash !== undefined) this.store.learn(item.hash);
    return folder;
  }

  /** Whether the record of one will do for the other: the same contents, and the same times of files. `inner` has the keys of the
   *  folders in it. */
  private isAlike(folder: Folder, was: Folder, inner: ReadonlyMap<Folder, string>): boolean {
    if (folder.id !== was.id) return false;
    for (const [name, item] of folder.items) {
      const other = was.items.get(name);
      if (item === other || other === undefined) continue;
      const isSame =
        item instanceof Folder
          ? other instanceof Folder && inner.get(item) === this.keys.get(other)
          : !(other instanceof Folder) && item.mtimeMs === other.mtimeMs;
      if (!isSame) return false;
    }
    return true;
  }
}
