/** Zoom and pan of a drawing, by its viewBox. */
import { useMemo } from 'preact/hooks';

/** The visible part of a drawing. Null: all of it. */
export interface ZoomView {
  box: { x: number; y: number; width: number; height: number } | null;
  readonly zoom: (factor: number, at?: { readonly x: number; readonly y: number }) => void;
  readonly fit: () => void;
  /** Brings a node into view where its text can be read; without one, all of the drawing. */
  readonly focus: (node: string | undefined) => void;
  /** Whether the last press was a drag: its click selects nothing. */
  readonly moved: () => boolean;
  readonly handlers: {
    readonly onWheel: (event: WheelEvent) => void;
    readonly onPointerDown: (event: PointerEvent) => void;
  };
}

type Box = NonNullable<ZoomView['box']>;

/** The viewBox with which the drawing came. */
const whole = new WeakMap<Element, Box>();

const svgOf = (frame: HTMLElement | null): SVGSVGElement | null => frame?.querySelector('svg') ?? null;

/** Shows the part of a new drawing that `view` has. */
export function zoomed(frame: HTMLElement, view: ZoomView): void {
  const svg = svgOf(frame);
  if (svg === null) return;
  const [x = 0, y = 0, width = 100, height = 100] = (svg.getAttribute('viewBox') ?? '')
    .split(/[\s,]+/)
    .map(Number);
  whole.set(svg, { x, y, width, height });
  svg.removeAttribute('width');
  svg.removeAttribute('height');
  apply(svg, view.box);
}

function apply(svg: SVGSVGElement, box: Box | null): void {
  const shown = box ?? whole.get(svg);
  if (shown === undefined) return;
  // The frame gives the size. A small drawing is not blown up, but a part of it takes the whole frame.
  svg.style.maxWidth = box === null ? `${shown.width * 1.5}px` : '';
  svg.style.maxHeight = box === null ? `${shown.height * 1.5}px` : '';
  svg.setAttribute('viewBox', `${shown.x} ${shown.y} ${shown.width} ${shown.height}`);
}

/** The box of the frame in the drawing's units: all that is visible. */
function visibleBox(svg: SVGSVGElement, frame: HTMLElement | null): Box {
  const matrix = svg.getScreenCTM()?.inverse();
  const edge = frame?.getBoundingClientRect();
  if (matrix === undefined || edge === undefined) return { x: 0, y: 0, width: 100, height: 100 };
  const start = new DOMPoint(edge.left, edge.top).matrixTransform(matrix);
  const end = new DOMPoint(edge.right, edge.bottom).matrixTransform(matrix);
  return { x: start.x, y: start.y, width: end.x - start.x, height: end.y - start.y };
}

/** The scale at which the texts of a drawing can be read. */
const readableScale = 0.8;

/** The part of the drawing with a node in the middle; null if the node is in view and can be read. */
function readable(svg: SVGSVGElement, frame: HTMLElement | null, node: string, box: Box): Box | null {
  const element = svg.querySelector<SVGGraphicsElement>(`[data-node="${CSS.escape(node)}"]`);
  const matrix = svg.getScreenCTM()?.inverse();
  if (frame === null || element === null || matrix === undefined) return null;
  const edge = element.getBoundingClientRect();
  const at = new DOMPoint(edge.x + edge.width / 2, edge.y + edge.height / 2).matrixTransform(matrix);
  const inside = at.x > box.x && at.x < box.x + box.width && at.y > box.y && at.y < box.y + box.height;
  const scale = frame.clientWidth / box.width;
  if (inside && scale > readableScale * 0.7) return null;
  const width = frame.clientWidth / Math.max(scale, readableScale);
  const height = frame.clientHeight / Math.max(scale, readableScale);
  return { x: at.x - width / 2, y: at.y - height / 2, width, height };
}

export function useView(frame: { readonly current: HTMLDivElement | null }): ZoomView {
  return useMemo(() => viewOf(frame), []);
}

function viewOf(frame: { readonly current: HTMLDivElement | null }): ZoomView {
  let moved = false;
  const visible = (svg: SVGSVGElement): Box => visibleBox(svg, frame.current);
  const set = (box: Box | null) => {
    const svg = svgOf(frame.current);
    view.box = box;
    if (svg !== null) apply(svg, box);
  };
  const zoom: ZoomView['zoom'] = (factor, at) => {
    const svg = svgOf(frame.current);
    const all = svg === null ? undefined : whole.get(svg);
    if (svg === null || all === undefined) return;
    const box = visible(svg);
    const width = box.width * factor;
    if (width < all.width / 40 || width > Math.max(all.width, all.height) * 6) return;
    const x = at?.x ?? box.x + box.width / 2;
    const y = at?.y ?? box.y + box.height / 2;
    set({ x: x - (x - box.x) * factor, y: y - (y - box.y) * factor, width, height: box.height * factor });
  };
  const onWheel = (event: WheelEvent) => {
    const svg = svgOf(frame.current);
    const matrix = svg?.getScreenCTM()?.inverse();
    if (!matrix) return;
    event.preventDefault();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    zoom(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) / 200), at);
  };
  const onPointerDown = (event: PointerEvent) => {
    moved = false;
    const svg = svgOf(frame.current);
    const element = frame.current;
    if (svg === null || element === null || event.button !== 0) return;
    const from = { x: event.clientX, y: event.clientY };
    const box = visible(svg);
    const scale = box.width / element.clientWidth;
    const move = ({ clientX, clientY }: PointerEvent) => {
      if (!moved && Math.hypot(clientX - from.x, clientY - from.y) < 4) return;
      moved = true;
      set({ ...box, x: box.x - (clientX - from.x) * scale, y: box.y - (clientY - from.y) * scale });
    };
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  };
  const view: ZoomView = {
    box: null,
    zoom,
    fit: () => set(null),
    focus: (node) => {
      const svg = svgOf(frame.current);
      if (svg !== null && node === undefined && view.box !== null) set(null);
      if (svg !== null && node !== undefined) {
        const box = readable(svg, frame.current, node, visible(svg));
        if (box !== null) set(box);
      }
    },
    moved: () => moved,
    handlers: { onWheel, onPointerDown },
  };
  return view;
}
