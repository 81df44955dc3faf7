/** What happened to a workspace between two snapshots. */
import type { Changes, Snapshot } from './snapshot.ts';
import { entryOf, Folder, type Item, sameEntry, topOf } from './tree.ts';

type Lists = { created: string[]; modified: string[]; deleted: string[] };

/** Pure. A file or link that is another kind, content, target or mode on the other side is modified; where a folder
 *  took its place it is deleted, where it took a folder's place it is created. A rename is a deletion and a creation.
 *  Paths are sorted by code unit. Folders that both sides have are not looked into. */
export function diff(before: Snapshot, after: Snapshot): Changes {
  const items: Lists = { created: [], modified: [], deleted: [] };
  const folders: Lists = { created: [], modified: [], deleted: [] };
  const listsOf = (item: Item): Lists => (item instanceof Folder ? folders : items);
  const all = (list: 'created' | 'deleted', path: string, item: Item | undefined): void => {
    if (item === undefined) return;
    listsOf(item)[list].push(path);
    if (item instanceof Folder) for (const [name, inner] of item.items) all(list, `${path}/${name}`, inner);
  };
  const compare = (was: Folder, now: Folder, prefix: string): void => {
    if (was === now || was.id === now.id) return;
    for (const [name, is] of now.items) {
      const path = prefix + name;
      const earlier = was.items.get(name);
      if (earlier === undefined || listsOf(earlier) !== listsOf(is)) {
        all('deleted', path, earlier);
        all('created', path, is);
      } else if (!sameEntry(entryOf(earlier), entryOf(is))) listsOf(is).modified.push(path);
      if (earlier instanceof Folder && is instanceof Folder) compare(earlier, is, `${path}/`);
    }
    for (const [name, earlier] of was.items) if (!now.items.has(name)) all('deleted', prefix + name, earlier);
  };
  if (before.id !== after.id) compare(topOf(before.tree), topOf(after.tree), '');
  return { ...sorted(items), folders: sorted(folders) };
}

const sorted = (lists: Lists): Lists => ({
  created: lists.created.sort(),
  modified: lists.modified.sort(),
  deleted: lists.deleted.sort(),
});

/** Nothing but, at most, which paths are names of one file, which snapshots do not tell. */
export const isNothing = ({ created, modified, deleted, folders }: Changes): boolean =>
  [created, modified, deleted, folders.created, folders.modified, folders.deleted].every(
    (paths) => paths.length === 0,
  );

/** What a file contains, by its hash, or a link points to; undefined for neither. */
export function contentIn({ tree }: Snapshot, path: string): string | undefined {
  const { hash, target } = tree.get(path) ?? {};
  return hash ?? (target === undefined ? undefined : `-> ${target}`);
}
