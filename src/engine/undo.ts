/** Undoes changes of the workspace until none is left. */
import { shownPath } from '../platform/files/names.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import type { Changes, Snapshot } from '../workspace/snapshot.ts';

/** Repeats `once`, which undoes the changes at `wrong` and answers what is left of them. Writes of a program that outlived its
 *  node count as that node's: otherwise they would enter the snapshot that later nodes start from. */
export async function undo(
  after: Snapshot,
  wrong: readonly string[],
  once: (after: Snapshot, wrong: readonly string[]) => Promise<readonly [Snapshot, readonly string[]]>,
): Promise<Snapshot> {
  let at = after;
  let left = wrong;
  for (let tries = 0; tries < 3 && left.length > 0; tries++) [at, left] = await once(at, left);
  if (left[0] === undefined) return at;
  throw new WorkspaceError(
    `"${shownPath(left[0])}" was written again each time it was restored: a program that the node started is still running; end it, then resume`,
  );
}

export const changedPaths = ({ created, modified, deleted }: Changes): readonly string[] => [
  ...created,
  ...modified,
  ...deleted,
];
