/** Where a reader looks on a map: the point in the middle of the frame, and pixels per point of the drawing. Pure. */
import type { GraphMap, MapBox } from '../../../app/picture/map-shape.ts';

export interface Eye {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}
export interface FrameSize {
  readonly width: number;
  readonly height: number;
}
type MapSize = Pick<GraphMap, 'width' | 'height'>;

/** Pixels between the drawing and the frame. */
const margin = 16;
const largest = 3;
/** At this scale the smallest texts have 12 pixels. */
export const readableScale = 1;

/** All of the map. */
export const wholeEye = ({ width, height }: MapSize, frame: FrameSize): Eye => ({
  x: width / 2,
  y: height / 2,
  scale: Math.max(
    0.002,
    Math.min(
      readableScale,
      (frame.width - 2 * margin) / Math.max(1, width),
      (frame.height - 2 * margin) / Math.max(1, height),
    ),
  ),
});

/** What is shown when a map is opened: its texts can be read, and `target` is in the middle; without one, the beginning. */
export function startEye(map: MapSize, frame: FrameSize, target: MapBox | undefined): Eye {
  const whole = wholeEye(map, frame);
  if (whole.scale >= readableScale) return whole;
  const [x, y] = target === undefined ? [map.width / 2, 0] : middle(target);
  return within({ x, y, scale: readableScale }, map, frame);
}

const middle = ([x, y, width, height]: MapBox): readonly [number, number] => [x + width / 2, y + height / 2];

/** The nearest eye that shows no empty space where there is some of the map. */
function within({ x, y, scale }: Eye, map: MapSize, frame: FrameSize): Eye {
  const along = (at: number, size: number, seen: number): number => {
    const half = seen / scale / 2 - margin / scale;
    return 2 * half >= size ? size / 2 : Math.min(Math.max(at, half), size - half);
  };
  return { x: along(x, map.width, frame.width), y: along(y, map.height, frame.height), scale };
}

/** What is in view. */
export const seenBox = ({ x, y, scale }: Eye, { width, height }: FrameSize): MapBox => [
  x - width / scale / 2,
  y - height / scale / 2,
  width / scale,
  height / scale,
];

/** `factor` above 1 is closer; `at` stays where it is. */
export function zoomedEye(
  eye: Eye,
  factor: number,
  map: MapSize,
  frame: FrameSize,
  at: { readonly x: number; readonly y: number } = eye,
): Eye {
  const least = wholeEye(map, frame).scale / 2;
  const scale = Math.min(
    Math.max(eye.scale * factor, Math.min(least, eye.scale)),
    Math.max(largest, eye.scale),
  );
  const share = eye.scale / scale;
  return { x: at.x - (at.x - eye.x) * share, y: at.y - (at.y - eye.y) * share, scale };
}

/** Moved by pixels of the frame. The middle stays on the map. */
export const movedEye = (
  { x, y, scale }: Eye,
  right: number,
  down: number,
  { width, height }: MapSize,
): Eye => ({
  x: Math.min(Math.max(x + right / scale, 0), width),
  y: Math.min(Math.max(y + down / scale, 0), height),
  scale,
});

/** With the box in view where it can be read; unchanged if it is. */
export function eyeOn(eye: Eye, box: MapBox, map: MapSize, frame: FrameSize): Eye {
  const [x, y] = middle(box);
  const [left, top, width, height] = seenBox(eye, frame);
  const isSeen =
    box[0] >= left && box[1] >= top && box[0] + box[2] <= left + width && box[1] + box[3] <= top + height;
  if (isSeen && eye.scale >= 0.7 * readableScale) return eye;
  return within({ x, y, scale: Math.max(eye.scale, readableScale) }, map, frame);
}

/** The eye on another map that has `to` in the place of the frame in which `eye` has `from`. */
export function keptPlace(eye: Eye, from: MapBox, to: MapBox): Eye {
  return { x: eye.x + to[0] - from[0], y: eye.y + to[1] - from[1], scale: eye.scale };
}

export const touches = (a: MapBox, b: MapBox): boolean =>
  a[0] <= b[0] + b[2] && b[0] <= a[0] + a[2] && a[1] <= b[1] + b[3] && b[1] <= a[1] + a[3];

export type Direction = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

/** The place of the nearest of the boxes in a direction; undefined if there is none. What is straight ahead comes first. */
export function nextBox(boxes: readonly MapBox[], from: MapBox, direction: Direction): number | undefined {
  const [x, y] = middle(from);
  const isUpright = direction === 'ArrowUp' || direction === 'ArrowDown';
  const sign = direction === 'ArrowUp' || direction === 'ArrowLeft' ? -1 : 1;
  let best: { readonly at: number; readonly distance: number } | undefined;
  for (const [at, box] of boxes.entries()) {
    const [bx, by] = middle(box);
    const ahead = sign * (isUpright ? by - y : bx - x);
    const aside = Math.abs(isUpright ? bx - x : by - y);
    if (ahead < 4) continue;
    const distance = ahead + 2 * aside;
    if (best === undefined || distance < best.distance) best = { at, distance };
  }
  return best?.at;
}
