/** What happened to a workspace between two snapshots. */
import type { Changes, Entry, Snapshot } from './snapshot.ts';
import { isSame } from './tree.ts';

type Lists = { created: string[]; modified: string[]; deleted: string[] };

/** Pure. A file or link that is another kind, content, target or mode on the other side is modified; where a folder
 *  took its place it is deleted, where it took a folder's place it is created. A rename is a deletion and a creation.
 *  Paths are sorted by code unit. */
export function diff(before: Snapshot, after: Snapshot): Changes {
  const items: Lists = { created: [], modified: [], deleted: [] };
  const folders: Lists = { created: [], modified: [], deleted: [] };
  if (before.id !== after.id) {
    const listOf = (e: Entry): Lists => (e.kind === 'dir' ? folders : items);
    for (const [path, now] of after.tree) {
      const was = before.tree.get(path);
      if (was === undefined || listOf(was) !== listOf(now)) listOf(now).created.push(path);
      else if (!isSame(was, now)) listOf(now).modified.push(path);
    }
    for (const [path, was] of before.tree) {
      const now = after.tree.get(path);
      if (now === undefined || listOf(was) !== listOf(now)) listOf(was).deleted.push(path);
    }
  }
  return { ...sorted(items), folders: sorted(folders) };
}

const sorted = (lists: Lists): Lists => ({
  created: lists.created.sort(),
  modified: lists.modified.sort(),
  deleted: lists.deleted.sort(),
});

/** Nothing but, at most, which paths are names of one file: where no links can be made, or in a record of an earlier version,
 *  whose snapshots do not tell it. */
export const isNothing = ({ created, modified, deleted, folders }: Changes): boolean =>
  [created, modified, deleted, folders.created, folders.modified, folders.deleted].every(
    (paths) => paths.length === 0,
  );
