/** A large map from afar, where no text can be read: a rectangle for each node and two lines for all edges, so that it is drawn at once. */
import type { GraphMap } from '../../../app/picture/map-shape.ts';
import type { MapMarks } from './map-drawing.ts';

export interface FarDrawing {
  readonly element: SVGGElement;
  mark(marks: MapMarks): void;
}

/** Where the drawing of so many nodes is noticed. */
const manyNodes = 200;

export const isLargeMap = ({ nodes }: GraphMap): boolean => nodes.length > manyNodes;

export function openFarDrawing(map: GraphMap): FarDrawing {
  const element = document.createElementNS('http://www.w3.org/2000/svg', 'g');
  element.setAttribute('class', 'from-afar');
  const lines = map.edges.map(({ svg }) => /<path d="([^"]+)" class="line"/.exec(svg)?.[1] ?? '');
  const line = '<path class="line" fill="none"/>';
  const nodes = map.nodes.filter(({ leads }) => leads === null);
  element.innerHTML = [
    ...[`<g class="edge">${line}</g>`, `<g class="edge taken">${line}</g>`],
    ...nodes.map(
      ({ box: [x, y, width, height] }) =>
        `<g class="node"><rect class="outline" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/></g>`,
    ),
  ].join('');
  const [rest, route, ...groups] = [...element.children];
  for (const [at, { id, opens }] of nodes.entries()) {
    groups[at]?.setAttribute('data-node', id);
    if (opens !== null) groups[at]?.setAttribute('data-opens', opens);
  }
  return {
    element,
    mark({ nodes: marks, counts, selected, pointed }) {
      const isTaken = (at: number): boolean => (counts[at] ?? 0) > 0;
      setPath(rest, lines.filter((_, at) => !isTaken(at)).join(''));
      setPath(route, lines.filter((_, at) => isTaken(at)).join(''));
      for (const [at, { id }] of nodes.entries()) {
        const also = `${id === selected ? ' selected' : ''}${id === pointed ? ' pointed' : ''}`;
        const look = `node ${marks.get(id)?.state ?? 'none'}${also}`;
        const group = groups[at];
        if (group !== undefined && group.getAttribute('class') !== look) group.setAttribute('class', look);
      }
    },
  };
}

function setPath(group: Element | undefined, line: string): void {
  const path = group?.firstElementChild;
  if (path && path.getAttribute('d') !== line) path.setAttribute('d', line);
}
