/** What a workspace holds at one moment: entries by path, file contents in a store by hash. */
import type { ContentStore } from '../contents/store.ts';

export type EntryKind = 'file' | 'dir' | 'link';

/** One path of a tree. */
export type Entry = {
  readonly kind: EntryKind;
  /** Permission bits, e.g. 0o755. */
  readonly mode: number;
  /** Files only: size in bytes and SHA-256 (hex) of the content. */
  readonly size?: number;
  readonly hash?: string;
  /** Links only: the target, unresolved. */
  readonly target?: string;
  /** Files only: modification time in milliseconds. */
  readonly mtimeMs?: number;
  /** Files only: with the modification time they identify an unchanged file without reading it. Both or none: a file that
   *  changed within the clock's last step has none. */
  readonly ctimeMs?: number;
  readonly ino?: number;
};

/** Slash paths relative to the workspace, sorted by code unit. The root itself is not listed. */
export type Tree = ReadonlyMap<string, Entry>;

/** Named by the hash of the tree's kinds, modes, hashes and targets, so equal trees have equal ids. */
export type Snapshot = { readonly id: string; readonly tree: Tree };

/** What happened between two snapshots. `created`, `modified` and `deleted` list files and links;
 *  folders that appeared, vanished or changed mode are apart. All sorted. */
export type Changes = {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly folders: {
    readonly created: readonly string[];
    readonly modified: readonly string[];
    readonly deleted: readonly string[];
  };
};

/** A socket, a pipe or a device. */
export type Stray = { readonly path: string; readonly isSocket: boolean };

export type CopyOptions = {
  /** Absolute paths that are left out wherever they are in the tree, compared as real paths (the runs directory). */
  readonly exclude: readonly string[];
  /** Called before each entry and before each piece of a large file; an error that it throws ends the copy. */
  readonly goOn?: () => void;
  /** `.factoryignore` is not applied: what it names is copied too. */
  readonly whole?: true;
};

export type Copied = {
  /** Regular files and links. */
  readonly files: number;
  /** Sockets, pipes and devices, which are not copied. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  /** Links that lead out of the tree, absolute ones included; they are copied unchanged. */
  readonly outsideLinks: readonly string[];
  /** Files whose text contains the path of the copied folder, where the caller looked for them. */
  readonly namingPlace?: readonly string[];
};

/** Which paths a restore covers; all without it. */
export type PathFilter = (path: string) => boolean;

/** Snapshots of one workspace, kept in `dir` (`<run>/snapshots`). A second process may open them for reading while the
 *  first one waits. */
export interface Snapshots {
  /** Where the contents are. */
  readonly store: ContentStore;
  /** Fills the workspace, which must be missing or empty, with a copy of the folder `from` as `copyTree` makes it, and
   *  stores what it reads: the first `take` does not read it again. */
  copyIn(from: string, options: CopyOptions): Promise<Copied>;
  /** Takes a snapshot of the workspace. Files whose stat facts equal those in `since` are not read. Contents and
   *  manifest are on disk (fsynced) when it settles, unless the store flushes later. `goOn` is called before each file that is read and before each piece of a
   *  large one; an error that it throws ends the take. */
  take(since?: Snapshot, goOn?: () => void): Promise<Snapshot>;
  /** What the last take has skipped: it has no place in a snapshot. */
  strays(): readonly Stray[];
  /** A snapshot taken earlier, also by another process. Rejects with a clear error when it is missing or damaged. */
  load(id: string): Promise<Snapshot>;
  /** Stores a tree whose contents the store has, as a snapshot. */
  keepTree(tree: Tree): Promise<Snapshot>;
  /** Makes the workspace equal to `to`, touching only what differs: content, mode, links and existence. `only` limits it to
   *  some paths. A file that is written gets the modification time that it has in the snapshot; with `times: 'now'` the
   *  present, so that build tools see what was made of the replaced content as out of date. */
  restore(to: Snapshot, only?: PathFilter, how?: { readonly times?: 'now' }): Promise<void>;
  /** Puts a snapshot into another folder, which must be missing or empty, and returns its tree. Rejects with a
   *  WorkspaceError where it may not, and leaves nothing in the folder when it fails. */
  checkout(id: string, folder: string): Promise<Tree>;
  /** Snapshots of another workspace, in the same store. `before` are those of the same folder under an earlier name; they are of no
   *  use then. */
  ofFolder(workspace: string, before?: Snapshots): Snapshots;
  /** A file's bytes as they were in a snapshot. */
  read(hash: string): Promise<Buffer>;
  /** The same in bounded pieces, for a file of any size; pieces of nothing but zeros are left out. */
  pieces(hash: string): AsyncIterable<Buffer>;
}
