/** What of a graph is laid out and drawn: its nodes with their texts, its edges, and boxes around nodes. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { type Card, cardOf, edgeLines, hasRun, type ViewEdge, type ViewNode } from './card.ts';
import { type Cluster, clustersOf } from './clusters.ts';

export type Sketch = Pick<GraphView, 'name' | 'direction'> & {
  readonly nodes: readonly ViewNode[];
  readonly edges: readonly ViewEdge[];
  /** By the id of its node. */
  readonly cards: ReadonlyMap<string, Card>;
  readonly clusters: readonly Cluster[];
  /** Nodes have room for a sign. */
  readonly signed: boolean;
  /** The lines at an edge, with all that there must be room for. */
  readonly linesOf: (edge: ViewEdge) => readonly string[];
};

/** The sketch of a picture of the whole graph, with what a run did in it. */
export function sketchOf(view: GraphView): Sketch {
  const { name, direction, nodes, edges } = view;
  const signed = hasRun(view);
  const cards = new Map(nodes.map((node) => [node.id, cardOf(node, signed)]));
  return { name, direction, nodes, edges, cards, clusters: clustersOf(view), signed, linesOf: edgeLines };
}

export function cardOfNode({ cards }: Pick<Sketch, 'cards'>, id: string): Card {
  const card = cards.get(id);
  if (card === undefined) throw new Error(`Internal: no card for node ${id}`);
  return card;
}
