/** Whose texts are withheld while a run is unfinished: nodes that see the holdout may quote it. */
import type { Graph } from '../../core/graph.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { seesHoldout } from '../../holdout/mount.ts';
import { type RunHistory, readRun } from '../../store/run-journal.ts';
import { readManifest } from '../../store/runs.ts';
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
  if (holdout === undefined || hasReachedExit(checkpoint)) return nothing;
  return (id) => {
    const node = graph?.nodes.get(id);
    return node === undefined || seesHoldout(node, node.type);
  };
}

type State = Readonly<
  Pick<Checkpoint, 'next_node' | 'context'> & { ended: unknown; last_failure: { reason: string } | null }
>;

const hasReachedExit = ({ ended, next_node }: Pick<State, 'ended' | 'next_node'>): boolean =>
  ended !== null && next_node === null;

/** Gives texts about an unfinished run the reason of the latest failure as later nodes are given it: without lines of the holdout. */
export function cleanedIn(
  { holdout }: { readonly holdout?: Manifest['holdout'] | undefined },
  state: State,
): (text: string) => string {
  const raw = state.last_failure?.reason ?? '';
  const clean = state.context['last_failure.reason'];
  if (holdout === undefined || hasReachedExit(state) || raw === '' || raw === clean) return (text) => text;
  return (text) => text.replaceAll(raw, () => (typeof clean === 'string' ? clean : '…'));
}

/** Of the run in `dir`; everything of one that cannot be read. */
export async function textsWithheld(dir: string): Promise<Withheld> {
  const read = await readManifest(dir);
  if (!read.ok) return () => true;
  if (read.manifest.holdout === undefined) return nothing;
  const history = await readRun(dir);
  return history.ok ? withheldIn(read.manifest, storedGraph(read.manifest), history) : () => true;
}
