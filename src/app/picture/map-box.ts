/** Where the pieces of a map are. Pure. */
import type { PicturePoint, Stroke } from './layout.ts';
import type { MapBox } from './map-shape.ts';

const rounded = (value: number): number => Math.round(value * 10) / 10;

export const roundBox = ([x, y, width, height]: MapBox): MapBox => [
  rounded(x),
  rounded(y),
  rounded(width),
  rounded(height),
];

/** The smallest box with all points. A curve is within its control points. */
export function around(points: readonly PicturePoint[]): MapBox {
  if (points.length === 0) return [0, 0, 0, 0];
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return roundBox([left - 2, top - 2, Math.max(...xs) - left + 4, Math.max(...ys) - top + 4]);
}

/** The middle of an edge. */
export function middleOf(line: readonly Stroke[]): PicturePoint {
  const [stroke] = line;
  const points = stroke?.points ?? [];
  const first = points[0] ?? [0, 0];
  if (stroke?.kind !== 'curve' || points.length < 4) {
    const last = points.at(-1) ?? first;
    return [(first[0] + last[0]) / 2, (first[1] + last[1]) / 2];
  }
  const piece = Math.floor((points.length - 1) / 3 / 2);
  const [a = first, b = first, c = first, d = first] = points.slice(3 * piece, 3 * piece + 4);
  const at = (i: 0 | 1) => (a[i] + 3 * b[i] + 3 * c[i] + d[i]) / 8;
  return [at(0), at(1)];
}
