/** Goal gates in branches of a list: only the graphs of these branches have their nodes. A join leaves in the context which are unmet, for
 *  the exit to look at. Pure. */
import type { Graph, Node } from './graph.ts';
import { type Json, own } from './json.ts';
import { laneGraph } from './lane-graph.ts';
import type { Context } from './outcome.ts';
import type { NodeOutcome, RunState } from './records/checkpoint.ts';
import type { Fork } from './records/fork.ts';
import { isGoalGate } from './settings/node.ts';

export const isMet = ({ status }: Pick<NodeOutcome, 'status'>): boolean =>
  status === 'success' || status === 'partial_success';

const prefix = 'internal.unmet_gates.';

export const isUnmetGatesKey = (key: string): boolean => key.startsWith(prefix);

const idsAt = (context: Context, key: string): readonly string[] => {
  const value = own(context, key);
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
};

/** The gates that joins have found unmet; their latest outcomes say whether they still are. */
export const unmetInItems = (context: Context): readonly string[] =>
  Object.keys(context)
    .filter(isUnmetGatesKey)
    .flatMap((key) => idsAt(context, key));

/** The node of the text that a gate is, or is an instance of. */
export const writtenGate = ({ nodes }: Graph, gate: string): Node | undefined =>
  nodes.get(gate) ?? nodes.get(gate.replace(/(?:\.\d+)+$/, ''));

/** What a join sets of its branches: of a list always all that are unmet now, of other branches what joins in them have set. */
export function unmetAtJoin(
  graph: Graph,
  fork: Fork,
  { context: base, outcomes }: Pick<RunState, 'context' | 'outcomes'>,
): Readonly<Record<string, Json>> {
  const found = new Map<string, readonly string[]>();
  for (const { context } of Object.values(fork.branches))
    for (const key of Object.keys(context).filter(isUnmetGatesKey))
      if (own(context, key) !== own(base, key)) found.set(key, idsAt(context, key));
  if (fork.items === undefined) return Object.fromEntries([...found].map(([key, ids]) => [key, [...ids]]));
  const isUnmet = (id: string): boolean => {
    const latest = own(outcomes, id);
    return latest !== undefined && !isMet(latest);
  };
  const gates = Object.entries(fork.branches).flatMap(([branch, { nodes }]) => {
    const its = laneGraph(graph, fork, branch);
    return nodes.filter((id) => {
      const node = its.nodes.get(id);
      return node !== undefined && isGoalGate(node.settings);
    });
  });
  const unmet = [...gates, ...[...found.values()].flat()].filter(isUnmet);
  const key = `${prefix}${fork.node}`;
  return unmet.length === 0 && own(base, key) === undefined ? {} : { [key]: unmet };
}
