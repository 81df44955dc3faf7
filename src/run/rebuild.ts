/** Brings what is derived from a run's journal to where the journal stands, after a crash or a power cut: `checkpoint.json`,
 *  `status.json` of the nodes, `events.jsonl` and `trace.jsonl`. A resume needs none of it. */
import { join, relative } from 'node:path';
import type { EventFacts } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import type { TraceFacts } from '../core/records/trace.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { readPlain } from '../platform/files/read.ts';
import { writeFileAtomic, writeJson } from '../platform/files/write.ts';
import { checkpointText, completedNodes } from './checkpoint.ts';
import { inFull, statusOf, type Told, toldOfEnd, toldOfStop, toldOfVisit } from './derived-records.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { scan, scanFrom } from './journal-read.ts';
import type { RunHistory } from './run-journal.ts';
import { statesOf } from './visits.ts';

/** What the trace says of a node besides what the journal knows. */
export type NodeInput = Pick<
  Extract<TraceFacts, { type: 'NodeInputCaptured' }>,
  'node_type' | 'node_shape' | 'node_attrs' | 'workspace'
>;

/** The events and the trace of a run, open for writing. */
export type Derived = {
  readonly events: Journal;
  readonly trace: Journal;
  /** A line for each file that was rewritten. */
  readonly rewritten: readonly string[];
};

/** How many of the latest executions may have lost their `status.json`. */
const mostStatuses = 200;

/** Only for the owner of the run. */
export async function rebuildDerived(
  runDir: string,
  history: RunHistory,
  options: JournalOptions,
  input: (node: string) => NodeInput,
): Promise<Derived> {
  const at = layout(runDir);
  const rewritten: string[] = [];
  const note = (path: string) => rewritten.push(`${relative(runDir, path)} rewritten from the journal`);
  for (const path of await rewriteStatuses(runDir, history.records)) note(path);
  if (await rewriteCheckpoint(at.checkpoint, history)) note(at.checkpoint);
  const about = { runDir, history, input };
  const events = await complete(at.events, options, about, (told) => told.events);
  const trace = await complete(at.trace, options, about, (told) => told.trace);
  for (const [path, { count }] of [
    [at.events, events],
    [at.trace, trace],
  ] as const)
    if (count > 0)
      rewritten.push(
        `${relative(runDir, path)}: ${count === 1 ? '1 line' : `${count} lines`} written from the journal`,
      );
  return { events: events.journal, trace: trace.journal, rewritten };
}

async function rewriteCheckpoint(path: string, { checkpoint, committed }: RunHistory): Promise<boolean> {
  const { completed_nodes, ...state } = checkpoint;
  const text = checkpointText(state, completedNodes(completed_nodes).now(), committed);
  const is = readPlain(path);
  if (is.kind === 'text' && text.equals(Buffer.from(is.text))) return false;
  await writeFileAtomic(path, text, { evenFolder: true });
  return true;
}

/** The latest `status.json` of each of the latest nodes, where it is missing or torn; a changed one is not touched. */
async function rewriteStatuses(runDir: string, records: readonly RunRecord[]): Promise<string[]> {
  const latest = new Map<string, VisitRecord>();
  for (const record of records.slice(-mostStatuses))
    if (record.type === 'Visit') latest.set(record.node, record);
  const rewritten: string[] = [];
  for (const { node, visit, outcome } of latest.values()) {
    const { root, status, stage, visits } = nodeLayout(layout(runDir).node(node));
    const archive = join(visits, String(visit));
    // The next execution may have moved it.
    if (isJson(status) || isJson(nodeLayout(archive).status) || !isOf(stage, visit)) continue;
    await writeJson(nodeLayout(root).status, statusOf(outcome));
    rewritten.push(status);
  }
  return rewritten;
}

const parsed = (path: string): unknown => {
  const read = readPlain(path);
  try {
    return read.kind === 'text' ? JSON.parse(read.text) : undefined;
  } catch {
    return undefined;
  }
};

const isJson = (path: string): boolean => parsed(path) !== undefined;

/** Whether the node's folder is of that execution, as far as its `stage.json` can be read. */
function isOf(stage: string, visit: number): boolean {
  const is = parsed(stage);
  return typeof is !== 'object' || is === null || !('visit' in is) || is.visit === visit;
}

/** What was written after some line of the journal, in order. */
type Tellings = Iterable<{ readonly told: Told; readonly at: string }>;

/** What the execution at `from` left when it was committed, and all that came after it; with `begins` also its start. */
function* tellingsFrom(
  from: number,
  begins: boolean,
  { runDir, history, input }: { runDir: string; history: RunHistory; input: (node: string) => NodeInput },
): Tellings {
  const { records, last } = history;
  const stateAfter = statesOf(records);
  for (const [offset, record] of records.slice(from).entries()) {
    if (record.type !== 'Visit') continue;
    const { context, elapsed_ms, steps } = stateAfter(from + offset);
    const before = { context: { ...context }, elapsed_ms };
    const dir = layout(runDir).node(record.node);
    const { at } = record;
    if (begins || offset > 0) yield { told: toldOfStart(record, before.context, steps, dir, input), at };
    yield { told: toldOfVisit(record, before, dir), at };
    if (record.ended !== undefined) yield { told: toldOfEnd(record.ended), at };
  }
  if (last.type === 'Stopped')
    yield { told: toldOfStop(last, history.checkpoint.next_node ?? ''), at: last.at };
}

function toldOfStart(
  { node, node_type, visit }: VisitRecord,
  context: JsonObject,
  steps: number,
  dir: string,
  input: (node: string) => NodeInput,
): Told {
  const before = inFull(context, steps) ? { context_before: context } : {};
  return {
    events: [{ type: 'StageStarted', node_id: node, visit, node_type }],
    trace: [
      { type: 'NodeInputCaptured', node_id: node, visit, ...input(node), ...before, node_artifact_dir: dir },
    ],
  };
}

/** Opens a journal and adds what it lacks at its end. */
async function complete(
  path: string,
  options: JournalOptions,
  about: {
    readonly runDir: string;
    readonly history: RunHistory;
    readonly input: (node: string) => NodeInput;
  },
  part: (told: Told) => readonly (EventFacts | TraceFacts)[],
): Promise<{ readonly journal: Journal; readonly count: number }> {
  const { end, from, begins } = standing(path, relative(about.runDir, path), about.history);
  const journal = await openJournal(path, options, end);
  const missing = missingIn(end.tail, tellingsFrom(from, begins, about), part);
  for (const { at, fact } of missing) {
    const { type, ...rest } = fact;
    journal.append({ schema_version: 1, type, at, ...rest });
  }
  return { journal, count: missing.length };
}

/** Where a journal ends, and the execution from which on it may lack records: the last one, or after a power cut the last one
 *  whose mark is within the file. */
function standing(path: string, name: string, { last, records, marks }: RunHistory) {
  const none = { from: records.length, begins: false };
  const mark = marks[name];
  const end = mark === undefined ? undefined : scanFrom(path, mark);
  if (end !== undefined)
    return { end, ...(last.type === 'Visit' ? { from: records.length - 1, begins: false } : none) };
  const whole = scan(path);
  if (mark === undefined) return { end: whole, ...none };
  const { records: count } = whole.chain.mark();
  const known = records.findLastIndex(
    (record) => record.type === 'Visit' && (record.marks?.[name]?.records ?? Infinity) <= count,
  );
  // A fork's own files say nothing of the executions that it copied.
  const first = records.findIndex((record) => record.type === 'Visit' && record.marks !== undefined);
  const its = records[known];
  const then = its?.type === 'Visit' ? its.marks?.[name] : undefined;
  if (its === undefined || then === undefined)
    return { end: whole, from: first === -1 ? records.length : first, begins: true };
  return { end: scanFrom(path, { ...then, epoch: its.epoch }) ?? whole, from: known, begins: false };
}

/** The records that a file lacks, whose lines are the beginning of what was written. */
function missingIn(
  tail: readonly JsonObject[],
  tellings: Tellings,
  part: (told: Told) => readonly (EventFacts | TraceFacts)[],
): { readonly at: string; readonly fact: EventFacts | TraceFacts }[] {
  const missing: { at: string; fact: EventFacts | TraceFacts }[] = [];
  let from = 0;
  for (const { told, at } of tellings)
    for (const fact of part(told)) {
      const found =
        missing.length > 0 ? -1 : tail.findIndex((record, n) => n >= from && isOfSame(record, fact));
      if (found === -1) missing.push({ at, fact });
      else from = found + 1;
    }
  return missing;
}

/** Of the same type, and about the same execution. */
function isOfSame(record: JsonObject, fact: EventFacts | TraceFacts): boolean {
  const told = fact as Readonly<Record<string, unknown>>;
  return ['type', 'node_id', 'visit', 'from_node', 'last_completed_node'].every(
    (key) => record[key] === told[key],
  );
}
