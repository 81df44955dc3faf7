/** A long list of rows of one height, of which only the visible ones are drawn. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

export function Windowed({
  count,
  height,
  label,
  row,
  toEnd,
}: {
  count: number;
  /** Of a row, in pixels. */
  height: number;
  label: string;
  row: (index: number) => ComponentChildren;
  /** Keeps the end in view. */
  toEnd: boolean;
}) {
  const frame = useRef<HTMLElement>(null);
  const top = useSignal(0);
  const visible = useSignal(600);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => {
      visible.value = element.clientHeight;
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (toEnd && frame.current !== null) frame.current.scrollTop = frame.current.scrollHeight;
  }, [toEnd, count]);
  const first = Math.max(0, Math.floor(top.value / height) - 10);
  const last = Math.min(count, Math.ceil((top.value + visible.value) / height) + 10);
  return (
    <section
      ref={frame}
      class="windowed"
      aria-label={label}
      tabIndex={0}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
    >
      <div class="window" style={{ height: `${count * height}px` }}>
        <ol style={{ transform: `translateY(${first * height}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, at) => row(first + at))}
        </ol>
      </div>
    </section>
  );
}
