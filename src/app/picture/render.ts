/** Pictures of graphs. Loads Graphviz: import it where a picture is drawn. */
import { countedItems } from '../../core/amounts.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { sha256 } from '../../core/sha256.ts';
import type { GraphView } from '../inspect/graph-shapes.ts';
import { sketchDot } from './graph-dot.ts';
import { type GraphPicture, graphSvg } from './graph-svg.ts';
import { type GraphLayout, laidOut, laidOutInThread } from './layout.ts';
import { passesManyRanks } from './long-edges.ts';
import { type Sketch, sketchOf } from './sketch.ts';

/** No one can read more in one picture. */
const mostNodes = 5000;
/** Nodes and edges of a graph that is laid out at once. */
const fewElements = 100;
const mostMs = 60_000;

/** The graph as an SVG text, or why there is none. */
export async function drawnGraph(view: GraphView, picture?: GraphPicture): Promise<string | Refusal> {
  const refusal = tooManyNodes(view);
  if (refusal !== undefined) return refusal;
  const layout = await sharedLayout(view);
  return layout === undefined ? notLaidOut(view) : graphSvg(view, layout, picture);
}

/** Why a graph has no picture; undefined if it may have one. */
export const tooManyNodes = ({ nodes }: GraphView): Refusal | undefined =>
  nodes.length > mostNodes
    ? tooLarge(`the graph has ${countedItems(nodes.length, 'node')}, and a picture has at most ${mostNodes}`)
    : undefined;

export const notLaidOut = ({ nodes, edges }: Pick<Sketch, 'nodes' | 'edges'>): Refusal =>
  tooLarge(
    `the graph has ${countedItems(nodes.length, 'node')} and ${countedItems(edges.length, 'edge')}: it cannot be laid out`,
  );

const tooLarge = (message: string): Refusal =>
  refused(
    'graph-too-large',
    message,
    'factory graph writes it as text for other programs: --format dot or --format mermaid',
  );

type LayOut = (sketch: Sketch, plain: boolean) => Promise<GraphLayout | undefined>;

/** The layout of a sketch, made in another thread; undefined if it cannot be laid out. */
export const layoutOf = (sketch: Sketch): Promise<GraphLayout | undefined> => turned(sketch, inThread);

const inThread: LayOut = (sketch, plain) => laidOutInThread(sketchDot(sketch, { plain }), mostMs);

async function turned(sketch: Sketch, layOut: LayOut): Promise<GraphLayout | undefined> {
  const usual = passesManyRanks(sketch.nodes, sketch.edges) ? undefined : await layOut(sketch, false);
  const layout = usual ?? (await layOut(sketch, true));
  // So long a row is unreadable on every screen: from the top to the bottom it is at least a page to scroll.
  return layout !== undefined &&
    layout.width > 2400 &&
    layout.width > 4 * layout.height &&
    sketch.direction !== 'TB'
    ? turned({ ...sketch, direction: 'TB' }, layOut)
    : layout;
}

const isSmall = ({ nodes, edges }: GraphView): boolean => nodes.length + edges.length <= fewElements;

type Layouts = Map<string, Promise<GraphLayout | undefined>>;

/** The latest layouts by what they are made from, the oldest first: the clients of a page ask for the same one. */
const kept: Layouts = new Map();
const mostKept = 8;
/** The layout that each graph waits for, whatever its nodes show: only one of a graph is made at a time. */
const busy: Layouts = new Map();

function sharedLayout(view: GraphView): Promise<GraphLayout | undefined> {
  // It takes less time than to begin a thread.
  if (isSmall(view)) return turned(sketchOf(view), (sketch, plain) => laidOut(sketchDot(sketch, { plain })));
  const key = sha256(JSON.stringify(view));
  const known = kept.get(key);
  if (known !== undefined) return known;
  const graph = sha256(JSON.stringify([view.name, view.nodes.map(({ id }) => id)]));
  const made = Promise.resolve(busy.get(graph)).then(() => layoutOf(sketchOf(view)));
  busy.set(graph, made);
  kept.set(key, made);
  for (const old of kept.keys()) if (kept.size > mostKept) kept.delete(old);
  const done = (): void => {
    if (busy.get(graph) === made) busy.delete(graph);
  };
  void made.then(done, done);
  return made;
}
