/** What a reader has chosen, kept in this browser. */
import { effect, type Signal, signal } from '@preact/signals';

/** A text that this browser keeps. */
function keptText(name: string, initial: string): Signal<string> {
  const key = `factory.${name}`;
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(key);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is closed.
  }
  const value = signal(stored ?? initial);
  effect(() => {
    try {
      localStorage.setItem(key, value.value);
    } catch {
      // As above.
    }
  });
  return value;
}

/** One of a few words that this browser keeps. */
function kept<T extends string>(name: string, known: readonly T[], initial: T): Signal<T> {
  const value = keptText(name, initial);
  value.value = known.find((one) => one === value.value) ?? initial;
  return value as Signal<T>;
}

export const theme = kept('theme', ['system', 'light', 'dark'], 'system');
/** Who answers questions of runs. */
export const userName = keptText('name', '');
export const diffLayout = kept('diff', ['unified', 'split'], 'unified');

/** Follow mode: the newest node is selected and the end of its output is in view. Off when the page is opened. */
export const follow = signal(false);

export function startTheme(): void {
  effect(() => {
    if (theme.value === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme.value;
  });
}
