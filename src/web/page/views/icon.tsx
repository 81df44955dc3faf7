/** Icons of states: a shape each, so that none depends on its colour. */
import { type Look, lookOf, type ShownState } from '../text/looks.ts';

const shapes: Readonly<Record<Look['shape'], string>> = {
  dot: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z',
  check: 'M6.4 12.6 2 8.2l1.5-1.5 2.9 2.9 6.1-6.2L14 4.9z',
  cross: 'M4.4 3 8 6.6 11.6 3 13 4.4 9.4 8l3.6 3.6-1.4 1.4L8 9.4 4.4 13 3 11.6 6.6 8 3 4.4z',
  half: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5v9a4.5 4.5 0 0 1 0-9z',
  pause: 'M4 3h3v10H4zm5 0h3v10H9z',
  slash:
    'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.6c.9 0 1.8.3 2.5.8L4.4 10.5A4.4 4.4 0 0 1 8 3.6zm0 8.8c-.9 0-1.8-.3-2.5-.8l6.1-6.1A4.4 4.4 0 0 1 8 12.4z',
  dash: 'M3 7h10v2H3z',
  ring: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7z',
  again: 'M8 3V1l4 3-4 3V5a3.5 3.5 0 1 0 3.5 3.5H13A5 5 0 1 1 8 3z',
  alert: 'M8 1.5 15 14H1zM7.2 6v4h1.6V6zm0 5v1.6h1.6V11z',
};

/** The shape alone, for a place where the word is next to it. */
export function Shape({ state }: { state: ShownState }) {
  const { shape, tone } = lookOf(state);
  return (
    <svg
      class={`shape tone-${tone} shape-${shape}`}
      viewBox="0 0 16 16"
      width="14"
      height="14"
      aria-hidden="true"
    >
      <path d={shapes[shape]} fill-rule="evenodd" />
    </svg>
  );
}

/** The shape with its word for a screen reader and as a tooltip. */
export function State({ state, worded }: { state: ShownState; worded?: boolean }) {
  const { word, tone } = lookOf(state);
  return (
    <span class={`state tone-${tone}`} title={word}>
      <Shape state={state} />
      <span class={worded ? '' : 'hidden'}> {word}</span>
    </span>
  );
}
