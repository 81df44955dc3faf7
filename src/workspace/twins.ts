/** Files of a tree that had several names: what a restore writes of them becomes names of one file again, since a stage
 *  that is made again may write to one name and read the other. */
import type { Entry, Tree } from './snapshot.ts';
import type { Facts } from './walk.ts';

type Name = { readonly path: string; readonly stat: Pick<Facts, 'ino' | 'nlink'> };

export class Twins {
  private readonly shared = new Set<number>();
  private readonly standing = new Map<string, Name[]>();
  private readonly written = new Map<string, string>();

  constructor(tree: Tree) {
    const seen = new Set<number>();
    for (const { ino } of tree.values()) {
      // Beyond that, inodes that stand side by side are one number here.
      if (ino === undefined || !Number.isSafeInteger(ino)) continue;
      if (seen.has(ino)) this.shared.add(ino);
      seen.add(ino);
    }
  }

  /** Whether the tree has another name of this file. */
  has({ ino }: Entry): boolean {
    return ino !== undefined && this.shared.has(ino);
  }

  /** Takes down a name that is there and stays as it is. */
  stands(path: string, entry: Entry, { ino, nlink }: Facts): void {
    const names = this.standing.get(keyOf(entry));
    const name = { path, stat: { ino, nlink } };
    if (names === undefined) this.standing.set(keyOf(entry), [name]);
    else names.push(name);
  }

  /** Takes down a name that was written. */
  wrote(path: string, entry: Entry): void {
    if (this.has(entry)) this.written.set(keyOf(entry), path);
  }

  /** Another name of this file, which a new one can be a name of; undefined where there is none. */
  of(entry: Entry): string | undefined {
    if (!this.has(entry)) return undefined;
    const written = this.written.get(keyOf(entry));
    if (written !== undefined) return written;
    const names = this.standing.get(keyOf(entry)) ?? [];
    // The very file of the tree, or one with no name but these: what a stage has put in its place may be a file of
    // somebody else's that is like it.
    const ours = ({ stat }: Name): boolean =>
      stat.ino === entry.ino || stat.nlink === names.filter((one) => one.stat.ino === stat.ino).length;
    return names.find(ours)?.path;
  }
}

const keyOf = ({ ino, mode, hash }: Entry): string => `${ino} ${mode} ${hash}`;
