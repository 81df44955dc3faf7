/** Snapshots of one workspace: taken by a stat walk that reads only what may have changed. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { lstat, mkdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isMissing, writeFileAtomic } from '../system/files.ts';
import { checkoutTree } from './checkout.ts';
import { syncFolder } from './content.ts';
import { realOf } from './dirs.ts';
import { below } from './names.ts';
import { restoreTree } from './restore.ts';
import type { Entry, Snapshot, Snapshots, Tree } from './snapshot.ts';
import { type Batch, Store } from './store.ts';
import { type Facts, isSame, readTree, treeId, writeTree } from './tree.ts';
import { codeOf, isDenied, trouble } from './trouble.ts';
import { type Found, isUntouched, targetOf, walk } from './walk.ts';

export { putBack } from './restore.ts';

/** Opens the snapshots kept in `dir` of the folder `workspace`; makes `dir` when it is missing. A workspace that is
 *  not there counts as an empty one, and so does one that a stage has replaced by a link or a file. What cannot be
 *  read, written or listed rejects with a WorkspaceError that names the path. */
export async function openSnapshots(where: {
  readonly workspace: string;
  readonly dir: string;
}): Promise<Snapshots> {
  // The folders above are resolved, the workspace itself is not: a link in its place is a stage's doing, and
  // following it would restore a foreign folder to nothing.
  const given = resolve(where.workspace);
  const workspace = join(await realOf(dirname(given)), basename(given));
  const dir = resolve(where.dir);
  const trees = join(dir, 'trees');
  await mkdir(trees, { recursive: true });
  const store = new Store(await realpath(dir));
  const boot = bootId();
  const pathOf = (id: string): string => join(trees, `${id}.json`);
  // Of the tree that was taken last, to tell what a restore finds untouched.
  let latest: Tree = new Map();

  const load = async (id: string): Promise<Snapshot> => {
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`"${id}" is no name of a snapshot`);
    const text = await readFile(pathOf(id), 'utf8').catch((error: unknown) => {
      throw isMissing(error) ? new Error(`there is no snapshot ${id} in ${dir}`) : error;
    });
    const { tree, places } = readOrExplain(text, boot, pathOf(id));
    if (treeId(tree) !== id)
      throw new Error(`the snapshot ${pathOf(id)} is damaged: it tells of another tree`);
    store.learn(places);
    return { id, tree };
  };

  return {
    async take(since) {
      const batch = await store.begin();
      try {
        const sureBefore = nowIn(dir) - 20_000_000n;
        const { tree, same } = await scan({ workspace, since, store, batch, sureBefore });
        const id = since !== undefined && same ? since.id : treeId(tree);
        await batch.commit();
        if (!existsSync(pathOf(id))) {
          const text = writeTree(tree, boot, (hash) => store.placeOf(hash));
          await writeFileAtomic(pathOf(id), text, { mode: 0o600, sync: true });
          await syncFolder(trees);
        }
        latest = tree;
        return { id, tree };
      } catch (error) {
        throw trouble('write a snapshot into', dir, error);
      } finally {
        await batch.close();
      }
    },
    load,
    async restore(to, only) {
      // A snapshot that another opening has taken: where its contents lie stands on disk.
      if ([...to.tree.values()].some((e) => e.hash !== undefined && !store.has(e.hash))) await load(to.id);
      await restoreTree({ workspace, to: to.tree, known: [latest, to.tree], store, only });
    },
    checkout: async (id, folder) => checkoutTree((await load(id)).tree, folder, store),
    read: (hash) => store.read(hash),
  };
}

type Scan = {
  readonly workspace: string;
  readonly since: Snapshot | undefined;
  readonly store: Store;
  readonly batch: Batch;
  /** Nanoseconds: only a file that was last touched before this may be taken for untouched next time. */
  readonly sureBefore: bigint;
};

/** The tree as it is now, unknown contents added to the batch; `same` when nothing but stat facts differs from
 *  `since`. */
async function scan(s: Scan): Promise<{ readonly tree: Tree; readonly same: boolean }> {
  const tree = new Map<string, Entry>();
  const before = s.since?.tree ?? new Map<string, Entry>();
  let same = true;
  if (!(await isFolder(s.workspace))) return { tree, same: before.size === 0 };
  for (const found of walk(s.workspace)) {
    if (found.kind === 'special') continue;
    const was = before.get(found.path);
    const is = found.kind === 'file' ? await fileEntry(s, found, was) : plainEntry(s.workspace, found);
    if (is === undefined) continue;
    if (was === undefined || !isSame(was, is)) same = false;
    tree.set(found.path, is);
  }
  return { tree, same: same && tree.size === before.size };
}

function plainEntry(workspace: string, { kind, path, mode }: Found): Entry {
  return kind === 'link' ? { kind, mode, target: targetOf(workspace, path) } : { kind: 'dir', mode };
}

/** The file's entry, its content read only where the facts of `was` do not vouch for it; undefined when it has gone. */
async function fileEntry(s: Scan, found: Found, was: Entry | undefined): Promise<Entry | undefined> {
  if (was?.hash !== undefined && isUntouched(found, was) && s.store.has(was.hash)) return was;
  try {
    const { hash, size } = await s.batch.addFile(below(s.workspace, found.path));
    const facts = factsOf(found);
    // A file touched within the clock's grain of the walk could be touched again without its facts showing it; one
    // whose length is not what the walk saw has been. Without facts it is read again next time.
    const sure = size === Number(found.stat.size) && isOlder(found, s.sureBefore);
    return { kind: 'file', mode: found.mode, size, hash, ...(sure ? facts : {}) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw trouble(isDenied(error) ? 'read' : 'keep the content of', found.path, error);
  }
}

const isOlder = ({ stat }: Found, than: bigint): boolean => stat.ctimeNs < than && stat.mtimeNs < than;

const factsOf = ({ stat }: Found): Facts => ({
  mtimeNs: String(stat.mtimeNs),
  ctimeNs: String(stat.ctimeNs),
  ino: String(stat.ino),
});

/** The file system's own clock in nanoseconds, which may not be the system's. */
function nowIn(dir: string): bigint {
  const file = openSync(join(dir, 'clock'), 'w', 0o600);
  try {
    writeSync(file, '\n');
    return fstatSync(file, { bigint: true }).mtimeNs;
  } finally {
    closeSync(file);
  }
}

/** Names this start of the system; empty where the system does not tell. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function readOrExplain(text: string, boot: string, path: string): ReturnType<typeof readTree> {
  try {
    return readTree(text, boot);
  } catch (error) {
    throw new Error(`the snapshot ${path} is damaged: it cannot be read`, { cause: error });
  }
}

async function isFolder(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => undefined);
  return stat?.isDirectory() ?? false;
}
