/** A store of snapshots checked without changing anything: every item, every tree, every content. */

import { ContentStore, isPackName } from '../contents/store.ts';
import { hashFile } from '../platform/files/bytes.ts';
import { below } from '../platform/files/names.ts';
import { namesIn } from '../platform/files/read.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
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
  const store = new ContentStore(dir);
  const trees = new Trees(store);
  for (const file of namesIn(dir)) {
    const why = isPackName(file) ? store.problemOf(file) : undefined;
    if (why !== undefined) problems.push({ file, what: 'changed', why });
    if (!isPackName(file)) problems.push({ file, what: 'added', why: 'the store has no file of this name' });
  }
  store.refresh();
  const whole = new Set<string>();
  const contents = new Map<string, string | undefined>();
  let last = new FolderTree();
  for (const id of store.keys('snapshot')) {
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
    // An item that is damaged is reported already.
    else if (problems.length === 0) problems.push({ file: store.packOf(id), what: 'changed', why });
  }
  return { problems, trees: whole, contents: contents.size };
}

function readAll(store: ContentStore, hash: string): void {
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
    tree = new Trees(new ContentStore(dir)).load(id, new FolderTree());
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
