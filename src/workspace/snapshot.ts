/** What a workspace holds at one moment: entries by path, file contents in a store by hash. */
import type { Names } from './hard-links.ts';

export type EntryKind = 'file' | 'dir' | 'link';

/** One path of a tree. */
export type Entry = {
  readonly kind: EntryKind;
  /** Permission bits, e.g. 0o755. */
  readonly mode: number;
  /** Files only: size in bytes and SHA-256 (hex) of the content. */
  readonly size?: number;
  readonly hash?: string;
  /** Links only: the target as it stands. */
  readonly target?: string;
  /** Of files and folders, as Node's Stats have it: milliseconds with their fraction, which tell a quarter of a microsecond. None in
   *  trees of an earlier version. */
  readonly mtimeMs?: number;
  /** With the time they tell an untouched file without reading it. Both or none; but the inode alone of a file with several
   *  names that is too young for that, or of another start of the system. */
  readonly ctimeMs?: number;
  readonly ino?: number;
};

/** Slash paths relative to the workspace, sorted by code unit. The root itself is not listed. */
export type Tree = ReadonlyMap<string, Entry>;

/** Named by the hash of the tree's facts (kind, mode, hash, target) and of which of its paths are names of one file, so
 *  equal trees have equal ids. */
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
  /** Absolute paths that are left out wherever they lie in the tree, compared as real paths (the runs directory). */
  readonly exclude: readonly string[];
  /** Asked before each entry, and before each piece of a large file; what it throws ends the copy. */
  readonly goOn?: () => void;
};

export type Copied = {
  /** Regular files and links. */
  readonly files: number;
  /** Sockets, pipes and devices, which are not copied. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  /** Links that lead out of the tree, absolute ones included; they are kept as they are. */
  readonly outsideLinks: readonly string[];
  /** Of the files that were copied, those with several names, where there are any. */
  readonly names?: Names;
  /** Those whose text names the folder that was copied, where somebody looked: for it they still lie there. */
  readonly namingPlace?: readonly string[];
};

/** Snapshots of one workspace, kept in `dir` (`<run>/snapshots`). Safe to open from a second process for reading
 *  while the first one waits. */
export interface Snapshots {
  /** Fills the workspace, which must be missing or empty, with a copy of the folder `from` as `copyTree` makes it, and
   *  keeps what it reads: the first `take` need not read it again. */
  copyIn(from: string, options: CopyOptions): Promise<Copied>;
  /** Takes the workspace as it is now. Files whose stat facts equal those in `since` are not read. Contents and
   *  manifest are on disk (fsynced) when it settles. `goOn` is asked before each file that is read, and before each piece of a
   *  large one; what it throws ends the take. */
  take(since?: Snapshot, goOn?: () => void): Promise<Snapshot>;
  /** What the last take has passed over: it has no place in a snapshot. */
  strays(): readonly Stray[];
  /** Tells how many steps the run has made by the checkpoint that is on disk. A snapshot that it goes by is kept with its
   *  times, though one of the same name be taken, until another number is told. */
  goOnFrom(steps: number): void;
  /** A snapshot taken earlier, also by another process; with the times that it had for the checkpoint of so many `steps`, or
   *  those of the last take. Rejects with a clear error when it is not there. */
  load(id: string, steps?: number): Promise<Snapshot>;
  /** Makes the workspace equal to `to`, touching only what differs from it now: content, mode, links, existence, and when
   *  files were last written. `only` limits it to paths it answers true for (others stay as they are). A file
   *  that is written, and that `anew` answers true for, counts as written now: other work may have been made of what goes. */
  restore(
    to: Snapshot,
    only?: (path: string) => boolean,
    how?: { readonly anew?: (path: string) => boolean },
  ): Promise<void>;
  /** Puts a snapshot into another folder, which must be missing or empty: content, modes, links and empty folders as
   *  they were; answers with its tree. Rejects with a WorkspaceError where it may not, and leaves nothing in the folder when it fails. */
  checkout(id: string, folder: string): Promise<Tree>;
  /** Lets go of the tree of a snapshot that nobody will ask about soon; whoever does has it read again. */
  letGo(snapshot: Snapshot): void;
  /** Lets go of what is only held to be quick: for whoever is done with the workspace but not with the process. */
  rest(): void;
  /** A file's bytes as they were in a snapshot. */
  read(hash: string): Promise<Buffer>;
  /** The same in pieces that can be held, for a file of any size; those of nothing but zeros are left out. */
  pieces(hash: string): AsyncIterable<Buffer>;
}
