/** A store of snapshots checked without changing anything: every tree, every content. */
import { closeSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { namesIn } from '../system/read.ts';
import { hashFile, plainSize, readWhole } from './content.ts';
import { readManifest } from './manifests.ts';
import { below } from './names.ts';
import type { Entry, Tree } from './snapshot.ts';
import type { Place } from './store.ts';
import type { ReadTree } from './tree.ts';
import { DamagedStore } from './trouble.ts';
import { targetOf, walk } from './walk.ts';

/** A part of the store that differs from what was written; `file` is relative to it. */
export type StoreProblem = {
  readonly file: string;
  readonly what: 'changed' | 'missing' | 'added';
  readonly why: string;
};

export type Inspected = {
  readonly problems: readonly StoreProblem[];
  /** Names of the trees that are undamaged. */
  readonly trees: ReadonlySet<string>;
  readonly contents: number;
};

/** Checks all that is in `dir`. */
export async function inspectStore(dir: string): Promise<Inspected> {
  const problems: StoreProblem[] = [];
  const say = (file: string, what: StoreProblem['what'], why: string) => problems.push({ file, what, why });
  const trees = new Set<string>();
  const packs = new Map<string, Map<string, Place>>();
  const large = new Set<string>();
  for (const name of namesIn(join(dir, 'trees'))) {
    if (name.endsWith('.tmp')) continue;
    const id = /^([0-9a-f]{64})\.json$/.exec(name)?.[1];
    const read = id === undefined ? undefined : await treeOf(dir, id);
    if (id === undefined || read === undefined) say(`trees/${name}`, 'added', 'no snapshot has this name');
    else if ('why' in read) say(`trees/${name}`, 'changed', read.why);
    else {
      trees.add(id);
      noteContents(read, packs, large);
    }
  }
  for (const [pack, places] of packs) checkPack(dir, pack, places, say);
  await checkLarge(join(dir, 'large'), large, say);
  for (const name of namesIn(dir)) {
    if (name === 'trees' || name === 'large' || name.endsWith('.tmp')) continue;
    if (!/^pack(?:-[0-9a-f]+)?$/.test(name)) say(name, 'added', 'the store has no file of this name');
    else if (plainSize(join(dir, name)) === undefined && !packs.has(name))
      say(name, 'added', 'is no file, and holds no contents');
  }
  const packed = [...packs.values()].reduce((sum, { size }) => sum + size, 0);
  return { problems, trees, contents: packed + large.size };
}

type Say = (file: string, what: StoreProblem['what'], why: string) => void;

/** A content may be in several packs: each has its own list, by hash. */
function noteContents(
  { tree, places }: ReadTree,
  packs: Map<string, Map<string, Place>>,
  large: Set<string>,
): void {
  for (const { hash } of tree.values()) {
    if (hash === undefined) continue;
    const place = places.get(hash);
    if (place === undefined) {
      large.add(hash);
      continue;
    }
    const inPack = packs.get(place.pack) ?? new Map<string, Place>();
    packs.set(place.pack, inPack.set(hash, place));
  }
}

/** The contents that trees name in one pack. */
function checkPack(dir: string, pack: string, places: ReadonlyMap<string, Place>, say: Say): void {
  const path = join(dir, pack);
  if (plainSize(path) === undefined) {
    say(pack, 'missing', 'snapshots have their contents in it, and it is gone');
    return;
  }
  const file = openSync(path, 'r');
  try {
    for (const [hash, { offset, size }] of places) {
      const bytes = Buffer.allocUnsafe(size);
      if (sha256(bytes.subarray(0, readWhole(file, bytes, offset))) !== hash)
        say(pack, 'changed', `holds other bytes than were written there (content ${hash.slice(0, 12)}…)`);
    }
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
}

async function checkLarge(folder: string, wanted: ReadonlySet<string>, say: Say): Promise<void> {
  const there = new Set(namesIn(folder));
  for (const hash of wanted)
    if (!there.has(hash)) say(`large/${hash}`, 'missing', 'a snapshot holds this content, and it is gone');
  for (const name of there) {
    if (name.endsWith('.tmp')) continue;
    const path = join(folder, name);
    if (!/^[0-9a-f]{64}$/.test(name)) say(`large/${name}`, 'added', 'no content has this name');
    // A restore follows no link.
    else if (!lstatSync(path).isFile() || (await hashFile(path)).hash !== name)
      say(`large/${name}`, 'changed', 'holds other bytes than its name says');
  }
}

/** The tree of that name, or why its file is not what was written. */
export async function treeOf(dir: string, id: string): Promise<ReadTree | { readonly why: string }> {
  try {
    return readManifest(dir, id);
  } catch (error) {
    if (error instanceof DamagedStore) return { why: error.message };
    throw error;
  }
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
