/** Shortest paths between places. */
import type { Flow, Move, Place } from './flow.ts';

/** The moves from `from` to the nearest place for which `ends` is true; undefined if there are none. Only moves allowed
 *  by `may` are used. `spend` is called for every visited place and ends the search by returning false. */
export function pathBetween(
  from: Place,
  may: (move: Move) => boolean,
  ends: (move: Move) => boolean,
  spend: () => boolean = () => true,
): readonly Move[] | undefined {
  const came = new Map<Place, Move | undefined>([[from, undefined]]);
  const open = [from];
  for (let next = 0; next < open.length && spend(); next++) {
    const place = open[next];
    if (place === undefined) break;
    for (const move of place.moves) {
      const { to } = move;
      if (to === undefined || !may(move)) continue;
      if (ends(move)) return back(came, move);
      if (came.has(to)) continue;
      came.set(to, move);
      open.push(to);
    }
  }
  return undefined;
}

/** The moves from `from` to `place`, at least one; undefined if there are none. */
export const pathInto = (from: Place, place: Place): readonly Move[] | undefined =>
  pathBetween(
    from,
    () => true,
    ({ to }) => to === place,
  );

/** The moves from the start to `place`; undefined if only an unmet goal gate leads there. */
export const pathTo = ({ start }: Flow, place: Place): readonly Move[] | undefined =>
  place === start ? [] : pathInto(start, place);

/** `ends` and every place from which moves allowed by `may` lead to one of them. */
export function leadingTo(
  { before }: Flow,
  ends: readonly Place[],
  may: (move: Move) => boolean = () => true,
): ReadonlySet<Place> {
  const found = new Set<Place>();
  const open = [...ends];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    for (const move of before.get(place) ?? []) if (may(move)) open.push(move.place);
  }
  return found;
}

function back(came: ReadonlyMap<Place, Move | undefined>, last: Move): readonly Move[] {
  const path = [last];
  for (let move = came.get(last.place); move !== undefined; move = came.get(move.place)) path.push(move);
  return path.reverse();
}
