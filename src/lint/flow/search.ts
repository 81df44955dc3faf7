/** Shortest paths from one place to another. */
import type { Flow, Move, Place } from './flow.ts';

/** The moves from `from` to the first one for which `ends` is true; undefined where there are none. Only moves that `may`
 *  allows are made. `spend` is called for every place looked at, and ends the search by answering false. */
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

/** The moves from `from` to `place`, at least one; undefined where there are none. */
export const pathInto = (from: Place, place: Place): readonly Move[] | undefined =>
  pathBetween(
    from,
    () => true,
    ({ to }) => to === place,
  );

/** The moves from the start to `place`; undefined where only a missed goal gate leads there. */
export const pathTo = ({ start }: Flow, place: Place): readonly Move[] | undefined =>
  place === start ? [] : pathInto(start, place);

/** Every place from which moves that `may` allows lead to one of `ends`, with these. */
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
