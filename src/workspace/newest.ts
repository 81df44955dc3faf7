/** Whether anything below a folder has changed since a moment. */
import { lstatSync } from 'node:fs';
import { walk } from './walk.ts';

/** File systems stamp their files by a coarse clock, and reports of a change may come after it. */
const slackMs = 1000;

/** True when a file, link or folder below `root`, or the folder itself, was made, changed, moved or removed since `at`
 *  or within the second before it. Content is not read. Rejects with a WorkspaceError for what cannot be listed. */
export function changedSince(root: string, at: Date): boolean {
  const since = BigInt(Math.floor(at.getTime() - slackMs)) * 1_000_000n;
  const top = lstatSync(root, { bigint: true, throwIfNoEntry: false });
  // A workspace that has gone has changed.
  if (top === undefined || top.ctimeNs >= since) return true;
  for (const { stat } of walk(root)) if (stat.ctimeNs >= since) return true;
  return false;
}
