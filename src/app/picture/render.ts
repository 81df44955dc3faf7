/** Pictures of graphs. Loads Graphviz: import it where a picture is drawn. */
import type { GraphView } from '../inspect/shapes.ts';
import { graphDot } from './graph-dot.ts';
import { type GraphPicture, graphSvg } from './graph-svg.ts';
import { laidOut } from './layout.ts';

/** The graph as an SVG text. */
export async function drawnGraph(view: GraphView, picture?: GraphPicture): Promise<string> {
  const layout = await laidOut(graphDot(view));
  // So long a row is unreadable on every screen: from the top to the bottom it is at least a page to scroll.
  if (layout.width > 2400 && layout.width > 4 * layout.height && view.direction !== 'TB')
    return graphSvg(view, await laidOut(graphDot({ ...view, direction: 'TB' })), picture);
  return graphSvg(view, layout, picture);
}
