/** What the nodes of a running run wait for: the next try of a model call or of the whole node, or a time. */
import { isObject, jsonIn } from '../../core/json.ts';
import { isPaused, type SuspendedRun } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { readSome } from '../../platform/files/read.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunSummary } from '../../run/summary.ts';
import type { RunRow } from './run-row.ts';
import { isAhead, type Wait, waitInEvent, waitOfSuspension } from './wait.ts';
import { textsWithheld } from './withheld.ts';

/** Bytes of the end of `events.jsonl` that are searched. */
const searched = 256 * 1024;

/** By node, the waits that are not over at `now`: a later event of the node ends its wait. Its last events are searched. */
export async function waitsNow(events: string, now: Date): Promise<ReadonlyMap<string, Wait>> {
  const waits = new Map<string, Wait>();
  const text = (await readSome(events, searched, 'tail')) ?? '';
  if (!/"type":"(?:CallRetrying|StageRetrying|StageWaiting)"/.test(text)) return waits;
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const event = jsonIn(line);
    if (!isObject(event)) continue;
    const { type, node_id: node } = event;
    // The run has stopped, or begins again.
    if (typeof type === 'string' && type.startsWith('Pipeline')) waits.clear();
    if (typeof node !== 'string') continue;
    const wait = waitInEvent(event);
    if (wait === undefined) waits.delete(node);
    else waits.set(node, wait);
  }
  for (const [node, { until }] of waits) if (!isAhead(until, now)) waits.delete(node);
  return waits;
}

type Standing = Pick<RunSummary, 'status' | 'reason' | 'wakeAt'> &
  Pick<RunRow, 'question'> & {
    /** Of a run whose branches have not met: the nodes that run. */
    readonly nodes: readonly string[];
    /** Of its checkpoint. */
    readonly at: string;
    readonly parked?: SuspendedRun | undefined;
  };

/** What a run waits for as a whole, and when its row says something else although no file has changed. */
export async function rowWait(
  run: Standing,
  reader: RunReader,
  now: Date,
): Promise<Pick<RunRow, 'waiting'> & { readonly ends: { readonly until?: number } }> {
  if (run.status !== 'running') return { waiting: suspensionWait(run), ends: {} };
  const waits = await openWaits(reader, now);
  const ends = [...waits.values()].flatMap(({ until }) => (until === null ? [] : [Date.parse(until)]));
  return {
    waiting: jointWait(run.nodes, waits),
    ends: ends.length === 0 ? {} : { until: Math.min(...ends) },
  };
}

/** The waits within a running run, by node. */
async function openWaits(reader: RunReader, now: Date): Promise<ReadonlyMap<string, Wait>> {
  const waits = await waitsNow(layout(reader.dir).events, now);
  if (waits.size === 0) return waits;
  const withheld = await textsWithheld(reader);
  return new Map([...waits].map(([node, wait]) => [node, withheld(node) ? { ...wait, cause: '' } : wait]));
}

/** A run waits while each of its open executions does: until the first of them can continue. `nodes`: theirs, in branches. */
export function jointWait(nodes: readonly string[], waits: ReadonlyMap<string, Wait>): Wait | null {
  const all = nodes.length === 0 ? [[...waits.values()].at(-1)] : nodes.map((node) => waits.get(node));
  const found = all.flat().filter((wait) => wait !== undefined);
  if (found.length < nodes.length) return null;
  return found.toSorted((a, b) => Date.parse(a.until ?? '') - Date.parse(b.until ?? ''))[0] ?? null;
}

function suspensionWait({ status, reason, wakeAt, at, parked, question }: Standing): Wait | null {
  if (!isPaused(status)) return null;
  const wait = waitOfSuspension(status, parked ?? { reason, wake_at: wakeAt, since: at });
  if (status !== 'paused_answer' || question === null) return wait;
  return { ...wait, cause: question.text, since: question.asked_at, until: question.deadline };
}
