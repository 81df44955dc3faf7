/** One stream of server-sent events that is opened again after every loss, and the state of its connection. */
import { signal } from '@preact/signals';
import { api, RequestError } from './api.ts';

/** Why the page may be out of date; null if it is not. */
export type ConnectionTrouble =
  | { readonly kind: 'lost'; readonly since: number }
  | { readonly kind: 'token' }
  | null;
export const connection = signal<ConnectionTrouble>(null);

/** How often a lost stream was opened again: what was not read in the meantime is read then. */
export const reconnected = signal(0);

export interface Feed {
  /** Where to open it; asked at every connection, so that it can continue after the last event. */
  readonly url: () => string;
  /** After each connection, before the first event. */
  readonly opened?: () => void;
  /** By the name of the event; `data` is parsed JSON. */
  readonly on: Readonly<Record<string, (data: never, id: string) => void>>;
}

const delays = [500, 1000, 2000, 5000, 10_000];

/** Opens the feed; answers a function that closes it. */
export function openFeed({ url, opened, on }: Feed): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let closed = false;

  const connect = () => {
    source = new EventSource(url());
    source.onopen = () => {
      if (failures > 0) reconnected.value++;
      failures = 0;
      connection.value = null;
      opened?.();
    };
    source.onerror = () => {
      // Opened again by hand: a browser gives up after some errors, and would repeat an old address.
      source?.close();
      if (!closed) void retry();
    };
    for (const [name, receive] of Object.entries(on))
      source.addEventListener(name, (event) => receive(JSON.parse(event.data) as never, event.lastEventId));
  };
  const retry = async () => {
    const server = await serverState();
    // A server that ends a stream in order, or has no such run, is there: its answers say what is wrong.
    if (server === 'there') connection.value = null;
    else if (server === 'closed') connection.value = { kind: 'token' };
    else if (failures > 0 && connection.value?.kind !== 'lost')
      connection.value = { kind: 'lost', since: Date.now() };
    if (closed) return;
    timer = setTimeout(connect, delays[Math.min(failures, delays.length - 1)]);
    failures++;
  };
  const online = () => {
    clearTimeout(timer);
    source?.close();
    if (!closed) connect();
  };
  connect();
  addEventListener('online', online);
  return () => {
    closed = true;
    clearTimeout(timer);
    source?.close();
    removeEventListener('online', online);
  };
}

/** Whether the server answers, to this browser (`closed`: it wants a token). */
async function serverState(): Promise<'there' | 'closed' | 'away'> {
  try {
    await api.server();
    return 'there';
  } catch (error) {
    if (!(error instanceof RequestError) || error.status === 0) return 'away';
    return error.status === 401 ? 'closed' : 'there';
  }
}
