/** The bar between the tabs and the node: dragged, or moved with the arrow keys. */
import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

/** Part of the height that the tabs have, in percent. */
export const split = signal(42);

const set = (percent: number) => {
  split.value = Math.min(80, Math.max(15, Math.round(percent)));
};

export function Splitter() {
  const element = useRef<HTMLDivElement>(null);
  const drag = (event: PointerEvent) => {
    const bar = element.current;
    const above = bar?.previousElementSibling?.getBoundingClientRect();
    const below = bar?.nextElementSibling?.getBoundingClientRect();
    if (bar === null || above === undefined || below === undefined) return;
    bar.setPointerCapture(event.pointerId);
    bar.onpointermove = ({ clientY }) => set(((clientY - above.top) / (below.bottom - above.top)) * 100);
    bar.onpointerup = () => {
      bar.onpointermove = null;
    };
  };
  const key = ({ key: name }: KeyboardEvent) => {
    if (name === 'ArrowUp') set(split.value - 5);
    if (name === 'ArrowDown') set(split.value + 5);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a bar that is moved is no thematic break
    <div
      ref={element}
      class="splitter"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the tabs"
      aria-valuenow={split.value}
      aria-valuemin={15}
      aria-valuemax={80}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={key}
    />
  );
}
