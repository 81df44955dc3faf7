/** The journals of a run that a checkpoint and a result vouch for, beside its visits. */
import { exchangesLayout, layout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import { chainOf } from './exchanges.ts';
import { scan } from './journal-read.ts';

export type Marks = Readonly<Record<'events' | 'trace' | 'calls' | 'exchanges', Mark | undefined>>;

/** Paths of those journals in the directory `run`. */
export function journalPaths(run: string): Readonly<Record<keyof Marks, string>> {
  const { events, trace, calls, exchanges } = layout(run);
  return { events, trace, calls, exchanges: exchangesLayout(exchanges).calls };
}

/** By path in the run directory, those that have records. */
export function marksByPath(of: Marks): Record<string, Mark> {
  const { events, trace, calls, exchanges } = journalPaths('');
  const marks: Record<string, Mark> = {};
  const add = (path: string, mark: Mark | undefined) => {
    if (mark !== undefined && mark.records > 0) marks[path] = mark;
  };
  add(events, of.events);
  add(trace, of.trace);
  add(calls, of.calls);
  add(exchanges, of.exchanges);
  return marks;
}

/** The marks of the journals as they stand on disk. */
export async function marksIn(run: string): Promise<Record<string, Mark>> {
  const at = journalPaths(run);
  const read = async (path: string) => (await scan(path)).chain.mark();
  return marksByPath({
    events: await read(at.events),
    trace: await read(at.trace),
    calls: await read(at.calls),
    exchanges: chainOf(at.exchanges).mark(),
  });
}
