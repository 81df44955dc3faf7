/** A store of snapshots looked at without changing anything: every tree, every content. */
import { closeSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { isCode, isNoFile } from '../system/files.ts';
import { collectGarbage } from '../system/memory.ts';
import { namesIn } from '../system/read.ts';
import { hashFile, plainSize, readWhole } from './content.ts';
import { below } from './names.ts';
import { type Place, Places } from './places.ts';
import type { Entry, Tree } from './snapshot.ts';
import { isNameOf, piecesOf, readTree, treeHash } from './tree.ts';
import { codeOf } from './trouble.ts';
import { targetOf, walk } from './walk.ts';

/** Something in the store that is not as it was written; `file` is relative to it. */
export type StoreProblem = {
  readonly file: string;
  readonly what: 'changed' | 'missing' | 'added';
  readonly why: string;
};

export type Inspected = {
  readonly problems: readonly StoreProblem[];
  /** Names of the trees that are whole. */
  readonly trees: ReadonlySet<string>;
  readonly contents: number;
  /** Bytes of packs that no tree names: of takes that were cut off, and of trees that a copy was made without. */
  readonly waste: number;
};

/** Looks at all that is in `dir`. */
export async function inspectStore(dir: string): Promise<Inspected> {
  const problems: StoreProblem[] = [];
  const say = (file: string, what: StoreProblem['what'], why: string) => problems.push({ file, what, why });
  const trees = new Set<string>();
  const large = new Set(namesIn(join(dir, 'large')));
  const contents = new Contents(dir, large, say);
  try {
    for (const name of namesIn(join(dir, 'trees'))) {
      const file = `trees/${name}`;
      if (/^\..*\.tmp$/.test(name)) continue;
      if (!/^[0-9a-f]{64}(?:\.\d+)?\.json$/.test(name)) {
        say(file, 'added', 'no snapshot has this name');
        continue;
      }
      const read = await treeOf(dir, name.slice(0, 64), name);
      if ('why' in read) {
        say(file, 'changed', read.why);
        continue;
      }
      if (name.length === 64 + '.json'.length) trees.add(name.slice(0, 64));
      collectGarbage();
      for (const { hash } of read.tree.values())
        if (hash !== undefined) contents.check(hash, read.places.get(hash));
    }
  } finally {
    contents.close();
  }
  for (const name of large) {
    if (!/^[0-9a-f]{64}$/.test(name)) {
      if (!name.endsWith('.tmp') && !name.endsWith('.new'))
        say(`large/${name}`, 'added', 'no content has this name');
    } else if (
      // A link is none of ours, and is not followed by a restore.
      !lstatSync(join(dir, 'large', name)).isFile() ||
      (await hashFile(join(dir, 'large', name))).hash !== name
    )
      say(`large/${name}`, 'changed', 'holds other bytes than its name says');
  }
  let waste = 0;
  for (const name of namesIn(dir)) {
    if (name === 'trees' || name === 'large') continue;
    if (!/^pack(?:-[0-9a-f]+)?$/.test(name)) {
      if (!name.endsWith('.tmp')) say(name, 'added', 'the store has no file of this name');
      continue;
    }
    const size = plainSize(join(dir, name));
    if (size !== undefined) waste += contents.unnamedIn(name, size);
    else if (!problems.some(({ file }) => file === name))
      say(name, 'added', 'is no file, and holds no contents');
  }
  return { problems, trees, contents: contents.count, waste };
}

/** Contents that trees name, each looked at once. */
class Contents {
  private readonly packed = new Places();
  /** The few that lie in a second place, or in none: with their hash. */
  private readonly others = new Map<string, Place | undefined>();
  /** Packs that are open, the last used last; undefined for one that is missing. */
  private readonly files = new Map<string, number | undefined>();
  private scratch = Buffer.alloc(0);

  constructor(
    private readonly dir: string,
    private readonly large: ReadonlySet<string>,
    private readonly say: (file: string, what: StoreProblem['what'], why: string) => void,
  ) {}

  get count(): number {
    return this.packed.size + this.others.size;
  }

  check(hash: string, place: Place | undefined): void {
    if (place === undefined) {
      if (this.others.has(hash)) return;
      this.others.set(hash, undefined);
      if (!this.large.has(hash))
        this.say(`large/${hash}`, 'missing', 'a snapshot holds this content, and it is gone');
      return;
    }
    const known = this.packed.get(hash);
    if (known === undefined) this.packed.add(hash, place);
    else {
      if (known.pack === place.pack && known.offset === place.offset) return;
      const key = `${hash} ${place.pack} ${place.offset}`;
      if (this.others.has(key)) return;
      this.others.set(key, place);
    }
    const file = this.file(place.pack);
    if (file === undefined)
      this.say(place.pack, 'missing', 'snapshots have their contents in it, and it is gone');
    else if (sha256(this.bytesAt(file, place)) !== hash)
      this.say(
        place.pack,
        'changed',
        `holds other bytes than were written there (content ${hash.slice(0, 12)}…)`,
      );
  }

  /** Bytes of a pack that no tree names. */
  unnamedIn(pack: string, size: number): number {
    // A sweep over all places, which may overlap. Their beginnings and ends are sorted each by itself, as numbers, since
    // there may be many: where as many have ended as have begun, nothing lies.
    const most = this.packed.size + this.others.size;
    const starts = new Float64Array(most);
    const ends = new Float64Array(most);
    let count = 0;
    const note = (place: Place | undefined) => {
      if (place?.pack !== pack) return;
      starts[count] = place.offset;
      ends[count++] = place.offset + place.size;
    };
    for (const [, place] of this.packed) note(place);
    for (const place of this.others.values()) note(place);
    const from = starts.subarray(0, count).sort();
    const to = ends.subarray(0, count).sort();
    let rest = size;
    let begun = 0;
    let since = 0;
    for (let ended = 0; ended < count; ended++) {
      const end = to[ended] ?? 0;
      for (let start = from[begun]; start !== undefined && start <= end; start = from[++begun]) {
        if (begun === ended) since = start;
      }
      if (begun === ended + 1) rest -= end - since;
    }
    return rest;
  }

  close(): void {
    for (const file of this.files.values()) if (file !== undefined) closeSync(file);
  }

  /** Good until the next call: as a buffer for each they would leave the memory in holes. */
  private bytesAt(file: number, { pack, offset, size }: Place): Buffer {
    if (this.scratch.length < size) this.scratch = Buffer.allocUnsafeSlow(Math.max(size, 64 * 1024));
    const bytes = this.scratch.subarray(0, size);
    try {
      return bytes.subarray(0, readWhole(file, bytes, offset));
    } catch (error) {
      throw named(join(this.dir, pack), error);
    }
  }

  private file(pack: string): number | undefined {
    const file = this.files.has(pack) ? this.files.get(pack) : openIfThere(join(this.dir, pack));
    this.files.delete(pack);
    this.files.set(pack, file);
    for (const [longest, its] of this.files) {
      if (this.files.size <= mostOpen) break;
      this.files.delete(longest);
      if (its !== undefined) closeSync(its);
    }
    return file;
  }
}

/** Each owner of a run has a pack: one that was resumed often has more than a process may open. */
const mostOpen = 16;

/** Undefined also where something else than a file is. */
const openIfThere = (path: string): number | undefined =>
  plainSize(path) === undefined ? undefined : openSync(path, 'r');

/** The tree of that name, or why its file is not what was written. */
export async function treeOf(
  dir: string,
  id: string,
  name = `${id}.json`,
): Promise<{ readonly tree: Tree; readonly places: Places } | { readonly why: string }> {
  const path = join(dir, 'trees', name);
  try {
    const { is, says, begin } = treeHash(piecesOf(path));
    // One of an earlier version begins like this, and nothing vouches for the times that it has.
    if (is !== says || (says === '' && !begin.startsWith('{"schema_version":1,"boot":')))
      return { why: 'is not what was written there: its hash is another one' };
    const read = readTree(piecesOf(path), '');
    return isNameOf(id, read.tree) ? read : { why: 'tells of another tree than its name says' };
  } catch (error) {
    if (isNoFile(error)) return { why: 'there is no such snapshot' };
    if (codeOf(error) !== '' && !isCode(error, 'ELOOP')) throw error;
    return { why: 'cannot be read any more' };
  }
}

/** Paths at which a folder is not as a tree has it, each with how; `but` names those that do not count. Rejects with a
 *  WorkspaceError where something cannot be looked at. */
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
