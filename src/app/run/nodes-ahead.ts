/** The nodes that a run continues with: a changed pipeline must still have them. */
import { branchesOf } from '../../core/fork.ts';
import { type Graph, nodeOf } from '../../core/graph.ts';
import type { RunState } from '../../core/records/checkpoint.ts';

/** The first node that the run comes to next, or whose branches are open, and that the graph does not have; undefined where it has all. */
export function missingNext(graph: Graph, state: Pick<RunState, 'next_node' | 'fork'>): string | undefined {
  const open = branchesOf(state).filter(({ cursor }) => cursor.ended === undefined);
  const ids = [...open.flatMap(({ fork, cursor }) => [fork.node, cursor.next_node]), state.next_node];
  return ids.find((id): id is string => id !== null && nodeOf(graph, id) === undefined);
}
