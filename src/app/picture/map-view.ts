/** The nodes, edges and boxes of a map: what is folded is one card, what was opened has a box. States and counts are those of a run,
 *  which the page puts on: here are none. Pure. */
import type { GraphFold } from '../inspect/folds.ts';
import type { GraphPart, GraphView } from '../inspect/graph-shapes.ts';
import { isFailureEdge } from './card.ts';
import { type Box, boxesOf } from './clusters.ts';
import { foldType } from './marks.ts';

type EdgeOfPipeline = Pick<GraphPart['edges'][number], 'from' | 'to' | 'condition'>;

export type MapNode = GraphPart['nodes'][number] & {
  /** The fold that a click opens. */
  readonly opens?: string;
  /** The nodes that it stands for, itself among them. */
  readonly of: readonly string[];
};

export type MapEdge = GraphPart['edges'][number] & {
  /** The edges of the pipeline that it stands for; none: into what was opened. */
  readonly parts: readonly EdgeOfPipeline[];
};

export type MapView = Pick<GraphView, 'name' | 'direction'> & {
  readonly nodes: readonly MapNode[];
  readonly edges: readonly MapEdge[];
  readonly boxes: readonly Box[];
};

/** `open`: ids of folds; those that are not there, or within a folded one, change nothing. */
export function mapView(graph: GraphView, open: ReadonlySet<string>): MapView {
  const { name, direction, folds } = graph;
  const whole = withChildren(graph, open);
  const orders = folds.filter(({ kind }) => kind === 'orders');
  const folded = orders.reduce(
    (view, fold) =>
      open.has(fold.id) ? withBox(view, fold, contentOf(fold, folds)) : withCard(view, fold, folds),
    whole,
  );
  return { name, direction, ...folded };
}

type Parts = Pick<MapView, 'nodes' | 'edges' | 'boxes'>;

/** The nodes of a fold, those of calls in it too. */
export function contentOf({ nodes }: GraphFold, folds: readonly GraphFold[]): ReadonlySet<string> {
  const calls = folds.filter(({ id, kind }) => kind === 'call' && nodes.includes(id));
  return new Set([...nodes, ...calls.flatMap((call) => call.nodes)]);
}

/** The pipeline, with the called ones that are open in the places of their calls. */
function withChildren(graph: GraphView, open: ReadonlySet<string>): Parts {
  const children = new Map(graph.children.map((child) => [child.call, child]));
  const calls = new Map(graph.folds.filter(({ kind }) => kind === 'call').map((fold) => [fold.id, fold]));
  const all = { nodes: [] as MapNode[], edges: [] as MapEdge[], boxes: [] as Box[] };
  const add = ({ nodes, edges, regions }: GraphPart): void => {
    all.edges.push(
      ...edges.map(({ from, to, condition, ...edge }) => ({
        ...edge,
        from,
        to,
        condition,
        parts: [{ from, to, condition }],
      })),
    );
    all.boxes.push(...regions.flatMap(boxesOf));
    for (const node of nodes) {
      const fold = calls.get(node.id);
      const child = children.get(node.id);
      if (fold === undefined || child === undefined) all.nodes.push({ ...node, of: [node.id] });
      else if (!open.has(fold.id)) all.nodes.push({ ...node, of: [node.id, ...fold.nodes], opens: fold.id });
      else {
        all.nodes.push({ ...node, of: [node.id] });
        leaveFromExits(all.edges, node.id, child);
        add(child);
        all.boxes.push(foldBox(fold, [node.id, ...fold.nodes]));
      }
    }
  };
  add(graph);
  return { ...all, boxes: withInner(all.boxes, graph.folds, new Set(all.nodes.map(({ id }) => id))) };
}

const foldBox = ({ id, label }: GraphFold, nodes: Iterable<string>): Box => ({
  id: `fold-${id}`,
  kind: 'fold',
  label,
  nodes: new Set(nodes),
});

/** Boxes around a call are around what it calls, as far as that is drawn. */
const withInner = (
  boxes: readonly Box[],
  folds: readonly GraphFold[],
  drawn: ReadonlySet<string>,
): readonly Box[] =>
  boxes.map((box) => {
    const inner = folds.filter(({ id, kind }) => kind === 'call' && box.nodes.has(id));
    const nodes = [...box.nodes, ...inner.flatMap((fold) => fold.nodes)];
    return { ...box, nodes: new Set(nodes.filter((node) => drawn.has(node))) };
  });

/** What an opened call leads to is reached from the exits of its pipeline: the run continues there with its outcome. */
function leaveFromExits(edges: MapEdge[], call: string, { nodes }: GraphPart): void {
  const exit = (ends: 'success' | 'fail'): string | undefined => nodes.find((node) => node.ends === ends)?.id;
  const [success, fail] = [exit('success'), exit('fail')];
  for (const [at, edge] of edges.entries()) {
    if (edge.from !== call) continue;
    const from = (isFailureEdge(edge) ? (fail ?? success) : (success ?? fail)) ?? call;
    edges[at] = { ...edge, from };
  }
  const start = nodes.find(({ type }) => type === 'start');
  if (start !== undefined)
    edges.push({ from: call, to: start.id, label: '', condition: '', taken: 0, parts: [] });
}

/** A loop that is open has a box, unless branches are partly in it. */
const withBox = (parts: Parts, fold: GraphFold, content: ReadonlySet<string>): Parts => ({
  ...parts,
  boxes: [
    ...parts.boxes,
    foldBox(
      fold,
      parts.nodes.map(({ id }) => id).filter((id) => content.has(id)),
    ),
  ],
});

/** A loop as one card. */
function withCard({ nodes, edges, boxes }: Parts, fold: GraphFold, folds: readonly GraphFold[]): Parts {
  const content = contentOf(fold, folds);
  const first = nodes.find(({ id }) => id === fold.id);
  if (first === undefined) return { nodes, edges, boxes };
  const card: MapNode = {
    ...first,
    ...{ type: foldType, label: fold.label, ends: null },
    ...{ of: [...content], opens: fold.id },
  };
  const inDrawing = (id: string): string => (content.has(id) ? fold.id : id);
  return {
    nodes: nodes.flatMap((node) => (node === first ? [card] : content.has(node.id) ? [] : [node])),
    edges: joined(
      edges.map((edge) => ({ ...edge, from: inDrawing(edge.from), to: inDrawing(edge.to) })),
      fold.id,
    ),
    boxes: boxes.flatMap((box) => {
      const left = new Set([...box.nodes].map(inDrawing));
      return left.size === 1 && left.has(fold.id) ? [] : [{ ...box, nodes: left }];
    }),
  };
}

/** The edges at a card, those between the same nodes as one; without those within the card. */
function joined(edges: readonly MapEdge[], card: string): readonly MapEdge[] {
  const all: MapEdge[] = [];
  const byEnds = new Map<string, number>();
  for (const edge of edges) {
    const { from, to } = edge;
    if (from !== card && to !== card) all.push(edge);
    else if (from !== to) {
      const key = JSON.stringify([from, to]);
      const at = byEnds.get(key);
      const other = at === undefined ? undefined : all[at];
      if (at === undefined || other === undefined) byEnds.set(key, all.push(edge) - 1);
      else all[at] = together(other, edge);
    }
  }
  return all;
}

const together = (a: MapEdge, b: MapEdge): MapEdge => ({
  ...a,
  label: a.label === b.label ? a.label : '',
  condition: a.condition === b.condition ? a.condition : '',
  parts: [...a.parts, ...b.parts],
});
