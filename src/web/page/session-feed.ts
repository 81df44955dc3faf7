/** Reads the session of an execution, and again what is new of it while its agent works. */
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ExecutionRow } from '../../app/inspect/execution-shapes.ts';
import type { Session } from '../../app/inspect/session-shape.ts';
import { api, readProblem } from './api.ts';
import { reconnected } from './live.ts';
import { liveTextsOf } from './store.ts';
import { nextFrom, withLater } from './text/session.ts';

/** Items of the first answer, which are soon there, and of each further one. */
const [firstItems, pageItems] = [200, 2000];

type Loaded = { readonly key: string; readonly session: Session };
const loaded = signal<Loaded | null>(null);
/** Why it cannot be read. */
export const sessionProblem = signal('');

export type SessionPlace = { readonly run: string; readonly node: string; readonly visit: number };
export const sessionKey = ({ run, node, visit }: SessionPlace): string => `${run} ${node}@${visit}`;

/** Reads what is new of the session whenever it has grown, and all of it once its agent has ended. */
export function useSession(of: SessionPlace, row: ExecutionRow): Session | null {
  const key = sessionKey(of);
  const reader = useMemo(() => sessionReader(of), [key]);
  const grown = liveTextsOf(row)?.['session']?.length ?? 0;
  useEffect(() => reader.all(), [reader, row.state, row.attempts, reconnected.value]);
  useEffect(() => {
    if (grown > 0) reader.more();
  }, [reader, grown]);
  useEffect(() => reader.close, [reader]);
  return loaded.value?.key === key ? loaded.value.session : null;
}

/** Never two requests at a time; pauses as long as three requests took, so that a long session does not keep the server busy. */
function sessionReader(of: SessionPlace) {
  const key = sessionKey(of);
  let known: Session | null = null;
  let pending: 'all' | 'more' | null = null;
  let isBusy = false;
  let isOpen = true;
  const read = async (): Promise<void> => {
    let from = pending === 'all' || known === null ? 0 : nextFrom(known);
    pending = null;
    let next = from === 0 ? null : known;
    for (let isWhole = false; isOpen && !isWhole; from = next?.items.length ?? 0) {
      const answer = await api.session(of, {
        from: String(from),
        limit: String(from === 0 ? firstItems : pageItems),
      });
      next = withLater(next, answer);
      isWhole = answer.items.length === 0 || next.items.length >= answer.counts.items;
      if (!isOpen) return;
      known = next;
      // A session that is read again replaces what is shown once all of it is here.
      const isLonger =
        next.items.length > (loaded.value?.key === key ? loaded.value.session.items.length : -1);
      if (isWhole || isLonger) loaded.value = { key, session: next };
      sessionProblem.value = '';
    }
  };
  const start = async (): Promise<void> => {
    isBusy = true;
    const began = performance.now();
    await read().catch((error: unknown) => {
      if (isOpen) sessionProblem.value = readProblem(error);
    });
    const pause = Math.max(100, 3 * (performance.now() - began));
    setTimeout(() => {
      isBusy = false;
      if (pending !== null && isOpen) void start();
    }, pause);
  };
  const ask = (what: 'all' | 'more'): void => {
    if (pending !== 'all') pending = what;
    if (!isBusy) void start();
  };
  return {
    all: () => ask('all'),
    more: () => ask('more'),
    close: () => {
      isOpen = false;
    },
  };
}
