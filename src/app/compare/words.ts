/** Words of a comparison that terminal and page share. Pure. */

/** Two texts, cut so that their first difference shows within `room` characters. */
export function differingParts(a: string, b: string, room: number): readonly [string, string] {
  if (a.length <= room && b.length <= room) return [a, b];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same += 1;
  const from = Math.max(0, same - Math.floor(room / 3));
  if (from < 2) return [a, b];
  const cut = (text: string) => `…${text.slice(from)}`;
  return [cut(a), cut(b)];
}
