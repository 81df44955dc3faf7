/** Views whose code is in a separate file, which the browser loads when the view is first drawn. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

/** Draws the view that `load` brings, and until then says that it is being loaded. */
export function laterView<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const code = signal<{ readonly View: ComponentType<P> } | 'asked' | 'failed' | null>(null);
  const ask = () => {
    if (code.peek() !== null) return;
    code.value = 'asked';
    load().then(
      (View) => {
        code.value = { View };
      },
      () => {
        code.value = 'failed';
      },
    );
  };
  return function LaterView(props: P) {
    useEffect(ask, []);
    const loaded = code.value;
    if (loaded === 'failed') return <NotLoaded />;
    if (loaded === null || loaded === 'asked') return <p class="loading">Loading…</p>;
    return <loaded.View {...props} />;
  };
}

/** Browsers remember that a file did not come, so that asking again needs the whole page. */
function NotLoaded() {
  return (
    <p class="loading" role="status">
      This part of the page did not load: the server does not answer, or was updated since the page was
      opened.{' '}
      <button type="button" class="small" onClick={() => location.reload()}>
        Reload the page
      </button>
    </p>
  );
}
