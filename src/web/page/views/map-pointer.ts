/** What a mouse or a finger does on a map: it moves the map, points at a node, opens, or asks why an edge was taken. */
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { GraphMap } from '../../../app/picture/map-shape.ts';
import type { Eye } from '../text/map-eye.ts';
import type { Pointed } from './map-hint.tsx';

export interface MapActions {
  readonly zoom: (factor: number, at?: { readonly x: number; readonly y: number }) => void;
  readonly whole: () => void;
  readonly toggle: (fold: string) => void;
  /** Brings the node into view. */
  readonly show: (node: string) => void;
  /** Opens the page of the node. */
  readonly open: (node: string) => void;
}

/** Milliseconds for which the pointer is on a node before more of it is shown. */
const restMs = 250;

export function useMapPointer({
  frame,
  map,
  eye,
  actions,
  pointed,
  move,
}: {
  readonly frame: { readonly current: HTMLDivElement | null };
  readonly map: GraphMap;
  readonly eye: Eye | undefined;
  readonly actions: MapActions;
  readonly pointed: Signal<Pointed | null>;
  readonly move: (right: number, down: number) => void;
}) {
  const moved = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const later = (act: () => void, ms: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(act, ms);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const element = frame.current;
    if (element === null || eye === undefined) return;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const edge = element.getBoundingClientRect();
      const at = {
        x: eye.x + (event.clientX - edge.left - edge.width / 2) / eye.scale,
        y: eye.y + (event.clientY - edge.top - edge.height / 2) / eye.scale,
      };
      actions.zoom(Math.exp(Math.max(-50, Math.min(50, -event.deltaY)) / 200), at);
    };
    // A passive listener, as Preact adds it, could not keep the page from scrolling.
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [eye, map]);
  return {
    onPointerDown(event: PointerEvent) {
      moved.current = false;
      if (event.button === 0) drag(event, move, moved);
    },
    onPointerOver(event: PointerEvent) {
      const node = (event.target as Element).closest('[data-node]')?.getAttribute('data-node');
      if (event.pointerType !== 'mouse' || event.buttons !== 0 || pointed.value?.edge !== undefined) return;
      if (node) later(() => (pointed.value = { node }), restMs);
      else if (pointed.value !== null) later(() => (pointed.value = null), restMs);
      else clearTimeout(timer.current);
    },
    onPointerLeave() {
      if (pointed.value?.edge === undefined) later(() => (pointed.value = null), restMs);
    },
    onClick({ target }: MouseEvent) {
      if (moved.current) return;
      clearTimeout(timer.current);
      const of = (name: string) =>
        (target as Element).closest(`[data-${name}]`)?.getAttribute(`data-${name}`);
      const [fold, node, leads, edge] = [of('opens') ?? of('fold'), of('node'), of('leads'), of('edge')];
      pointed.value = null;
      if (leads) actions.show(leads);
      else if (edge) pointed.value = { edge: Number(edge) };
      else if (fold) actions.toggle(fold);
      else if (node) actions.open(node);
    },
  };
}

function drag(
  { clientX, clientY }: PointerEvent,
  move: (right: number, down: number) => void,
  moved: { current: boolean },
): void {
  let last = { x: clientX, y: clientY };
  const go = (event: PointerEvent) => {
    if (!moved.current && Math.hypot(event.clientX - clientX, event.clientY - clientY) < 4) return;
    moved.current = true;
    move(last.x - event.clientX, last.y - event.clientY);
    last = { x: event.clientX, y: event.clientY };
  };
  const end = () => {
    removeEventListener('pointermove', go);
    removeEventListener('pointerup', end);
    removeEventListener('pointercancel', end);
  };
  addEventListener('pointermove', go);
  addEventListener('pointerup', end);
  addEventListener('pointercancel', end);
}
