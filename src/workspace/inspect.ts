/** A store of snapshots checked without changing anything: every block, every tree, every content. */
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { named } from '../platform/files/disk-error.ts';
import { below } from '../platform/files/names.ts';
import { namesIn } from '../platform/files/read.ts';
import { hashFile } from './bytes.ts';
import { Store } from './contents.ts';
import { DamagedStore } from './errors.ts';
import { blocksIn, isIntact, isTorn } from './pack.ts';
import { packName } from './packs.ts';
import type { Entry, Tree } from './snapshot.ts';
import { FolderTree } from './tree.ts';
import { Trees } from './trees.ts';
import { targetOf, walk } from './walk.ts';

/** A part of the store that differs from what was written; `file` is relative to it. */
export type StoreProblem = {
  readonly file: string;
  readonly what: 'changed' | 'added';
  readonly why: string;
};

export type Inspected = {
  readonly problems: readonly StoreProblem[];
  /** Names of the snapshots that are undamaged. */
  readonly trees: ReadonlySet<string>;
  readonly contents: number;
};

/** Checks all that is in `dir`. */
export async function inspectStore(dir: string): Promise<Inspected> {
  const problems: StoreProblem[] = [];
  const store = new Store(dir);
  const trees = new Trees(store);
  for (const file of namesIn(dir)) {
    const why = packName.test(file) ? packProblem(store, file) : undefined;
    if (why !== undefined) problems.push({ file, what: 'changed', why });
    if (!packName.test(file))
      problems.push({ file, what: 'added', why: 'the store has no file of this name' });
  }
  store.packs.refresh();
  const whole = new Set<string>();
  const contents = new Map<string, string | undefined>();
  let last = new FolderTree();
  for (const id of store.packs.keys('snapshot')) {
    const why = message(() => {
      last = trees.load(id, last);
      for (const { hash } of last.values()) {
        if (hash === undefined) continue;
        if (!contents.has(hash))
          contents.set(
            hash,
            message(() => readAll(store, hash)),
          );
        const wrong = contents.get(hash);
        if (wrong !== undefined) throw new DamagedStore(wrong);
      }
    });
    if (why === undefined) whole.add(id);
    // A block that is damaged is reported already.
    else if (problems.length === 0) problems.push({ file: store.packs.packOf(id), what: 'changed', why });
  }
  return { problems, trees: whole, contents: contents.size };
}

/** Why a pack is not what was written; a block that ends too early was left by a process that was killed. */
function packProblem({ packs, dir }: Store, name: string): string | undefined {
  const file = packs.open(name);
  if (file === undefined) return 'is no file';
  try {
    let end = 0;
    for (const { block } of blocksIn(file, 0)) {
      if (!isIntact(file, block))
        return `holds other bytes than were written there (from byte ${block.start})`;
      end = block.at + block.stored;
    }
    return isTorn(file, end) ? undefined : `holds other bytes than were written there (from byte ${end})`;
  } catch (error) {
    throw named(join(dir, name), error);
  } finally {
    closeSync(file);
  }
}

function readAll(store: Store, hash: string): void {
  for (const _ of store.pieces(hash));
}

function message(act: () => void): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof DamagedStore) return error.message;
    throw error;
  }
}

/** The tree of that name, or why it is not what was written. */
export function treeOf(dir: string, id: string): { readonly tree: Tree } | { readonly why: string } {
  let tree: Tree | undefined;
  const why = message(() => {
    tree = new Trees(new Store(dir)).load(id, new FolderTree());
  });
  return tree === undefined ? { why: why ?? '' } : { tree };
}

/** Paths at which a folder differs from a tree, each with how; `but` names those that do not count. Rejects with a
 *  WorkspaceError where something cannot be read. */
export async function unlike(
  folder: string,
  tree: Tree,
  but: (path: string) => boolean,
): Promise<readonly { readonly path: string; readonly how: 'changed' | 'missing' | 'added' }[]> {
  const differing: { path: string; how: 'changed' | 'missing' | 'added' }[] = [];
  const seen = new Set<string>();
  for (const { path, kind, mode } of walk(folder)) {
    if (but(path) || kind === 'special') continue;
    seen.add(path);
    const was = tree.get(path);
    if (was === undefined) differing.push({ path, how: 'added' });
    else if (was.kind !== kind || was.mode !== mode || !(await isSameContent(folder, path, was)))
      differing.push({ path, how: 'changed' });
  }
  for (const path of tree.keys()) if (!seen.has(path) && !but(path)) differing.push({ path, how: 'missing' });
  return differing;
}

async function isSameContent(folder: string, path: string, was: Entry): Promise<boolean> {
  if (was.kind === 'dir') return true;
  if (was.kind === 'link') return targetOf(folder, path) === was.target;
  return (await hashFile(below(folder, path))).hash === was.hash;
}
