/** Pictures of graphs. Loads Graphviz: import it where a picture is drawn. */
import { countedItems } from '../../core/amounts.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { sha256 } from '../../core/sha256.ts';
import type { GraphView } from '../inspect/shapes.ts';
import { graphDot } from './graph-dot.ts';
import { type GraphPicture, graphSvg } from './graph-svg.ts';
import { type GraphLayout, laidOut, laidOutInThread } from './layout.ts';

/** No one can read more in one picture. */
const mostNodes = 5000;
/** Nodes and edges of a graph that is laid out at once. */
const fewElements = 100;
/** Ranks that edges pass, all together, from which a layout takes more than seconds: Graphviz puts a point of each edge on each. A
 *  hundred nodes with an edge to one exit have twice as many. */
const manyRanks = 2000;
const mostMs = 60_000;

/** The graph as an SVG text, or why there is none. */
export async function drawnGraph(view: GraphView, picture?: GraphPicture): Promise<string | Refusal> {
  const count = view.nodes.length;
  if (count > mostNodes)
    return tooLarge(`the graph has ${countedItems(count, 'node')}, and a picture has at most ${mostNodes}`);
  const layout = await sharedLayout(view);
  if (layout === undefined)
    return tooLarge(
      `the graph has ${countedItems(count, 'node')} and ${countedItems(view.edges.length, 'edge')}: it cannot be laid out`,
    );
  return graphSvg(view, layout, picture);
}

const tooLarge = (message: string): Refusal =>
  refused(
    'graph-too-large',
    message,
    'factory graph writes it as text for other programs: --format dot or --format mermaid',
  );

async function layoutFor(view: GraphView): Promise<GraphLayout | undefined> {
  const layout = await layoutAs(view);
  // So long a row is unreadable on every screen: from the top to the bottom it is at least a page to scroll.
  return layout !== undefined &&
    layout.width > 2400 &&
    layout.width > 4 * layout.height &&
    view.direction !== 'TB'
    ? layoutAs({ ...view, direction: 'TB' })
    : layout;
}

async function layoutAs(view: GraphView): Promise<GraphLayout | undefined> {
  if (isSmall(view)) return laidOut(graphDot(view));
  const usual = ranksPassed(view) > manyRanks ? undefined : await laidOutInThread(graphDot(view), mostMs);
  return usual ?? laidOutInThread(graphDot(view, { plain: true }), mostMs);
}

const isSmall = ({ nodes, edges }: GraphView): boolean => nodes.length + edges.length <= fewElements;

/** How many ranks the edges pass, all together: about, by the distance of each node from the first ones. */
function ranksPassed({ nodes, edges }: GraphView): number {
  const next = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) next.get(from)?.push(to);
  const targets = new Set(edges.map(({ to }) => to));
  const first = nodes.filter(({ id }) => !targets.has(id));
  const rank = new Map(first.map(({ id }) => [id, 0]));
  for (const [id, at] of rank) for (const to of next.get(id) ?? []) if (!rank.has(to)) rank.set(to, at + 1);
  const rankOf = (id: string): number => rank.get(id) ?? 0;
  return edges.reduce((sum, { from, to }) => sum + Math.abs(rankOf(to) - rankOf(from)), 0) - edges.length;
}

type Layouts = Map<string, Promise<GraphLayout | undefined>>;

/** The latest layouts by what they are made from, the oldest first: the clients of a page ask for the same one. */
const kept: Layouts = new Map();
const mostKept = 8;
/** The layout that each graph waits for, whatever its nodes show: only one of a graph is made at a time. */
const busy: Layouts = new Map();

function sharedLayout(view: GraphView): Promise<GraphLayout | undefined> {
  if (isSmall(view)) return layoutFor(view);
  const key = sha256(JSON.stringify(view));
  const known = kept.get(key);
  if (known !== undefined) return known;
  const graph = sha256(JSON.stringify([view.name, view.nodes.map(({ id }) => id)]));
  const made = Promise.resolve(busy.get(graph)).then(() => layoutFor(view));
  busy.set(graph, made);
  kept.set(key, made);
  for (const old of kept.keys()) if (kept.size > mostKept) kept.delete(old);
  const done = (): void => {
    if (busy.get(graph) === made) busy.delete(graph);
  };
  void made.then(done, done);
  return made;
}
