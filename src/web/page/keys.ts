/** Keys of the page: those of the view in front, then those of everywhere. */
import { signal } from '@preact/signals';
import { address, go } from './place.ts';

/** What a key does; false leaves the key to others. */
export type KeyActions = Readonly<Record<string, () => unknown>>;

export const helpOpen = signal(false);

const layers: KeyActions[] = [];

/** Adds the keys of a view; answers a function that removes them. */
export function addKeys(actions: KeyActions): () => void {
  layers.push(actions);
  return () => {
    layers.splice(layers.indexOf(actions), 1);
  };
}

let pending = '';

const everywhere: KeyActions = {
  '?': () => {
    helpOpen.value = true;
  },
  'g r': () => go('/'),
  'g q': () => go('/queue'),
  'g t': () => {
    const at = address.value;
    if (at.view === 'run') go({ ...at, tab: 'timeline' });
  },
  'g g': () => {
    const at = address.value;
    if (at.view === 'run') go({ ...at, tab: 'graph' });
  },
};

function pressed(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement;
  if (target.closest('dialog[open]') !== null) return;
  const typing = target.closest('input, textarea, select, [contenteditable]') !== null;
  if (typing && event.key !== 'Escape') return;
  // Enter and space belong to what has the focus.
  if (
    event.key === 'Enter' &&
    target.closest('button, a, summary, [role=tab]') !== null &&
    !target.closest('[data-row]')
  )
    return;
  const name = pending === '' ? event.key : `${pending} ${event.key}`;
  pending = pending === '' && event.key === 'g' ? 'g' : '';
  if (pending !== '') setTimeout(() => (pending = ''), 1500);
  for (const actions of [...layers].reverse().concat(everywhere)) {
    const act = actions[name];
    if (act === undefined || act() === false) continue;
    event.preventDefault();
    return;
  }
}

export function startKeys(): void {
  addEventListener('keydown', pressed);
}

/** What the help shows. */
export const keyHelp: readonly (readonly [keys: string, what: string])[] = [
  ['j / k', 'next, previous run, job or execution'],
  ['Enter', 'open it'],
  ['/', 'search'],
  ['Esc', 'leave the search, close the panel or the node'],
  ['f', 'follow what runs, or stop following'],
  ['g r', 'list of runs'],
  ['g q', 'queue'],
  ['g g', 'graph of the run'],
  ['g t', 'timeline of the run'],
  ['n / p', 'next, previous change of a diff; N / P: file'],
  ['m', 'the map of the graph: arrows move to the next node, Enter opens it'],
  ['+ / − / 0', 'map larger, smaller, whole'],
  ['[ / ]', 'earlier, later execution of the node'],
  ['?', 'this help'],
];
