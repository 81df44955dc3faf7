/** Snapshots of one workspace: taken by a stat walk that reads only what may have changed. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { ContentBatch, StoredContent } from '../contents/batch.ts';
import { ContentStore } from '../contents/store.ts';
import { DamagedStore, StoreTrouble, trouble } from '../platform/files/workspace-error.ts';
import { isCode, makeFolder, systemWords } from '../platform/files/write.ts';
import { checkoutTree } from './checkout.ts';
import { copyTree } from './copy.ts';
import { isOurs, namesPlace } from './own-place.ts';
import { restoreTree } from './restore.ts';
import { realOf } from './roots.ts';
import { Scanner } from './scan.ts';
import type { Copied, CopyOptions, Entry, PathFilter, Snapshot, Snapshots, Stray, Tree } from './snapshot.ts';
import { FolderTree, topOf } from './tree.ts';
import { Trees } from './trees.ts';

type Where = {
  readonly workspace: string;
  readonly dir: string;
  readonly inStage?: true;
  readonly sync?: false | 'later';
};

/** Opens the snapshots kept in `dir` of the folder `workspace`; makes `dir` when it is missing. A workspace that is
 *  not there counts as an empty one, and so does one that a stage has replaced by a link or a file. What cannot be
 *  read, written or listed rejects with a WorkspaceError that names the path. `inStage` where a stage restores its own
 *  workspace. With `sync` false a take flushes nothing: for who flushes all of `dir` before another process can know of it;
 *  with 'later' the `flush` of its contents does. */
export async function openSnapshots(where: Where): Promise<Snapshots> {
  return new KeptSnapshots(where);
}

/** What `before` has taken, under the name that the run directory has now. `before` is of no use then. */
export function movedSnapshots(before: Snapshots, where: Where): Snapshots {
  return new KeptSnapshots(where, keptBefore(before));
}

function keptBefore(before: Snapshots | undefined): KeptSnapshots | undefined {
  if (before === undefined || before instanceof KeptSnapshots) return before;
  throw new Error('Internal: snapshots of another kind');
}

class KeptSnapshots implements Snapshots {
  private readonly workspace: string;
  private readonly dir: string;
  private readonly inStage: true | undefined;
  readonly store: ContentStore;
  private readonly trees: Trees;
  private readonly scanner: Scanner;
  /** The tree that was taken last, to tell what a restore finds untouched. */
  private latest = new FolderTree();
  /** The files that a copy has read, until the first take has seen them. */
  private copies: Tree | undefined;
  /** The end of the last take. */
  private taking: Promise<unknown> = Promise.resolve();

  constructor(where: Where, before?: KeptSnapshots, sibling?: KeptSnapshots) {
    // The folders above are resolved, the workspace itself is not: a link in its place is a stage's doing, and
    // following it would restore a foreign folder to nothing.
    const given = resolve(where.workspace);
    this.workspace = join(realOf(dirname(given)), basename(given));
    this.dir = resolve(where.dir);
    this.inStage = where.inStage;
    if (sibling === undefined) makeStore(this.dir);
    this.store = sibling?.store ?? new ContentStore(realpathSync.native(this.dir), where.sync, before?.store);
    this.trees = sibling?.trees ?? new Trees(this.store, before?.trees);
    this.scanner = new Scanner(this.workspace);
    if (before === undefined) return;
    this.latest = before.latest;
    before.scanner.forget();
  }

  async copyIn(from: string, options: CopyOptions): Promise<Copied> {
    const batch = this.store.begin();
    const read = new Map<string, Entry>();
    const namesIt = namesPlace(realOf(resolve(from)));
    const namingPlace: string[] = [];
    try {
      const copied = await copyTree(from, this.workspace, options, (path, bytes, stat) => {
        const { mtimeMs, ctimeMs, ino } = stat;
        const mode = stat.mode & 0o7777;
        if (!isOurs(path) && namesIt(bytes)) namingPlace.push(path);
        try {
          read.set(path, { kind: 'file', mode, ...batch.addBytes(bytes), mtimeMs, ctimeMs, ino });
        } catch (error) {
          throw this.unwritten(error);
        }
      });
      await batch.commit();
      this.copies = read;
      return { ...copied, namingPlace: namingPlace.sort() };
    } catch (error) {
      throw this.unwritten(error);
    } finally {
      await batch.end();
    }
  }

  take(since?: Snapshot, goOn?: () => void): Promise<Snapshot> {
    // One at a time: what the scanner knows belongs to one take.
    const snapshot = this.taking.then(() => this.takeNow(since, goOn));
    this.taking = snapshot.catch(() => undefined);
    return snapshot;
  }

  strays(): readonly Stray[] {
    return this.scanner.strays;
  }

  async load(id: string): Promise<Snapshot> {
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`"${id}" is no name of a snapshot`);
    return { id, tree: this.trees.load(id, this.latest) };
  }

  async keepTree(tree: Tree): Promise<Snapshot> {
    const folders = new FolderTree(topOf(tree));
    const batch = this.store.begin();
    try {
      const stored = this.trees.add(folders, this.latest, batch);
      await batch.commit();
      stored();
      return { id: folders.top.id, tree: folders };
    } catch (error) {
      throw this.unwritten(error);
    } finally {
      await batch.end();
    }
  }

  async restore(to: Snapshot, only?: PathFilter, how: { readonly times?: 'now' } = {}): Promise<void> {
    const { workspace, store, inStage } = this;
    const { tree } = to;
    // A snapshot that another opening has taken.
    if (!(tree instanceof FolderTree && this.trees.has(tree))) await this.load(to.id);
    return restoreTree({
      ...{ workspace, to: tree, known: [this.latest, tree], store, only, inStage },
      isTimeNow: how.times === 'now',
    });
  }

  ofFolder(workspace: string, before?: Snapshots): Snapshots {
    return new KeptSnapshots({ workspace, dir: this.dir }, keptBefore(before), this);
  }

  async checkout(id: string, folder: string): Promise<Tree> {
    const { tree } = await this.load(id);
    await checkoutTree(tree, folder, this.store);
    return tree;
  }

  async read(hash: string): Promise<Buffer> {
    return this.store.read(hash);
  }

  async *pieces(hash: string): AsyncGenerator<Buffer> {
    yield* this.store.pieces(hash);
  }

  private async takeNow(since: Snapshot | undefined, goOn: GoOn): Promise<Snapshot> {
    const { store } = this;
    const batch = store.begin();
    try {
      const before = since?.tree ?? this.copies ?? this.latest;
      const tree = await this.scanner.scan({
        before,
        has: (hash) => store.has(hash),
        keep: (place, expected) => {
          goOn?.();
          return this.keep(batch, place, expected, goOn);
        },
      });
      const stored = this.trees.add(tree, before instanceof FolderTree ? before : this.latest, batch);
      await batch.commit();
      stored();
      this.latest = tree;
      this.copies = undefined;
      return since?.tree === tree ? since : { id: tree.top.id, tree };
    } catch (error) {
      this.scanner.forget();
      throw this.unwritten(error);
    } finally {
      await batch.end();
    }
  }

  private async keep(
    batch: ContentBatch,
    place: string | Buffer,
    expected: number,
    goOn: GoOn,
  ): Promise<StoredContent> {
    try {
      return await batch.addFile(place, expected, goOn);
    } catch (error) {
      // Distinguished here: the scan only knows the file of the workspace.
      throw this.isAboutOurs(error) ? this.unwritten(error) : error;
    }
  }

  private isAboutOurs(error: unknown): boolean {
    return error instanceof Error && 'path' in error && String(error.path).startsWith(this.store.dir);
  }

  private unwritten(error: unknown): Error {
    return trouble('write a snapshot into', this.dir, error, StoreTrouble);
  }
}

type GoOn = (() => void) | undefined;

function makeStore(dir: string): void {
  try {
    makeFolder(dir);
  } catch (error) {
    if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
    throw new DamagedStore(`the snapshots in ${dir} are out of reach: ${systemWords(error)}`, {
      cause: error,
    });
  }
}
