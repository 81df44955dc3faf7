/** Snapshots of one workspace: taken by a stat walk that reads only what may have changed. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isCode, isNoFile, makeFolder, syncFolder, writeFileAtomic } from '../system/files.ts';
import { collectGarbage } from '../system/memory.ts';
import { checkoutTree } from './checkout.ts';
import { copyTree } from './copy.ts';
import { realOf } from './dirs.ts';
import { restoreTree } from './restore.ts';
import { Scanner } from './scan.ts';
import type { Entry, Snapshot, Snapshots, Tree } from './snapshot.ts';
import { Store } from './store.ts';
import { asWritten, isSame, piecesOf, readTree, treeId, writeTree } from './tree.ts';
import { codeOf, DamagedStore, StoreTrouble, trouble } from './trouble.ts';

export { putBack } from './restore.ts';

/** Opens the snapshots kept in `dir` of the folder `workspace`; makes `dir` when it is missing. A workspace that is
 *  not there counts as an empty one, and so does one that a stage has replaced by a link or a file. What cannot be
 *  read, written or listed rejects with a WorkspaceError that names the path. `inStage` where a stage restores its own
 *  workspace. With `sync` false a take flushes large contents alone: for who flushes all of `dir` before anybody can know
 *  of it. */
export async function openSnapshots(where: {
  readonly workspace: string;
  readonly dir: string;
  readonly inStage?: true;
  readonly sync?: false;
}): Promise<Snapshots> {
  const sync = where.sync ?? true;
  // The folders above are resolved, the workspace itself is not: a link in its place is a stage's doing, and
  // following it would restore a foreign folder to nothing.
  const given = resolve(where.workspace);
  const workspace = join(realOf(dirname(given)), basename(given));
  const dir = resolve(where.dir);
  const trees = join(dir, 'trees');
  // A folder whose name is not known to be on disk.
  let isNew = makeFolder(trees) !== undefined;
  const store = new Store(realpathSync.native(dir), sync);
  const boot = bootId();
  const pathOf = (id: string): string => join(trees, `${id}.json`);
  // Of the tree that was taken last, to tell what a restore finds untouched.
  let latest: Tree = empty;
  // Of the files that a copy has read, until the first take has seen them.
  let copies: Tree = empty;
  let taking: Promise<unknown> = Promise.resolve();
  // Names of trees that are known to be on disk.
  const written = new Set<string>();
  const scanner = new Scanner(workspace);
  const unwritten = (error: unknown): Error => trouble('write a snapshot into', dir, error, StoreTrouble);

  // Large trees in memory, by their names, the latest last. A run goes on from the last two; of an older one, whoever
  // still has it, the tree is read again when it is asked for.
  const held = new Map<string, Tree>();
  const keepOnly = (most: number): void => {
    for (const id of held.keys()) if (held.size > most) held.delete(id);
  };
  const hold = (id: string, tree: Tree): Tree => {
    held.delete(id);
    held.set(id, tree);
    keepOnly(2);
    return tree;
  };
  const treeAgain = (id: string) => {
    const read = readOrExplain(boot, pathOf(id));
    if (treeId(read.tree) !== id)
      throw new DamagedStore(`the snapshot ${pathOf(id)} is damaged: it tells of another tree`);
    return read;
  };
  const snapshotOf = (id: string, of: Tree): Snapshot => {
    if (of.size < many) return { id, tree: of };
    hold(id, of);
    return {
      id,
      get tree() {
        return held.get(id) ?? hold(id, treeAgain(id).tree);
      },
    };
  };

  // What a take has found known must be so until its manifest is written.
  let takes = 0;
  // Where older contents lie is looked up again when it is asked for.
  let hasForgotten = false;
  const forgetOld = (tree: Tree): void => {
    const kept = new Set([latest, tree, ...held.values()]);
    const entries = [...kept].reduce((sum, { size }) => sum + size, 0);
    if (takes > 0 || store.known < many + entries + entries / 2) return;
    hasForgotten = true;
    store.forgetAllBut(
      (function* () {
        for (const one of kept) yield* hashesOf(one);
      })(),
    );
  };
  const findAgain = (hash: string): void => {
    if (!hasForgotten || store.has(hash)) return;
    for (const id of [...written].reverse()) {
      const { places } = treeAgain(id);
      if (!places.has(hash)) continue;
      store.learn(places, []);
      return;
    }
  };

  const load = async (id: string): Promise<Snapshot> => {
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`"${id}" is no name of a snapshot`);
    const here = held.get(id);
    if (here !== undefined && every(hashesOf(here), (hash) => store.has(hash))) return snapshotOf(id, here);
    keepOnly(1);
    const { tree, places } = treeAgain(id);
    store.learn(places, hashesOf(tree));
    written.add(id);
    const snapshot = snapshotOf(id, tree);
    forgetOld(tree);
    if (tree.size >= many) collectGarbage();
    return snapshot;
  };

  const copyIn: Snapshots['copyIn'] = async (from, options) => {
    const batch = store.begin();
    const read = new Map<string, Entry>();
    try {
      const copied = await copyTree(from, workspace, options, (path, bytes, stat, hash) => {
        const { mtimeMs, ctimeMs, ino } = stat;
        const mode = stat.mode & 0o7777;
        try {
          read.set(path, { kind: 'file', mode, ...batch.addBytes(bytes, hash), mtimeMs, ctimeMs, ino });
        } catch (error) {
          throw unwritten(error);
        }
      });
      if (await batch.commit()) isNew = false;
      copies = read;
      return copied;
    } catch (error) {
      throw unwritten(error);
    } finally {
      batch.close();
    }
  };

  const take: Snapshots['take'] = async (since, goOn) => {
    const batch = store.begin();
    let kept = 0;
    takes += 1;
    try {
      // Two trees in memory are enough: this one, and the one that is being found.
      const before = since?.tree ?? copies;
      // What a copy or a restore of all that has left is let go before everything is looked at for the first time.
      if (latest === empty && before.size >= many) collectGarbage();
      if (since !== undefined && held.has(since.id)) hold(since.id, before);
      keepOnly(1);
      const tree = await scanner.scan({
        before,
        has: (hash) => store.has(hash),
        keep: async (place, expected) => {
          goOn?.();
          kept += 1;
          if (kept % many === 0) collectGarbage();
          try {
            return await batch.addFile(place, expected, goOn);
          } catch (error) {
            // Told apart here: the scan can only say which file of the workspace it was about.
            const ours =
              error instanceof Error &&
              'path' in error &&
              [dir, store.dir].some((at) => String(error.path).startsWith(at));
            throw ours ? unwritten(error) : error;
          }
        },
      });
      if (!(await batch.commit()) && isNew && sync) await syncFolder(dir);
      isNew = false;
      latest = tree;
      copies = empty;
      if (since !== undefined && tree === before) return since;
      const id = since !== undefined && isSameTree(tree, before) ? since.id : treeId(tree);
      // Whoever put it there may have been killed before its name was on the disk.
      if (!written.has(id) && existsSync(pathOf(id))) await syncFolder(trees);
      else if (!written.has(id)) {
        const { pieces, head } = writeTree(tree, boot, store);
        await writeFileAtomic(pathOf(id), pieces, { mode: 0o600, sync, syncFolder: sync, head });
      }
      written.add(id);
      return snapshotOf(id, tree);
    } catch (error) {
      scanner.forget();
      throw unwritten(error);
    } finally {
      batch.close();
      takes -= 1;
      forgetOld(latest);
      if (kept > many) collectGarbage();
    }
  };

  return {
    copyIn,
    take: (since, goOn) => {
      // One at a time: what the scanner knows and where the pack ends belong to one take.
      const taken = taking.then(() => take(since, goOn));
      taking = taken.catch(() => undefined);
      return taken;
    },
    strays: () => scanner.strays,
    load,
    async restore(to, only) {
      // A snapshot that another opening has taken: where its contents lie stands on disk.
      const { tree } = to;
      if (!every(hashesOf(tree), (hash) => store.has(hash))) await load(to.id);
      return restoreTree({ workspace, to: tree, known: [latest, tree], store, only, inStage: where.inStage });
    },
    async checkout(id, folder) {
      const { tree } = await load(id);
      await checkoutTree(tree, folder, store);
      return tree;
    },
    letGo: ({ id }) => void held.delete(id),
    rest() {
      held.clear();
      scanner.forget();
      latest = empty;
      collectGarbage();
    },
    async read(hash) {
      findAgain(hash);
      return store.read(hash);
    },
    async *pieces(hash) {
      findAgain(hash);
      yield* store.pieces(hash);
    },
  };
}

const empty: Tree = new Map();

/** From so many files on, what is left in memory by reading them is worth a collection of garbage. */
const many = 10_000;

function* hashesOf(tree: Tree): Generator<string> {
  for (const entry of tree.values()) if (entry.hash !== undefined) yield entry.hash;
}

function every<T>(items: Iterable<T>, test: (item: T) => boolean): boolean {
  for (const item of items) if (!test(item)) return false;
  return true;
}

const isSameTree = (a: Tree, b: Tree): boolean => {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [path, entry] of a) {
    const other = b.get(path);
    if (other === undefined || !isSame(entry, other)) return false;
  }
  return true;
};

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
    // The tree's name says nothing of where its contents lie, and the next snapshot would take that over.
    return readTree(asWritten(piecesOf(path)), boot);
  } catch (error) {
    if (isNoFile(error))
      throw new DamagedStore(`there is no snapshot ${basename(path, '.json')} in ${dirname(dirname(path))}`);
    // The system's own words say more.
    if (codeOf(error) !== '' && !isCode(error, 'ELOOP')) throw error;
    throw new DamagedStore(`the snapshot ${path} is damaged: it cannot be read`, { cause: error });
  }
}
