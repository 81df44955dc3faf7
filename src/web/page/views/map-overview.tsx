/** A small picture of the whole map, with what is in view: a click moves there. */
import { useMemo } from 'preact/hooks';
import { lookOf, type Tone } from '../../../app/inspect/states.ts';
import type { GraphMap, MapBox } from '../../../app/picture/map-shape.ts';
import type { NodeMark } from '../text/map-marks.ts';

/** Pixels. */
const most = { width: 168, height: 132 } as const;

export function Overview({
  map,
  marks,
  seen,
  look,
}: {
  map: GraphMap;
  marks: ReadonlyMap<string, NodeMark>;
  seen: MapBox;
  /** Looks at a point of the map. */
  look: (x: number, y: number) => void;
}) {
  const paths = useMemo(() => pathsByTone(map, marks), [map, marks]);
  const [x, y, width, height] = seen;
  if (x <= 0 && y <= 0 && x + width >= map.width && y + height >= map.height) return null;
  const scale = Math.min(most.width / map.width, most.height / map.height);
  // A long row or column is still wide enough to be hit.
  const size = { width: Math.max(24, map.width * scale), height: Math.max(24, map.height * scale) };
  const to = (event: PointerEvent) => {
    const edge = (event.currentTarget as Element).getBoundingClientRect();
    look(
      ((event.clientX - edge.left) / edge.width) * map.width,
      ((event.clientY - edge.top) / edge.height) * map.height,
    );
  };
  return (
    <svg
      class="overview"
      aria-hidden="true"
      {...size}
      viewBox={`0 0 ${map.width} ${map.height}`}
      preserveAspectRatio="none"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        to(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons === 1) to(event);
      }}
    >
      {paths.map(([tone, path]) => (
        <path key={tone} class={`tone-${tone}`} d={path} fill="currentColor" />
      ))}
      <rect class="seen" {...{ x, y, width, height }} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** One path for the nodes of each colour, what a reader looks for last. */
function pathsByTone(
  map: GraphMap,
  marks: ReadonlyMap<string, NodeMark>,
): readonly (readonly [Tone | 'none', string])[] {
  const paths: Record<Tone | 'none', string> = { none: '', quiet: '', good: '', warn: '', run: '', bad: '' };
  for (const {
    id,
    box: [x, y, width, height],
  } of map.nodes) {
    const state = marks.get(id)?.state ?? 'none';
    paths[state === 'none' ? 'none' : lookOf(state).tone] += `M${x} ${y}h${width}v${height}h${-width}z`;
  }
  return Object.entries(paths).filter(([, path]) => path !== '') as [Tone | 'none', string][];
}
