/** What the events of a run say of its executions. */
import { layout } from '../../core/records/layout.ts';
import { cursorNearEnd, type JournalPosition } from '../../run/journal-read.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { executionName, type UnfinishedExecution, unfinishedIn } from './executions.ts';

/** What the events say of one execution. `paused`: milliseconds from interruptions to the resumes that execute it again; `before`: those
 *  of the run before it began. */
export type ExecutionEvents = {
  began: string;
  paused: number;
  readonly before: number;
  readonly waits: { at: string; ms: number }[];
  readonly type: string;
};

export type EventHistory = {
  readonly of: ReadonlyMap<string, ExecutionEvents>;
  /** The execution that began last. */
  readonly latest: UnfinishedExecution | undefined;
  /** `seq` of the last event; 0 without any. */
  readonly seq: number;
};

/** Reads the events of a run once, from its beginning or from a cursor. */
export async function readEvents(reader: RunReader, from?: JournalPosition): Promise<EventHistory> {
  const of = new Map<string, ExecutionEvents>();
  const visits = new Map<string, number>();
  let latest: EventHistory['latest'];
  let seq = 0;
  let last: { epoch: unknown; time: number } | undefined;
  let paused = 0;
  for await (const entry of reader.view('events', from)) {
    if (entry.kind !== 'record') continue;
    const { type, node_id, visit, branch, at, node_type, delay_ms, epoch, seq: number } = entry.record;
    if (typeof number === 'number') seq = number;
    const time = Date.parse(String(at));
    if (last !== undefined && last.epoch !== epoch) paused += Math.max(0, time - last.time);
    last = { epoch, time };
    if (type === 'StageStarted' && typeof node_id === 'string' && typeof visit === 'number') {
      latest = { node: node_id, visit, ...(typeof branch === 'string' ? { branch } : {}) };
      const key = executionName(latest);
      visits.set(node_id, visit);
      const seen = of.get(key);
      if (seen === undefined)
        of.set(key, { began: String(at), paused: 0, before: paused, waits: [], type: String(node_type) });
      else seen.paused = paused - seen.before;
    } else if (type === 'StageRetrying' && typeof node_id === 'string') {
      const seen = of.get(executionName({ node: node_id, visit: visits.get(node_id) ?? 0 }));
      seen?.waits.push({ at: String(at), ms: typeof delay_ms === 'number' ? delay_ms : 0 });
    }
  }
  return { of, latest, seq };
}

/** Bytes of the end of long events that are read first. */
const endBytes = 256 * 1024;

/** The events as far as they say how the unfinished executions stand: all of them only where the end does not tell. */
export async function readLatestEvents(
  reader: RunReader,
  history: RunHistory,
  bytes = endBytes,
): Promise<EventHistory> {
  const cursor = cursorNearEnd(layout(reader.dir).events, bytes);
  const end = await readEvents(reader, cursor);
  return cursor === undefined || tellsUnfinished(end, history) ? end : readEvents(reader);
}

/** Whether each unfinished execution began there, and only there. */
function tellsUnfinished(events: EventHistory, history: RunHistory): boolean {
  const begins = ({ node, visit }: UnfinishedExecution): number =>
    history.lines.filter((line) => line.type === 'Began' && line.node === node && line.visit === visit)
      .length;
  return (
    events.latest !== undefined &&
    unfinishedIn({ history, events }).every((one) => events.of.has(executionName(one)) && begins(one) <= 1)
  );
}
