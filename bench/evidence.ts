/** What a run left on disk: that it did its work, and when. Read from outside, the same way for every program. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeName } from './material.ts';
import { Failed } from './measure.ts';

/** When each node's `status.json` was written, in milliseconds, node after node. Rejects a run that lost a node or
 *  has one that did not succeed: what was not done costs nothing. */
export function nodeTimes(runDir: string, count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const file = join(runDir, nodeName(index + 1), 'status.json');
    try {
      const status: unknown = JSON.parse(readFileSync(file, 'utf8'));
      const fine = typeof status === 'object' && status !== null && 'outcome' in status;
      if (!fine || status.outcome !== 'success') throw new Error('its outcome is not success');
      return statSync(file).mtimeMs;
    } catch (error) {
      throw new Failed(`${file} does not show that the node was run: ${(error as Error).message}`);
    }
  });
}

/** When the last of `paths` was in its place below `folder`: content, mode and times, which all move the ctime. */
export function copiedAt(folder: string, paths: readonly string[]): number {
  let last = 0;
  for (const path of paths) {
    const stat = statSync(join(folder, path), { throwIfNoEntry: false });
    if (stat === undefined) throw new Failed(`${join(folder, path)} was not copied`);
    last = Math.max(last, stat.ctimeMs);
  }
  return last;
}
