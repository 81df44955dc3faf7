/** The pieces of a map in an SVG element: only those in view are there. */
import type { GraphMap, MapBox } from '../../../app/picture/map-shape.ts';
import { touches } from '../text/map-eye.ts';
import type { NodeMark } from '../text/map-marks.ts';
import { type FarDrawing, isLargeMap, openFarDrawing } from './map-far.ts';

export interface MapMarks {
  readonly nodes: ReadonlyMap<string, NodeMark>;
  /** How often each edge was taken. */
  readonly counts: readonly number[];
  readonly selected: string | undefined;
  readonly pointed: string | undefined;
}

export interface MapDrawing {
  /** Shows what touches the box. `isFar`: texts are too small to be read. */
  show(box: MapBox, isFar: boolean): void;
  mark(marks: MapMarks): void;
}

interface Piece {
  readonly box: MapBox;
  readonly svg: string;
  /** Adds to a new element what need not be sent. */
  readonly begin?: (element: Element) => void;
  /** Puts on what the run did. */
  readonly dress: (element: Element, marks: MapMarks) => void;
  element?: Element;
}

const svgSpace = 'http://www.w3.org/2000/svg';

const group = (kind: string): SVGGElement => {
  const element = document.createElementNS(svgSpace, 'g');
  element.setAttribute('class', kind);
  return element;
};

/** A drawing in an empty element, which nothing else changes. */
export function openMapDrawing(svg: SVGSVGElement, map: GraphMap): MapDrawing {
  const defs = group('signs');
  defs.innerHTML = map.defs;
  const layers = [
    {
      element: group('boxes'),
      pieces: map.boxes.map(
        ({ box, svg: drawn, fold }): Piece => ({
          box,
          svg: drawn,
          dress: fold === null ? () => {} : (element) => element.setAttribute('data-fold', fold),
        }),
      ),
    },
    { element: group('edges'), pieces: map.edges.map(edgePiece) },
    { element: group('nodes'), pieces: map.nodes.map(nodePiece) },
  ];
  svg.replaceChildren(defs, ...layers.map(({ element }) => element));
  let marks: MapMarks = { nodes: new Map(), counts: [], selected: undefined, pointed: undefined };
  let far: FarDrawing | undefined;
  return {
    show(box, isFar) {
      svg.classList.toggle('far', isFar);
      svg.setAttribute('viewBox', box.join(' '));
      const isWhole = isFar && isLargeMap(map);
      if (isWhole) {
        far ??= openFarDrawing(map);
        far.mark(marks);
        if (!far.element.isConnected) svg.append(far.element);
      } else far?.element.remove();
      for (const { element, pieces } of layers) {
        const fresh: Piece[] = [];
        for (const piece of pieces) {
          const isSeen = !isWhole && touches(piece.box, box);
          if (isSeen && piece.element === undefined) fresh.push(piece);
          else if (!isSeen && piece.element !== undefined) {
            piece.element.remove();
            delete piece.element;
          }
        }
        add(element, fresh, marks);
      }
    },
    mark(next) {
      marks = next;
      if (far?.element.isConnected === true) far.mark(marks);
      for (const { pieces } of layers)
        for (const { element, dress } of pieces) if (element !== undefined) dress(element, marks);
    },
  };
}

/** Parsed together: each parse costs. */
function add(layer: Element, pieces: readonly Piece[], marks: MapMarks): void {
  if (pieces.length === 0) return;
  const parsed = group('');
  parsed.innerHTML = pieces.map(({ svg }) => svg).join('');
  for (const [at, element] of [...parsed.children].entries()) {
    const piece = pieces[at];
    if (piece === undefined) continue;
    piece.element = element;
    piece.begin?.(element);
    piece.dress(element, marks);
  }
  layer.append(...parsed.children);
}

const nodePiece = ({ id, box, svg, opens }: GraphMap['nodes'][number]): Piece => ({
  box,
  svg,
  dress(element, { nodes, selected, pointed }) {
    if (opens !== null) element.setAttribute('data-opens', opens);
    element.classList.toggle('selected', id === selected);
    element.classList.toggle('pointed', id === pointed);
    const mark = nodes.get(id);
    if (mark === undefined) return;
    const before = element.getAttribute('data-state') ?? '';
    if (before !== mark.state) {
      if (before !== '') element.classList.remove(before);
      element.classList.add(mark.state);
      element.setAttribute('data-state', mark.state);
      element.querySelector('use.sign')?.setAttribute('href', `#sign-${mark.state}`);
    }
    const details = element.querySelector('.details');
    if (details !== null && details.textContent !== mark.details) details.textContent = mark.details;
  },
});

const edgePiece = ({ box, svg }: GraphMap['edges'][number], at: number): Piece => ({
  box,
  svg,
  begin(element) {
    // A line of a pixel is hard to hit.
    for (const line of element.querySelectorAll('.line')) {
      const wide = line.cloneNode() as Element;
      wide.setAttribute('class', 'hit');
      element.append(wide);
    }
  },
  dress(element, { counts }) {
    const count = counts[at] ?? 0;
    element.classList.toggle('taken', count > 0);
    const text = element.querySelector('.count');
    const words = count > 1 ? `×${count}` : '';
    if (text !== null && text.textContent !== words) text.textContent = words;
  },
});
