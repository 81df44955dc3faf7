/** Files of a tree that had several names: what a restore writes of them becomes names of one file again, since a stage
 *  that is made again may write to one name and read the other. */
import type { Entry, Tree } from './snapshot.ts';
import type { Facts } from './walk.ts';

type Name = { readonly path: string; readonly entry: Entry; readonly stat: Pick<Facts, 'ino' | 'nlink'> };

export class Twins {
  private readonly shared: ReadonlyMap<number, number>;
  private readonly standing = new Map<string, string>();
  private readonly written = new Map<string, string>();

  constructor(tree: Tree) {
    this.shared = sharedIn(tree);
  }

  /** Whether the tree has another name of this file. */
  has(entry: Entry | undefined): boolean {
    return entry?.ino !== undefined && this.shared.has(entry.ino);
  }

  /** Takes down names that are there with the content and the mode of the tree; `here` tells how many names of a file are
   *  here. Answers with those that are no names of the files that they shall be names of, although what they say is the
   *  same: they are to be written. */
  stand(
    found: readonly Name[],
    here: ReadonlyMap<number, number>,
    may: (path: string) => boolean,
  ): readonly Name[] {
    const apart = new Set<Name>();
    for (const names of groups(found, ({ stat }) => stat.ino)) {
      // The name of another file of the tree, or of one that has but one there.
      const first = names.find(({ entry, stat }) => entry.ino === stat.ino) ?? names[0];
      for (const name of names)
        if (first !== undefined && this.fileOf(name) !== this.fileOf(first) && may(name.path))
          apart.add(name);
    }
    const ofOne = found.filter((name) => this.has(name.entry) && !apart.has(name));
    for (const names of groups(ofOne, ({ entry }) => keyOf(entry))) {
      const ours = names.find(
        // The very file of the tree, or one with no name but those here: what a stage has put in its place may be a file
        // of somebody else's that is like it.
        ({ entry, stat }) => stat.ino === entry.ino || stat.nlink === 1 || stat.nlink === here.get(stat.ino),
      );
      if (ours !== undefined) this.standing.set(keyOf(ours.entry), ours.path);
      else if (this.areAll(names)) continue;
      for (const name of names) if (name.stat.ino !== ours?.stat.ino && may(name.path)) apart.add(name);
    }
    return [...apart];
  }

  /** Takes down a name that was written. */
  wrote(path: string, entry: Entry): void {
    if (this.has(entry)) this.written.set(keyOf(entry), path);
  }

  /** Another name of this file, which a new one can be a name of; undefined where there is none. */
  of(entry: Entry): string | undefined {
    if (!this.has(entry)) return undefined;
    return this.written.get(keyOf(entry)) ?? this.standing.get(keyOf(entry));
  }

  /** Whether these names of one file of the tree are all that it has there, and names of one file. */
  private areAll(names: readonly Name[]): boolean {
    const [first] = names;
    return (
      names.length === this.shared.get(first?.entry.ino ?? 0) &&
      names.every(({ stat }) => stat.ino === first?.stat.ino)
    );
  }

  private fileOf({ path, entry }: Name): string {
    return this.has(entry) ? keyOf(entry) : path;
  }
}

/** Of each path that is another name of a file of the tree, the first name. */
export function firstNames(tree: Tree): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const shared = sharedIn(tree);
  if (shared.size === 0) return names;
  const first = new Map<string, string>();
  for (const [path, entry] of tree) {
    if (entry.ino === undefined || !shared.has(entry.ino)) continue;
    const known = first.get(keyOf(entry));
    if (known === undefined) first.set(keyOf(entry), path);
    else names.set(path, known);
  }
  return names;
}

/** How many names files have that have several. */
function sharedIn(tree: Tree): ReadonlyMap<number, number> {
  const seen = new Set<number>();
  const shared = new Map<number, number>();
  for (const { ino } of tree.values()) {
    // Beyond that, inodes that stand side by side are one number here.
    if (ino === undefined || !Number.isSafeInteger(ino)) continue;
    if (seen.has(ino)) shared.set(ino, (shared.get(ino) ?? 1) + 1);
    seen.add(ino);
  }
  return shared;
}

function groups<K>(names: readonly Name[], keyFor: (name: Name) => K): Iterable<readonly Name[]> {
  const found = new Map<K, Name[]>();
  for (const name of names) {
    const group = found.get(keyFor(name));
    if (group === undefined) found.set(keyFor(name), [name]);
    else group.push(name);
  }
  return found.values();
}

const keyOf = ({ ino, mode, hash }: Entry): string => `${ino} ${mode} ${hash}`;
