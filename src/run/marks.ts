/** The journals besides `journal.jsonl`, whose lengths and hashes its lines and the result have. */
import type { JournalMark, Mark } from '../core/records/checkpoint.ts';
import { exchangesLayout, layout } from '../core/records/layout.ts';
import { markOf } from './exchanges.ts';
import { scan } from './journal-read.ts';

/** By path in the run directory, those that have records. */
export function marksByPath<M extends Mark>(
  of: Readonly<Record<'events' | 'trace' | 'exchanges', M | undefined>>,
): Record<string, M> {
  const { events, trace, exchanges } = layout('');
  const paths = { events, trace, exchanges: exchangesLayout(exchanges).calls };
  const marks: Record<string, M> = {};
  for (const name of ['events', 'trace', 'exchanges'] as const) {
    const mark = of[name];
    if (mark !== undefined && mark.records > 0) marks[paths[name]] = mark;
  }
  return marks;
}

/** The marks of the journals as they stand on disk. */
export function marksIn(run: string): Record<string, JournalMark> {
  const { events, trace, exchanges } = layout(run);
  const read = (path: string): JournalMark => {
    const { chain, bytes } = scan(path);
    return { ...chain.mark(), bytes };
  };
  return marksByPath({
    events: read(events),
    trace: read(trace),
    exchanges: markOf(exchangesLayout(exchanges).calls),
  });
}
