/** Which execution changed a path last. */
import { isExecutableType } from '../core/graph.ts';
import { nodeLayout } from '../core/records/layout.ts';
import type { RunRecord } from '../core/records/visit.ts';
import type { TwoMoments } from './changes.ts';
import { changesIn } from './inspect/execution-changes.ts';
import { folderOf } from './inspect/folder.ts';

/** `NODE@VISIT` for each of the `paths` that an execution between the two moments changed. A node at which branches meet has only
 *  brought together what they wrote. */
export async function changeWriters(
  runDir: string,
  records: readonly RunRecord[],
  { from, to }: TwoMoments,
  paths: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const writers = new Map<string, string>();
  for (const one of records.toReversed()) {
    if (writers.size === paths.size) break;
    if (one.type !== 'Visit' || one.before === one.after || !isExecutableType(one.node_type)) continue;
    if (one.seq <= (from.line ?? 0) || one.seq > (to.line ?? Number.POSITIVE_INFINITY)) continue;
    const { created, modified, deleted } = changesIn(nodeLayout(await folderOf(runDir, one)).diff);
    for (const path of [...created, ...modified, ...deleted])
      if (paths.has(path) && !writers.has(path)) writers.set(path, `${one.node}@${one.visit}`);
  }
  return writers;
}
