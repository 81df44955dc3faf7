/** Rows of a list that scrolls with the page, of which only those in view are drawn. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { indexesSeen, shiftOf } from '../text/seen-rows.ts';

/** Pixels of the head, which stays above the rows. */
const headHeight = 44;

/** `kept` is the id of a row that is drawn also out of view, as it has the focus or is where the Tab key leads to. The style sheet says
 *  how high rows are (`--row`). When rows come or go above what is in view, that stays where it is. */
export function SeenRows({
  ids,
  kept,
  row,
}: {
  ids: readonly string[];
  kept: string | undefined;
  row: (index: number) => ComponentChildren;
}) {
  const list = useRef<HTMLUListElement>(null);
  const seen = useSignal<readonly [first: number, end: number]>([0, 0]);
  const height = useSignal(28);
  const before = useRef({ ids, top: 0, height: 0 });
  const measure = () => {
    if (list.current === null) return;
    height.value = Number.parseFloat(getComputedStyle(list.current).getPropertyValue('--row')) || 28;
    const { top } = list.current.getBoundingClientRect();
    const [first, end] = indexesSeen(top, innerHeight, height.value, ids.length);
    if (first !== seen.value[0] || end !== seen.value[1]) seen.value = [first, end];
  };
  useLayoutEffect(() => {
    const top = (list.current?.getBoundingClientRect().top ?? 0) + scrollY;
    const now = { ids, top, height: height.value };
    const shift = before.current.ids === ids ? 0 : shiftOf(before.current, now, scrollY + headHeight);
    before.current = now;
    if (shift !== 0) scrollBy(0, shift);
    measure();
  });
  useEffect(() => {
    let asked = 0;
    const look = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => latest.current());
    };
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, []);
  const latest = useRef(measure);
  latest.current = measure;
  const [first, end] = seen.value;
  const shown = Array.from({ length: Math.max(0, Math.min(end, ids.length) - first) }, (_, at) => first + at);
  const keptAt = kept === undefined ? -1 : ids.indexOf(kept);
  if (keptAt >= 0 && keptAt < first) shown.unshift(keptAt);
  else if (keptAt >= end) shown.push(keptAt);
  return (
    <ul ref={list} class="seen-rows" style={{ height: `${ids.length * height.value}px` }}>
      {shown.map((index) => (
        <li
          key={ids[index]}
          style={{ top: `${index * height.value}px` }}
          aria-setsize={ids.length}
          aria-posinset={index + 1}
        >
          {row(index)}
        </li>
      ))}
    </ul>
  );
}
