/** Whose texts are withheld while a run is unfinished: nodes that see the holdout may quote it. */
import { type Graph, nodeOf } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { seesHoldout } from '../../holdout/mount.ts';
import { fileIdentity } from '../../platform/files/read.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { storedGraph } from '../read-pipeline.ts';

/** Whether texts of a node are withheld. */
export type Withheld = (node: string) => boolean;

const nothing: Withheld = () => false;

/** Of a run that was read: nothing once it has reached an exit. Asks for the graph only where it matters. */
export function withheldIn(
  { holdout }: Pick<Manifest, 'holdout'>,
  graph: () => Graph | undefined,
  { checkpoint }: Pick<RunHistory, 'checkpoint'>,
): Withheld {
  const isFinished = checkpoint.ended !== null && checkpoint.next_node === null;
  if (holdout === undefined || isFinished) return nothing;
  return (id) => {
    const node = nodeOf(graph(), id);
    return node === undefined || seesHoldout(node, node.type);
  };
}

/** Of that run; everything of one that cannot be read. */
export async function textsWithheld(reader: RunReader): Promise<Withheld> {
  const read = await reader.manifest();
  if (!read.ok) return () => true;
  if (read.manifest.holdout === undefined) return nothing;
  const history = reader.history();
  return history.ok
    ? withheldIn(
        read.manifest,
        once(() => storedGraph(read.manifest)),
        history,
      )
    : () => true;
}

/** The same for who asks often: the manifest of a run without a holdout is read again only when it was written. */
export function withheldReader(reader: RunReader): () => Promise<Withheld> {
  let known: { readonly is: string; readonly withheld: Withheld } | undefined;
  return async () => {
    const is = fileIdentity(layout(reader.dir).manifest);
    if (known?.is === is && known.withheld === nothing) return nothing;
    const withheld = await textsWithheld(reader);
    known = { is, withheld };
    return withheld;
  };
}
