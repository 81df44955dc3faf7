/** What a map shows as one card: the loop over the work orders, and each call of another pipeline. Pure. */
import { callsIn } from '../../core/calls.ts';
import { type Graph, graphsIn } from '../../core/graph.ts';
import type { GraphView } from './graph-shapes.ts';
import { partOfCommand } from './groups.ts';

export type GraphFold = GraphView['folds'][number];

/** The folds of a pipeline and of those that it calls. */
export const foldsOf = (graph: Graph): GraphFold[] =>
  [...graphsIn(graph)].flatMap((one) => {
    const within = one.call?.node.id ?? null;
    return [
      ...orderLoopsOf(one).map((fold) => ({ ...fold, within })),
      ...callsIn(one).flatMap(({ id, settings }): GraphFold[] => {
        const child = one.children?.get(id);
        if (child === undefined) return [];
        const nodes = [...graphsIn(child)].flatMap(({ nodes: own }) => [...own.keys()]);
        return [{ id, kind: 'call', label: settings.label ?? id, within, nodes }];
      }),
    ];
  });

const commandOf = ({ nodes }: Graph, id: string): string => nodes.get(id)?.settings.tool_command ?? '';

/** The ways from `factory order next` back to it that do not pass another part: proof, scenarios or plan. */
function orderLoopsOf(graph: Graph): Omit<GraphFold, 'within'>[] {
  const inside = new Set(
    [...graph.nodes.keys()].filter((id) => partOfCommand(commandOf(graph, id)) === undefined),
  );
  const edges = graph.edges.filter(({ from, to }) => inside.has(from) && inside.has(to));
  const forth = neighbours(edges, 'from', 'to');
  const back = neighbours(edges, 'to', 'from');
  return [...inside]
    .filter((id) => /^\s*factory order next\b/.test(commandOf(graph, id)))
    .flatMap((id) => {
      const before = reached(id, back);
      const nodes = [...reached(id, forth)].filter((one) => before.has(one));
      return nodes.length < 3 ? [] : [{ id, kind: 'orders' as const, label: 'Work orders', nodes }];
    });
}

type Neighbours = ReadonlyMap<string, readonly string[]>;

function neighbours(edges: Graph['edges'], of: 'from' | 'to', other: 'from' | 'to'): Neighbours {
  const all = new Map<string, string[]>();
  for (const edge of edges) {
    const known = all.get(edge[of]);
    if (known === undefined) all.set(edge[of], [edge[other]]);
    else known.push(edge[other]);
  }
  return all;
}

/** The nodes that some way leads to, `first` among them. */
function reached(first: string, next: Neighbours): ReadonlySet<string> {
  const found = new Set([first]);
  for (const id of found) for (const one of next.get(id) ?? []) found.add(one);
  return found;
}
