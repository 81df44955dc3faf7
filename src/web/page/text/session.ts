/** A session as the page holds it: parts of it come again while it grows. Pure. */
import type { Session, ShownItem } from '../../../app/inspect/session-shape.ts';

/** What is known of a session, with the later answer over the earlier one. */
export function withLater(known: Session | null, later: Session): Session {
  if (known === null) return later;
  const { source, agent } = known;
  // An answer from another record, or of another try, is another session.
  if (source !== later.source || agent !== later.agent) return later;
  const from = later.items[0]?.number ?? later.counts.items;
  const firstTurn = later.turns[0]?.number ?? Number.POSITIVE_INFINITY;
  return {
    ...later,
    items: [...known.items.slice(0, Math.min(from, later.counts.items)), ...later.items],
    turns: [...known.turns.filter(({ number }) => number < firstTurn), ...later.turns],
  };
}

/** The number from which items may be new or may have changed. */
export function nextFrom({ items }: Pick<Session, 'items'>): number {
  const open = items.findIndex(({ call }) => call?.state === 'running');
  return open === -1 ? items.length : open;
}

/** Items in blocks of one length, so that a growing session draws its last one only. */
export function blocksOf<T>(items: readonly T[], length: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / length) }, (_, at) =>
    items.slice(at * length, (at + 1) * length),
  );
}

/** What a model says now: of its streamed text what is no item yet; empty if that is unknown. */
export function unsaid(
  live: string | undefined,
  items: readonly ShownItem[],
  kind: ShownItem['kind'],
): string {
  if (live === undefined) return '';
  const last = items.findLast((item) => item.kind === kind && !item.cut)?.text ?? '';
  const at = last === '' ? 0 : live.lastIndexOf(last);
  return (at === -1 ? '' : live.slice(at + last.length)).trim();
}

/** `#S12` → 12. */
export function itemOfHash(hash: string): number | undefined {
  const found = /^#S(\d+)$/.exec(hash);
  return found === null ? undefined : Number(found[1]);
}
