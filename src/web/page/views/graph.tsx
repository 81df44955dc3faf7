/** The graph of a run as a map: the server's drawing, with live states, to move in; and the same as a list. */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { RunView } from '../../../app/inspect/shapes.ts';
import type { GraphMap, MapBox } from '../../../app/picture/map-shape.ts';
import { api, readProblem } from '../api.ts';
import { now } from '../clock.ts';
import { addKeys } from '../keys.ts';
import { reconnected } from '../live.ts';
import { go } from '../place.ts';
import { executionPath, selectedExecution } from '../selection.ts';
import { runViewAt } from '../store.ts';
import {
  type Eye,
  eyeOn,
  type FrameSize,
  keptPlace,
  movedEye,
  readableScale,
  seenBox,
  startEye,
  wholeEye,
  zoomedEye,
} from '../text/map-eye.ts';
import { firstLook, nodeMarks, represents, takenCounts } from '../text/map-marks.ts';
import { type MapDrawing, openMapDrawing } from './map-drawing.ts';
import { MapHint, type Pointed } from './map-hint.tsx';
import { MapList, RunNodes } from './map-list.tsx';
import { Overview } from './map-overview.tsx';
import { useMapPointer } from './map-pointer.ts';

/** Folds that the reader has opened, by run. */
const opened = signal<ReadonlyMap<string, readonly string[]>>(new Map());
const none: readonly string[] = [];

export function GraphPanel({ run }: { run: RunView }) {
  const open = opened.value.get(run.run_id) ?? none;
  const { map, problem } = useMap(run.run_id, open);
  const toggle = (fold: string) => {
    const others = open.filter((one) => one !== fold);
    opened.value = new Map(opened.value).set(
      run.run_id,
      others.length === open.length ? [...open, fold] : others,
    );
  };
  return (
    <div class="graph">
      {problem !== '' && <p class="loading">The graph cannot be drawn: {problem}</p>}
      {map === null && problem !== '' && <RunNodes run={run} />}
      {map === null ? (
        problem === '' && <p class="loading">Drawing the graph…</p>
      ) : (
        <RunMap key={run.run_id} run={run} map={map} toggle={toggle} />
      )}
    </div>
  );
}

/** The map with these folds open; until it is here the one before. */
function useMap(run: string, open: readonly string[]) {
  const loaded = useSignal<{ readonly run: string; readonly map: GraphMap } | null>(null);
  const problem = useSignal('');
  const again = problem.value === '' ? 0 : reconnected.value;
  useEffect(() => {
    let current = true;
    api.map(run, open).then(
      (map) => {
        if (!current) return;
        loaded.value = { run, map };
        problem.value = '';
      },
      (error: unknown) => {
        if (current) problem.value = readProblem(error);
      },
    );
    return () => {
      current = false;
    };
  }, [run, open.join(), again]);
  return { map: loaded.value?.run === run ? loaded.value.map : null, problem: problem.value };
}

interface MapProps {
  readonly run: RunView;
  readonly map: GraphMap;
  /** Opens what is folded, or folds it again. */
  readonly toggle: (fold: string) => void;
}

function RunMap({ run, map, toggle }: MapProps) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const pointed = useSignal<Pointed | null>(null);
  const look = firstLook(run);
  const selected = selectedExecution.value?.node;
  const { eye, setEye } = useEye(map, size, selected ?? look?.node);
  const marks = useMarks(run, map);
  useDrawing(frame, { map, marks, eye, size, selected, pointed: pointed.value?.node });
  const show = (box: MapBox) => setEye((before) => eyeOn(before, box, map, size));
  const showNode = (node: string | undefined) => {
    const found = node === undefined ? undefined : map.nodes.find((one) => represents(one, node));
    if (found !== undefined) show(found.box);
  };
  useEffect(() => {
    if (eye !== undefined) showNode(selected);
  }, [selected]);
  const zoom = (factor: number, at?: { readonly x: number; readonly y: number }) =>
    setEye((before) => zoomedEye(before, factor, map, size, at));
  const whole = () => setEye(() => wholeEye(map, size));
  const actions = {
    zoom,
    whole,
    toggle,
    show: showNode,
    open: (node: string) => go(executionPath(run.run_id, node)),
  };
  const handlers = useMapPointer({
    frame,
    map,
    eye,
    actions,
    pointed,
    move: (right, down) => setEye((before) => movedEye(before, right, down, map)),
  });
  useEffect(
    () =>
      addKeys({
        '+': () => zoom(1.25),
        '-': () => zoom(0.8),
        '0': whole,
        m: () =>
          frame.current?.parentElement?.querySelector<HTMLElement>('.node-list [tabindex="0"]')?.focus(),
      }),
    [map, size],
  );
  return (
    <>
      <div class="map-buttons">
        {look !== undefined && (
          <button type="button" class="small" onClick={() => showNode(look.node)}>
            {look.words}
          </button>
        )}
        <button type="button" class="small" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          −
        </button>
        <button type="button" class="small" onClick={whole}>
          Whole
        </button>
      </div>
      <div ref={frame} class="drawing" {...handlers}>
        <svg class="factory-picture" aria-hidden="true" font-family="var(--sans)" />
      </div>
      {eye !== undefined && size.height > 240 && (
        <Overview
          map={map}
          marks={marks.nodes}
          seen={seenBox(eye, size)}
          look={(x, y) => setEye((before) => ({ ...before, x, y }))}
        />
      )}
      {eye !== undefined && <MapHint run={run} map={map} pointed={pointed} eye={eye} size={size} />}
      <MapList run={run} map={map} marks={marks.nodes} pointed={pointed} actions={actions} />
    </>
  );
}

/** The size of the frame. */
function useSize(frame: { readonly current: HTMLDivElement | null }): FrameSize {
  const size = useSignal<FrameSize>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const read = () => {
      size.value = { width: element.clientWidth, height: element.clientHeight };
    };
    const watch = new ResizeObserver(read);
    watch.observe(element);
    read();
    return () => watch.disconnect();
  }, []);
  return size.value;
}

/** Where the reader looks. On another map of the run what is in the middle stays where it is. */
function useEye(map: GraphMap, size: FrameSize, target: string | undefined) {
  const eye = useSignal<Eye | undefined>(undefined);
  const before = useRef(map);
  useLayoutEffect(() => {
    if (size.width === 0) return;
    const found = target === undefined ? undefined : map.nodes.find((one) => represents(one, target));
    if (eye.value === undefined) eye.value = startEye(map, size, (found ?? map.nodes[0])?.box);
    else if (before.current !== map) eye.value = replaced(eye.value, before.current, map);
    before.current = map;
  }, [map, size.width > 0]);
  const setEye = (change: (eye: Eye) => Eye) => {
    if (eye.value !== undefined) eye.value = change(eye.value);
  };
  return { eye: eye.value, setEye };
}

/** The eye on the map after a fold was opened or closed: what the reader has clicked stays in its place. */
function replaced(eye: Eye, from: GraphMap, to: GraphMap): Eye {
  const folded = (map: GraphMap) =>
    new Map([
      ...map.nodes.flatMap(({ opens, box }) => (opens === null ? [] : [[opens, box] as const])),
      ...map.boxes.flatMap(({ fold, box }) => (fold === null ? [] : [[fold, box] as const])),
    ]);
  const [before, after] = [folded(from), folded(to)];
  const wasOpen = new Set(from.boxes.map(({ fold }) => fold));
  const isOpen = new Set(to.boxes.map(({ fold }) => fold));
  for (const [fold, box] of before) {
    const now = after.get(fold);
    if (now === undefined || wasOpen.has(fold) === isOpen.has(fold)) continue;
    // Their upper edges: an opened box is higher than its card.
    const top = ([x, y, width]: MapBox): MapBox => [x + width / 2, y, 0, 0];
    return keptPlace(eye, top(box), top(now));
  }
  return eye;
}

function useMarks(run: RunView, map: GraphMap) {
  // The time of a node that runs grows, that of one that waits runs out.
  const isLive = run.status === 'running' || run.waiting?.until != null;
  const time = isLive ? now.value : runViewAt.value;
  const sinceMs = run.status === 'running' ? Math.max(0, time - runViewAt.value) : 0;
  const nodes = useMemo(() => nodeMarks(run, map, { now: time, sinceMs }), [run, map, time, sinceMs]);
  const counts = useMemo(() => takenCounts(run, map), [run, map]);
  return { nodes, counts };
}

function useDrawing(
  frame: { readonly current: HTMLDivElement | null },
  {
    map,
    marks,
    eye,
    size,
    selected,
    pointed,
  }: {
    readonly map: GraphMap;
    readonly marks: ReturnType<typeof useMarks>;
    readonly eye: Eye | undefined;
    readonly size: FrameSize;
    readonly selected: string | undefined;
    readonly pointed: string | undefined;
  },
): void {
  const drawing = useRef<MapDrawing | null>(null);
  useLayoutEffect(() => {
    const svg = frame.current?.querySelector('svg');
    if (svg) drawing.current = openMapDrawing(svg, map);
  }, [map]);
  const of = (node: string | undefined) =>
    node === undefined ? undefined : map.nodes.find((one) => represents(one, node))?.id;
  useLayoutEffect(() => {
    drawing.current?.mark({ ...marks, selected: of(selected), pointed });
  }, [map, marks.nodes, marks.counts, selected, pointed]);
  useLayoutEffect(() => {
    if (eye !== undefined) drawing.current?.show(seenBox(eye, size), eye.scale < 0.4 * readableScale);
  }, [map, eye, size]);
}
