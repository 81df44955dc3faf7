/** Whose texts are withheld while a run is unfinished: nodes that see the holdout may quote it. */
import type { Graph } from '../../core/graph.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { seesHoldout } from '../../holdout/mount.ts';
import { type RunHistory, readRun } from '../../run/run-journal.ts';
import { readManifest } from '../../run/runs.ts';
import { storedGraph } from '../read-pipeline.ts';

/** Whether texts of a node are withheld. */
export type Withheld = (node: string) => boolean;

const nothing: Withheld = () => false;

/** Of a run that was read: nothing once it has reached an exit. */
export function withheldIn(
  { holdout }: Pick<Manifest, 'holdout'>,
  graph: Graph | undefined,
  { checkpoint }: Pick<RunHistory, 'checkpoint'>,
): Withheld {
  const isFinished = checkpoint.ended !== null && checkpoint.next_node === null;
  if (holdout === undefined || isFinished) return nothing;
  return (id) => {
    const node = graph?.nodes.get(id);
    return node === undefined || seesHoldout(node, node.type);
  };
}

/** Of the run in `dir`; everything of one that cannot be read. */
export async function textsWithheld(dir: string): Promise<Withheld> {
  const read = await readManifest(dir);
  if (!read.ok) return () => true;
  if (read.manifest.holdout === undefined) return nothing;
  const history = await readRun(dir);
  return history.ok ? withheldIn(read.manifest, storedGraph(read.manifest), history) : () => true;
}
