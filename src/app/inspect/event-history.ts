/** What the events of a run say of its executions. */
import type { JsonObject } from '../../core/json.ts';
import { isPaused } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { cursorNearEnd, type JournalPosition } from '../../run/journal-read.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { ExecutionRow } from './execution-shapes.ts';
import { executionName, type UnfinishedExecution, unfinishedIn } from './executions.ts';
import { type Wait, waitInEvent, waitOfSuspension } from './wait.ts';

/** What the events say of one execution. `paused`: milliseconds from interruptions to the resumes that execute it again; `before`: those
 *  of the run before it began. */
export type ExecutionEvents = {
  began: string;
  paused: number;
  readonly before: number;
  readonly waits: { at: string; ms: number }[];
  readonly pauses: ExecutionRow['pauses'];
  /** The wait that its last event begins. */
  waiting: Wait | undefined;
  /** Its last event suspends the run or the branch. */
  suspended: boolean;
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
  const read = new EventsRead();
  for await (const entry of reader.view('events', from)) if (entry.kind === 'record') read.add(entry.record);
  return read;
}

class EventsRead implements EventHistory {
  readonly of = new Map<string, ExecutionEvents>();
  latest: EventHistory['latest'];
  seq = 0;
  private readonly visits = new Map<string, number>();
  private last: { readonly epoch: unknown; readonly time: number } | undefined;
  private paused = 0;

  add(record: JsonObject): void {
    const { type, node_id, visit, branch, at, node_type, epoch, seq } = record;
    if (typeof seq === 'number') this.seq = seq;
    const time = Date.parse(String(at));
    if (this.last !== undefined && this.last.epoch !== epoch) this.stoppedFrom(this.last.time, time);
    this.last = { epoch, time };
    if (typeof node_id !== 'string') return;
    const began = type === 'StageStarted' && typeof visit === 'number';
    if (began) {
      this.latest = { node: node_id, visit, ...(typeof branch === 'string' ? { branch } : {}) };
      this.visits.set(node_id, visit);
    }
    const key = executionName({ node: node_id, visit: this.visits.get(node_id) ?? 0 });
    const seen = this.of.get(key);
    if (seen !== undefined) noteEvent(seen, record, time);
    else if (began) {
      const none = { paused: 0, before: this.paused, waits: [], pauses: [] };
      this.of.set(key, {
        began: String(at),
        type: String(node_type),
        ...none,
        waiting: undefined,
        suspended: false,
      });
    }
    if (began && seen !== undefined) seen.paused = this.paused - seen.before;
  }

  /** No event came in between: the process had ended, and with it the waits within the run. */
  private stoppedFrom(from: number, to: number): void {
    this.paused += Math.max(0, to - from);
    for (const { waits, pauses, waiting, suspended } of this.of.values()) {
      if (waiting === undefined || suspended) continue;
      for (const one of [waits.at(-1), pauses.at(-1)])
        if (one?.at === waiting.since) one.ms = Math.max(0, Math.min(one.ms, from - Date.parse(one.at)));
    }
  }
}

/** One more event of an execution. */
function noteEvent(seen: ExecutionEvents, record: JsonObject, time: number): void {
  const open = seen.pauses.at(-1);
  if (seen.suspended && open !== undefined) open.ms = Math.max(0, time - Date.parse(open.at));
  const suspension = suspensionInEvent(record);
  const wait = suspension ?? waitInEvent(record);
  seen.waiting = wait;
  seen.suspended = suspension !== undefined;
  if (wait === undefined) return;
  const ms = wait.until === null ? 0 : Math.max(0, Date.parse(wait.until) - Date.parse(wait.since));
  if (record['type'] === 'StageRetrying') seen.waits.push({ at: wait.since, ms });
  else
    seen.pauses.push({
      at: wait.since,
      ms: seen.suspended ? 0 : ms,
      for: wait.for,
      suspended: seen.suspended,
    });
}

function suspensionInEvent({ type, status, reason, wake_at, at }: JsonObject): Wait | undefined {
  if (type !== 'PipelineParked' && type !== 'BranchParked') return undefined;
  if (typeof status !== 'string' || !isPaused(status)) return undefined;
  const until = typeof wake_at === 'string' ? wake_at : null;
  return waitOfSuspension(status, { reason: String(reason), wake_at: until, since: String(at) });
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
