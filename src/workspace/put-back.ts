/** Undoes what a stage did where it may not. */
import { isSameTime } from './facts.ts';
import { liesBelow, parentOf } from './names.ts';
import type { Snapshot, Snapshots, Tree } from './snapshot.ts';

/** Puts the paths of a guardrail violation back exactly as they were in `before`; every other change stays. Folders
 *  that came into being for them go too, with what else is in them and not `allowed`. `allowed` is asked with the
 *  path, for a folder also with a slash at its end. What the stage has written after it broke the rule may have been made of
 *  that, and is older than what is put back; where nothing was, a product of the stage is as stale again as it was. What it
 *  has only written again, with the same content, has its time again, too. */
export async function putBack(
  snapshots: Snapshots,
  { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  offending: readonly string[],
  allowed: (path: string) => boolean,
): Promise<void> {
  const paths = new Set([...offending, ...writtenAgain(before.tree, after.tree, allowed)]);
  const isNew = (folder: string): boolean => folder !== '' && before.tree.get(folder)?.kind !== 'dir';
  const newFolders = new Set<string>();
  for (const path of offending) {
    if (before.tree.get(path)?.kind !== 'dir') newFolders.add(path);
    for (let folder = parentOf(path); isNew(folder); folder = parentOf(folder)) newFolders.add(folder);
  }
  const latest = latestOf(after, before.tree, paths);
  const isInNew = liesBelow(newFolders);
  await snapshots.restore(
    before,
    (path) => paths.has(path) || (isInNew(path) && !allowed(path) && !allowed(`${path}/`)),
    { anew: (path) => lastWritten(after.tree, path) <= latest },
  );
}

/** Files out of the stage's scope of which it has changed nothing but the time. */
function* writtenAgain(before: Tree, after: Tree, allowed: (path: string) => boolean): Generator<string> {
  for (const [path, { kind, hash, mode, mtimeMs }] of after) {
    const was = before.get(path);
    if (kind !== 'file' || was?.kind !== 'file' || was.mtimeMs === mtimeMs) continue;
    // A resume has given the file its time again, but for a part of a microsecond.
    if (isSameTime(was.mtimeMs ?? 0, mtimeMs ?? 0)) continue;
    if (was.hash === hash && was.mode === mode && !allowed(path)) yield path;
  }
}

/** When the stage has last written something that stays, in milliseconds. */
function latestOf({ tree }: Snapshot, before: Tree, goes: ReadonlySet<string>): number {
  let latest = Number.NEGATIVE_INFINITY;
  for (const [path, { kind, mtimeMs }] of tree)
    if (kind === 'file' && mtimeMs !== undefined && mtimeMs > latest)
      if (!goes.has(path) && mtimeMs !== before.get(path)?.mtimeMs) latest = mtimeMs;
  return latest;
}

/** Of what has gone, when the folder has changed that it was in; nobody knows when the top has. */
function lastWritten(tree: Tree, path: string): number {
  for (let at = path; at !== ''; at = parentOf(at)) {
    const time = tree.get(at)?.mtimeMs;
    if (time !== undefined) return time;
  }
  return Number.NEGATIVE_INFINITY;
}
