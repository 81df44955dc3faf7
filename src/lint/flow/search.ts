/** Shortest ways from one place to another. */
import type { Move, Place } from './flow.ts';

/** The moves from `from` to the first place where `ends` says so; undefined where there are none. Only moves that `may`
 *  allows are made. `spend` is called for every place looked at, and ends the search by answering false. */
export function wayTo(
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

function back(came: ReadonlyMap<Place, Move | undefined>, last: Move): readonly Move[] {
  const path = [last];
  for (let move = came.get(last.place); move !== undefined; move = came.get(move.place)) path.push(move);
  return path.reverse();
}
