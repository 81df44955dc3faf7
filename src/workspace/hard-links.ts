/** Files that have several names: what is out of sight under one of them must not be read by another. */
import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { ancestorsOf, below, fromBytes } from './names.ts';
import { kindOf, look, orUndefined } from './walk.ts';

/** Names of one file each, relative to the same folder. */
export type HardLinks = readonly (readonly string[])[];

/** Gathers the names of files as they are met. */
export class Names {
  private readonly byInode = new Map<string, string[]>();

  /** Takes a name down; files that have but one are passed over. */
  add(path: string, stat: Pick<Stats, 'dev' | 'ino' | 'nlink'>): void {
    if (stat.nlink < 2) return;
    const known = this.byInode.get(inode(stat));
    if (known === undefined) this.byInode.set(inode(stat), [path]);
    else known.push(path);
  }

  isEmpty(): boolean {
    return this.byInode.size === 0;
  }

  /** Those of files that were met by several names. */
  several(): HardLinks {
    return [...this.byInode.values()].filter((names) => names.length > 1);
  }

  /** A name that was met of a file that lies at or below one of these places (absolute), and that file's place. */
  leadingTo(places: readonly string[]): { readonly name: string; readonly place: string } | undefined {
    for (const place of places) {
      for (const { path, stat } of filesAt(place, '')) {
        const [name] = this.byInode.get(inode(stat)) ?? [];
        if (name !== undefined) return { name, place: path === '' ? place : join(place, path) };
      }
    }
    return undefined;
  }
}

/** Other names, in the workspace, of files at and below `hidden` (paths without links in them): as the disk has them now,
 *  and as `known` tells of files that were one when they were copied. */
export function otherNames(workspace: string, hidden: readonly string[], known: HardLinks = []): string[] {
  const paths = hidden.map((path) =>
    path
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .join('/'),
  );
  const isHidden = (path: string) => paths.some((one) => path === one || path.startsWith(`${one}/`));
  const inodes = new Set<string>();
  for (const path of paths)
    for (const { stat } of filesAt(workspace, path)) if (stat.nlink > 1) inodes.add(inode(stat));
  const found = new Set(known.filter((names) => names.some(isHidden)).flat());
  if (inodes.size > 0)
    for (const { path, stat } of filesAt(workspace, '')) if (inodes.has(inode(stat))) found.add(path);
  return [...found].filter((path) => !isHidden(path) && isThere(workspace, path)).sort();
}

/** Whether something is at a path, with nothing but folders above it: by a link there it would be another's. */
const isThere = (workspace: string, path: string): boolean =>
  ancestorsOf(path).every((folder) => look(workspace, folder)?.kind === 'dir') &&
  look(workspace, path) !== undefined;

const inode = ({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string => `${dev} ${ino}`;

/** Plain files at and below a path. A folder that cannot be listed has none. */
function* filesAt(root: string, path: string): Generator<{ readonly path: string; readonly stat: Stats }> {
  const open = [path];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    let names: readonly string[] = [];
    try {
      const stat = lstatSync(below(root, at), orUndefined);
      const kind = stat === undefined ? undefined : kindOf(stat);
      if (stat !== undefined && kind === 'file') yield { path: at, stat };
      if (kind === 'dir') names = readdirSync(below(root, at), 'buffer').map(fromBytes);
    } catch {
      continue;
    }
    for (const name of names) open.push(at === '' ? name : `${at}/${name}`);
  }
}
