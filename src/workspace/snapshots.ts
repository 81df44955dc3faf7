/** Snapshots of one workspace: taken by a stat walk that reads only what may have changed. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { syncFolder } from '../system/files.ts';
import type { Batch, Kept } from './batch.ts';
import { checkoutTree } from './checkout.ts';
import { copyTree } from './copy.ts';
import { realOf } from './dirs.ts';
import { Manifests } from './manifests.ts';
import { isOurs, namesPlace } from './own-place.ts';
import { restoreTree } from './restore.ts';
import { Scanner } from './scan.ts';
import type { Copied, CopyOptions, Entry, PathFilter, Snapshot, Snapshots, Stray, Tree } from './snapshot.ts';
import { Store } from './store.ts';
import { isSame, treeId } from './tree.ts';
import { StoreTrouble, trouble } from './trouble.ts';

type Where = {
  readonly workspace: string;
  readonly dir: string;
  readonly inStage?: true;
  readonly sync?: false;
};

/** Opens the snapshots kept in `dir` of the folder `workspace`; makes `dir` when it is missing. A workspace that is
 *  not there counts as an empty one, and so does one that a stage has replaced by a link or a file. What cannot be
 *  read, written or listed rejects with a WorkspaceError that names the path. `inStage` where a stage restores its own
 *  workspace. With `sync` false a take flushes large contents alone: for who flushes all of `dir` before anybody can know
 *  of it. */
export async function openSnapshots(where: Where): Promise<Snapshots> {
  return new KeptSnapshots(where);
}

class KeptSnapshots implements Snapshots {
  private readonly workspace: string;
  private readonly dir: string;
  private readonly inStage: true | undefined;
  private readonly sync: boolean;
  private readonly manifests: Manifests;
  private readonly store: Store;
  private readonly scanner: Scanner;
  /** A folder of ours whose name is not known to be on disk. */
  private isNew: boolean;
  /** The tree that was taken last, to tell what a restore finds untouched. */
  private latest: Tree = empty;
  /** The files that a copy has read, until the first take has seen them. */
  private copies: Tree = empty;
  /** The end of the last take. */
  private taking: Promise<unknown> = Promise.resolve();

  constructor(where: Where) {
    // The folders above are resolved, the workspace itself is not: a link in its place is a stage's doing, and
    // following it would restore a foreign folder to nothing.
    const given = resolve(where.workspace);
    this.workspace = join(realOf(dirname(given)), basename(given));
    this.dir = resolve(where.dir);
    this.inStage = where.inStage;
    this.sync = where.sync ?? true;
    this.manifests = new Manifests(this.dir, this.sync);
    this.isNew = this.manifests.areNew;
    this.store = new Store(realpathSync.native(this.dir), this.sync);
    this.scanner = new Scanner(this.workspace);
  }

  async copyIn(from: string, options: CopyOptions): Promise<Copied> {
    const batch = this.store.begin();
    const read = new Map<string, Entry>();
    const namesIt = namesPlace(realOf(resolve(from)));
    const namingPlace: string[] = [];
    try {
      const copied = await copyTree(from, this.workspace, options, (path, bytes, stat, hash) => {
        const { mtimeMs, ctimeMs, ino } = stat;
        const mode = stat.mode & 0o7777;
        if (!isOurs(path) && namesIt(bytes)) namingPlace.push(path);
        try {
          read.set(path, { kind: 'file', mode, ...batch.addBytes(bytes, hash), mtimeMs, ctimeMs, ino });
        } catch (error) {
          throw this.unwritten(error);
        }
      });
      if (await batch.commit()) this.isNew = false;
      this.copies = read;
      return { ...copied, namingPlace: namingPlace.sort() };
    } catch (error) {
      throw this.unwritten(error);
    } finally {
      batch.close();
    }
  }

  take(since?: Snapshot, goOn?: () => void): Promise<Snapshot> {
    // One at a time: what the scanner knows and where the pack ends belong to one take.
    const taken = this.taking.then(() => this.takeNow(since, goOn));
    this.taking = taken.catch(() => undefined);
    return taken;
  }

  strays(): readonly Stray[] {
    return this.scanner.strays;
  }

  async load(id: string): Promise<Snapshot> {
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`"${id}" is no name of a snapshot`);
    const { tree, places } = this.manifests.read(id);
    this.store.learn(places, hashesOf(tree));
    return { id, tree };
  }

  async restore(to: Snapshot, only?: PathFilter, how: { readonly times?: 'now' } = {}): Promise<void> {
    const { workspace, store, inStage } = this;
    const { tree } = to;
    // A snapshot that another opening has taken: its places are on disk.
    if (!this.hasContents(tree)) await this.load(to.id);
    return restoreTree({
      ...{ workspace, to: tree, known: [this.latest, tree], store, only, inStage },
      isTimeNow: how.times === 'now',
    });
  }

  async checkout(id: string, folder: string): Promise<Tree> {
    const { tree } = await this.load(id);
    await checkoutTree(tree, folder, this.store);
    return tree;
  }

  read(hash: string): Promise<Buffer> {
    return this.store.read(hash);
  }

  pieces(hash: string): AsyncIterable<Buffer> {
    return this.store.pieces(hash);
  }

  private async takeNow(since: Snapshot | undefined, goOn: GoOn): Promise<Snapshot> {
    const { store } = this;
    const batch = store.begin();
    try {
      const before = since?.tree ?? this.copies;
      const tree = await this.scanner.scan({
        before,
        has: (hash) => store.has(hash),
        keep: (place, expected) => {
          goOn?.();
          return this.keep(batch, place, expected, goOn);
        },
      });
      if (!(await batch.commit()) && this.isNew && this.sync) await syncFolder(this.dir);
      this.isNew = false;
      this.latest = tree;
      this.copies = empty;
      if (since !== undefined && tree === before) return since;
      const likeness = since === undefined ? 'none' : compared(tree, before);
      const id = since === undefined || likeness === 'none' ? treeId(tree) : since.id;
      if (likeness !== 'all' || !this.manifests.written.has(id))
        await this.manifests.write(id, tree, store.placeOf);
      return { id, tree };
    } catch (error) {
      this.scanner.forget();
      throw this.unwritten(error);
    } finally {
      batch.close();
    }
  }

  private async keep(batch: Batch, place: string | Buffer, expected: number, goOn: GoOn): Promise<Kept> {
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

  private hasContents(tree: Tree): boolean {
    for (const hash of hashesOf(tree)) if (!this.store.has(hash)) return false;
    return true;
  }
}

type GoOn = (() => void) | undefined;

const empty: Tree = new Map();

function* hashesOf(tree: Tree): Generator<string> {
  for (const entry of tree.values()) if (entry.hash !== undefined) yield entry.hash;
}

/** What two trees have in common: nothing that counts, the contents, or also the times of the files. */
function compared(a: Tree, b: Tree): 'none' | 'contents' | 'all' {
  if (a.size !== b.size) return 'none';
  let hasSameTimes = true;
  for (const [path, entry] of a) {
    const other = b.get(path);
    if (other === undefined || !isSame(entry, other)) return 'none';
    if (entry.mtimeMs !== other.mtimeMs) hasSameTimes = false;
  }
  return hasSameTimes ? 'all' : 'contents';
}
