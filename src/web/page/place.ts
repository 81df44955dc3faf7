/** The address bar as signals. */
import { signal } from '@preact/signals';
import { type Address, addressOf, pathOf } from './text/address.ts';

export const address = signal<Address>(addressOf(location.pathname, location.search));
export const fragment = signal(location.hash);

/** Scroll positions of the entries of the history, by their key. */
const scrolled = new Map<string, number>();
const keyNow = (): string => String((history.state as { key?: string } | null)?.key ?? '');

function read(): void {
  address.value = addressOf(location.pathname, location.search);
  fragment.value = location.hash;
}

/** Shows another address. `replace` leaves no entry to come back to. */
export function go(to: Address | string, how: 'push' | 'replace' = 'push'): void {
  const path = typeof to === 'string' ? to : pathOf(to);
  const other = new URL(path, location.href).pathname !== location.pathname;
  scrolled.set(keyNow(), scrollY);
  if (how === 'replace') history.replaceState(history.state, '', path);
  else history.pushState({ key: crypto.randomUUID() }, '', path);
  read();
  if (other && how === 'push' && !location.pathname.startsWith('/runs/')) scrollTo(0, 0);
}

/** Links of the page change the address without loading it again. */
function followLink(event: MouseEvent): void {
  const link = (event.target as Element).closest?.('a');
  if (link === null || link === undefined || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname.startsWith('/api/')) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}

export function startPlaces(): void {
  history.scrollRestoration = 'manual';
  addEventListener('click', followLink);
  addEventListener('hashchange', read);
  addEventListener('popstate', () => {
    read();
    const at = scrolled.get(keyNow()) ?? 0;
    // After the view of the address is drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, at)));
  });
}
