/** Icons of states: a shape each, so that none depends on its colour. */
import { lookOf, type ShownState, signShape } from '../../../app/inspect/states.ts';

/** The shape alone, for a place where the word is next to it. */
export function Shape({ state }: { state: ShownState }) {
  const { sign, tone } = lookOf(state);
  return (
    <svg
      class={`shape tone-${tone} shape-${sign}`}
      viewBox="0 0 16 16"
      width="14"
      height="14"
      aria-hidden="true"
      dangerouslySetInnerHTML={{ __html: signShape(state) }}
    />
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
