/** The trees of the snapshots in one folder: on disk each under its name, the latest of the large ones in memory too. */
import { linkSync, readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeWrite } from '../system/fence.ts';
import { isCode, isNoFile, makeFolder, systemWords, writeFileAtomic } from '../system/files.ts';
import { timesOf } from './facts.ts';
import { removeIfThere } from './neighbour.ts';
import type { Places } from './places.ts';
import type { Snapshot, Tree } from './snapshot.ts';
import { asWritten, isNameOf, type PlacesOf, piecesOf, readTree, writeTree } from './tree.ts';
import { codeOf, DamagedStore } from './trouble.ts';

/** A tree of so many entries is a large one. What is left in memory by reading as many files is worth a collection of
 *  garbage. */
export const many = 10_000;

/** `trees/<id>.json` in `dir`; makes the folder when it is missing. */
export class Manifests {
  /** Whether the folder was made just now: its name is not known to be on disk. */
  readonly areNew: boolean;
  private readonly folder: string;
  private readonly boot = bootId();
  /** Names of trees that are known to be on disk, the latest last, with the times that are told of their files there. */
  private readonly onDisk = new Map<string, number>();
  /** Of the checkpoint that counts. */
  private steps: number | undefined;
  /** Where the trees stand that it goes by, of those that have been replaced since. */
  private aside: string[] = [];
  // A run goes on from the last two; of an older one, whoever still has it, the tree is read again when it is asked for.
  private readonly held = new Map<string, Tree>();

  /** With `sync` false nothing is flushed: for who flushes all of `dir` before anybody can know of it. */
  constructor(
    dir: string,
    private readonly sync: boolean,
  ) {
    this.folder = join(dir, 'trees');
    try {
      this.areNew = makeFolder(this.folder) !== undefined;
    } catch (error) {
      if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
      throw new DamagedStore(`the snapshots in ${dir} are out of reach: ${systemWords(error)}`, {
        cause: error,
      });
    }
  }

  /** Reads a tree, and where its contents lie. Throws a DamagedStore where it is missing, or is not the one of that name. */
  read(id: string): { readonly tree: Tree; readonly places: Places } {
    const path = this.pathOf(id);
    const read = readOrExplain(this.boot, path);
    // The name says nothing of where the contents lie, which the text's own hash vouches for.
    if (!isNameOf(id, read.tree))
      throw new DamagedStore(`the snapshot ${path} is damaged: it tells of another tree`);
    this.isOnDisk(id, timesOf(read.tree));
    return read;
  }

  /** Settles when the tree and its name are on disk. One that is there already, and tells other times of its files or was
   *  put there by somebody else, who may have been killed before its name was on the disk, is replaced. */
  async write(id: string, tree: Tree, where: PlacesOf): Promise<void> {
    const times = timesOf(tree);
    if (this.onDisk.get(id) === times) return;
    if (this.onDisk.has(id)) this.putAside(id);
    const { sync } = this;
    const { pieces, head } = writeTree(tree, this.boot, where);
    await writeFileAtomic(this.pathOf(id), pieces, { mode: 0o600, sync, syncFolder: sync, head });
    this.isOnDisk(id, times);
  }

  /** Tells how many steps the run has made by the checkpoint that counts from now on. */
  goOnFrom(steps: number): void {
    if (steps === this.steps) return;
    this.steps = steps;
    for (const path of this.aside.splice(0)) {
      beforeWrite(path);
      removeIfThere(path);
    }
  }

  /** Has the tree be the one again that the checkpoint of so many steps goes by. */
  backTo(id: string, steps: number): void {
    const path = this.pathOf(id);
    beforeWrite(path);
    try {
      renameSync(asideOf(path, steps), path);
    } catch (error) {
      if (!isNoFile(error)) throw error;
    }
  }

  /** Keeps a tree that is about to be replaced by one of other times: whoever is killed before the next checkpoint goes on
   *  from this one. */
  private putAside(id: string): void {
    if (this.steps === undefined) return;
    const path = this.pathOf(id);
    const aside = asideOf(path, this.steps);
    beforeWrite(aside);
    try {
      linkSync(path, aside);
    } catch {
      // It is there, from an earlier attempt; or the disk has no links, and the times of the cut stage are what is left.
    }
    this.aside.push(aside);
  }

  private isOnDisk(id: string, times: number): void {
    this.onDisk.delete(id);
    this.onDisk.set(id, times);
  }

  /** Where a content lies, as the latest tree on disk tells that has it. */
  placesOf(hash: string): Places | undefined {
    for (const id of [...this.onDisk.keys()].reverse()) {
      const { places } = this.read(id);
      if (places.has(hash)) return places;
    }
    return undefined;
  }

  /** A large tree is in memory as long as it is one of the latest, and read again where it is asked for later. */
  snapshotOf(id: string, tree: Tree): Snapshot {
    if (tree.size < many) return { id, tree };
    this.hold(id, tree);
    const again = (): Tree => this.hold(id, this.read(id).tree);
    const { held } = this;
    return {
      id,
      get tree() {
        return held.get(id) ?? again();
      },
    };
  }

  /** The tree, where it is in memory. */
  inMemory(id: string): Tree | undefined {
    return this.held.get(id);
  }

  /** All that are in memory. */
  allInMemory(): Iterable<Tree> {
    return this.held.values();
  }

  /** Has the tree, now the latest of them, in memory. */
  hold(id: string, tree: Tree): Tree {
    this.held.delete(id);
    this.held.set(id, tree);
    this.letGoOfAllBut(2);
    return tree;
  }

  /** Lets go of all but the latest few. */
  letGoOfAllBut(most: number): void {
    for (const id of this.held.keys()) if (this.held.size > most) this.held.delete(id);
  }

  letGo(id: string): void {
    this.held.delete(id);
  }

  private pathOf(id: string): string {
    return join(this.folder, `${id}.json`);
  }
}

const asideOf = (path: string, steps: number): string => path.replace(/json$/, `${steps}.json`);

/** Names this start of the system; empty where the system does not tell. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function readOrExplain(boot: string, path: string): ReturnType<typeof readTree> {
  try {
    return readTree(asWritten(piecesOf(path)), boot);
  } catch (error) {
    if (isNoFile(error))
      throw new DamagedStore(`there is no snapshot ${basename(path, '.json')} in ${dirname(dirname(path))}`);
    // The system's own words say more.
    if (codeOf(error) !== '' && !isCode(error, 'ELOOP')) throw error;
    throw new DamagedStore(`the snapshot ${path} is damaged: it cannot be read`, { cause: error });
  }
}
