/** Undoes what a stage did where it may not. */
import { liesIn, parentOf } from './names.ts';
import type { Snapshot, Snapshots } from './snapshot.ts';

/** Puts the paths of a guardrail violation back exactly as they were in `before`; every other change stays. Folders
 *  that came into being for them go too, with what else is in them and not `allowed`. `allowed` is asked with the
 *  path, for a folder also with a slash at its end. */
export async function putBack(
  snapshots: Snapshots,
  before: Snapshot,
  offending: readonly string[],
  allowed: (path: string) => boolean,
): Promise<void> {
  const paths = new Set(offending);
  const isNew = (folder: string): boolean => folder !== '' && before.tree.get(folder)?.kind !== 'dir';
  const newFolders = new Set<string>();
  for (const path of offending) {
    if (before.tree.get(path)?.kind !== 'dir') newFolders.add(path);
    for (let folder = parentOf(path); isNew(folder); folder = parentOf(folder)) newFolders.add(folder);
  }
  const isInNew = (path: string): boolean => liesIn(newFolders, parentOf(path));
  await snapshots.restore(
    before,
    (path) => paths.has(path) || (isInNew(path) && !allowed(path) && !allowed(`${path}/`)),
    // What stays may have been made of what goes.
    { anew: true },
  );
}
