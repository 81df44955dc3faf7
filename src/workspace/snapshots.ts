/** Snapshots of one workspace: taken by a stat walk that reads only what may have changed. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { syncFolder } from '../system/files.ts';
import { collectGarbage } from '../system/memory.ts';
import type { Batch, Kept } from './batch.ts';
import { checkoutTree } from './checkout.ts';
import { copyTree } from './copy.ts';
import { realOf } from './dirs.ts';
import { Manifests, many } from './manifests.ts';
import { isOurs, namesPlace } from './own-place.ts';
import { restoreTree } from './restore.ts';
import { Scanner } from './scan.ts';
import type { Copied, CopyOptions, Entry, Snapshot, Snapshots, Stray, Tree } from './snapshot.ts';
import { Store } from './store.ts';
import { isSame, treeId } from './tree.ts';
import { StoreTrouble, trouble } from './trouble.ts';
import { firstNames } from './twins.ts';

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
  /** Takes that have not ended, and the end of the last of them. */
  private takes = 0;
  private taking: Promise<unknown> = Promise.resolve();
  /** Where older contents lie is looked up again when it is asked for. */
  private hasForgotten = false;

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

  goOnFrom(steps: number): void {
    this.manifests.goOnFrom(steps);
  }

  async load(id: string, steps?: number): Promise<Snapshot> {
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`"${id}" is no name of a snapshot`);
    const { manifests, store } = this;
    if (steps !== undefined) manifests.backTo(id, steps);
    const here = manifests.inMemory(id);
    if (here !== undefined && this.hasContents(here)) return manifests.snapshotOf(id, here);
    manifests.letGoOfAllBut(1);
    const { tree, places } = manifests.read(id);
    store.learn(places, hashesOf(tree));
    const snapshot = manifests.snapshotOf(id, tree);
    this.forgetOldPlaces(tree);
    if (tree.size >= many) collectGarbage();
    return snapshot;
  }

  async restore(
    to: Snapshot,
    only?: (path: string) => boolean,
    { anew }: { readonly anew?: (path: string) => boolean } = {},
  ): Promise<void> {
    const { workspace, store, inStage } = this;
    const { tree } = to;
    // A snapshot that another opening has taken: where its contents lie stands on disk.
    if (!this.hasContents(tree)) await this.load(to.id);
    return restoreTree({ workspace, to: tree, known: [this.latest, tree], store, only, anew, inStage });
  }

  async checkout(id: string, folder: string): Promise<Tree> {
    const { tree } = await this.load(id);
    await checkoutTree(tree, folder, this.store);
    return tree;
  }

  letGo({ id }: Snapshot): void {
    this.manifests.letGo(id);
  }

  rest(): void {
    this.manifests.letGoOfAllBut(0);
    this.scanner.forget();
    this.latest = empty;
    collectGarbage();
  }

  async read(hash: string): Promise<Buffer> {
    this.findAgain(hash);
    return this.store.read(hash);
  }

  async *pieces(hash: string): AsyncGenerator<Buffer> {
    this.findAgain(hash);
    yield* this.store.pieces(hash);
  }

  private async takeNow(since: Snapshot | undefined, goOn: GoOn): Promise<Snapshot> {
    const { store, manifests } = this;
    const batch = store.begin();
    let kept = 0;
    this.takes += 1;
    try {
      const before = this.before(since);
      const tree = await this.scanner.scan({
        before,
        has: (hash) => store.has(hash),
        keep: (place, expected) => {
          goOn?.();
          kept += 1;
          if (kept % many === 0) collectGarbage();
          return this.keep(batch, place, expected, goOn);
        },
      });
      if (!(await batch.commit()) && this.isNew && this.sync) await syncFolder(this.dir);
      this.isNew = false;
      this.latest = tree;
      this.copies = empty;
      if (since !== undefined && tree === before) return since;
      const id = since !== undefined && isSameTree(tree, before) ? since.id : treeId(tree);
      await manifests.write(id, tree, store);
      return manifests.snapshotOf(id, tree);
    } catch (error) {
      this.scanner.forget();
      throw this.unwritten(error);
    } finally {
      batch.close();
      this.takes -= 1;
      this.forgetOldPlaces(this.latest);
      if (kept > many) collectGarbage();
    }
  }

  /** The tree that a take begins from. Two trees in memory are enough: this one, and the one that is being found. */
  private before(since: Snapshot | undefined): Tree {
    const { manifests } = this;
    const before = since?.tree ?? this.copies;
    // What a copy or a restore of all that has left is let go before everything is looked at for the first time.
    if (this.latest === empty && before.size >= many) collectGarbage();
    if (since !== undefined && manifests.inMemory(since.id) !== undefined) manifests.hold(since.id, before);
    manifests.letGoOfAllBut(1);
    return before;
  }

  private async keep(batch: Batch, place: string | Buffer, expected: number, goOn: GoOn): Promise<Kept> {
    try {
      return await batch.addFile(place, expected, goOn);
    } catch (error) {
      // Told apart here: the scan can only say which file of the workspace it was about.
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

  /** Keeps in mind where the contents of the latest trees and of this one lie, once there are many others. */
  private forgetOldPlaces(tree: Tree): void {
    const kept = new Set([this.latest, tree, ...this.manifests.allInMemory()]);
    const entries = [...kept].reduce((sum, { size }) => sum + size, 0);
    // What a take has found known must be so until its manifest is written.
    if (this.takes > 0 || this.store.known < many + entries + entries / 2) return;
    this.hasForgotten = true;
    this.store.forgetAllBut(
      (function* () {
        for (const one of kept) yield* hashesOf(one);
      })(),
    );
  }

  private findAgain(hash: string): void {
    if (!this.hasForgotten || this.store.has(hash)) return;
    const places = this.manifests.placesOf(hash);
    if (places !== undefined) this.store.learn(places, []);
  }
}

type GoOn = (() => void) | undefined;

const empty: Tree = new Map();

function* hashesOf(tree: Tree): Generator<string> {
  for (const entry of tree.values()) if (entry.hash !== undefined) yield entry.hash;
}

function isSameTree(a: Tree, b: Tree): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [path, entry] of a) {
    const other = b.get(path);
    if (other === undefined || !isSame(entry, other)) return false;
  }
  const [ofA, ofB] = [firstNames(a), firstNames(b)];
  if (ofA.size !== ofB.size) return false;
  for (const [path, first] of ofA) if (ofB.get(path) !== first) return false;
  return true;
}
