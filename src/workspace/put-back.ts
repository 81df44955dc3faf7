/** Undoes what a node did where it may not. */
import { liesBelow, parentOf } from './names.ts';
import type { PathFilter, Snapshot, Snapshots } from './snapshot.ts';

/** Puts the paths of a guardrail violation back exactly as they were in `before`; every other change stays. Folders that were
 *  made for them are removed too, with what else is in them and not `allowed`. `allowed` is asked with the path, for a folder also
 *  with a slash at its end. The files that are put back count as written now: an allowed product may have been made of what they
 *  replace, and is out of date. */
export async function putBack(
  snapshots: Snapshots,
  before: Snapshot,
  offending: readonly string[],
  allowed: PathFilter,
): Promise<void> {
  const paths = new Set(offending);
  const isNew = (folder: string): boolean => folder !== '' && before.tree.get(folder)?.kind !== 'dir';
  const newFolders = new Set<string>();
  for (const path of offending) {
    if (before.tree.get(path)?.kind !== 'dir') newFolders.add(path);
    for (let folder = parentOf(path); isNew(folder); folder = parentOf(folder)) newFolders.add(folder);
  }
  const isInNew = liesBelow(newFolders);
  await snapshots.restore(
    before,
    (path) => paths.has(path) || (isInNew(path) && !allowed(path) && !allowed(`${path}/`)),
    { times: 'now' },
  );
}
