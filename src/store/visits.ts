/** `visits.jsonl`: the changes of every finished execution. Its lines give the state of the run after any execution, so that
 *  the checkpoint does not repeat what grows with the run. */
import { statSync, truncateSync } from 'node:fs';
import { type Checkpoint, nodeOutcome } from '../model/checkpoint.ts';
import { own, put } from '../model/own.ts';
import { RunRecord, type VisitRecord } from '../model/visit-record.ts';
import { beforeWrite } from '../system/fence.ts';
import { linkOf } from './chain.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { readJournal } from './journal-read.ts';
import { inALine, otherVersion, type Unreadable, unreadable } from './problem.ts';

/** A record before the journal adds run id, number and epoch. */
export type VisitFacts = RunRecord extends infer R
  ? R extends RunRecord
    ? Omit<R, 'run_id' | 'seq' | 'epoch'>
    : never
  : never;

export type ReadVisits =
  | {
      readonly ok: true;
      /** The Start record and the executions after it, numbered 1, 2, 3 … without gaps. */
      readonly records: readonly RunRecord[];
      /** Bytes of the file up to the end of the last one. */
      readonly end: number;
      /** The hash of those lines. */
      readonly sha256: string;
    }
  | Unreadable;

/** The records of the journal at `path` up to the one numbered `upTo` (default: all), or why the file is invalid. Damage
 *  after that record is ignored: those executions have no checkpoint. Rejects only if the file exists and may not be read. */
export async function readVisits(path: string, upTo = Number.POSITIVE_INFINITY): Promise<ReadVisits> {
  const damaged = (what: string): Unreadable =>
    unreadable(`${path} ${what}`, 'put back a copy of the file if there is one, else start a new run');
  const records: RunRecord[] = [];
  const ends: { readonly offset: number; readonly sha256: string }[] = [];
  let trouble: Unreadable | undefined;
  for await (const entry of readJournal(path)) {
    if (trouble !== undefined) break;
    const { line, offset } = entry.cursor;
    if (entry.kind === 'unreadable') {
      trouble = damaged(`is damaged: line ${line} ${entry.why}`);
      continue;
    }
    const read = RunRecord.safeParse(entry.record);
    const other = read.success ? undefined : otherVersion(entry.record);
    if (other !== undefined) {
      trouble = unreadable(`${path} ${other.what}: line ${line}`, other.fix);
      continue;
    }
    if (!read.success) {
      trouble = damaged(`has a line ${line} that is no record of this version (${inALine(read.error)})`);
      continue;
    }
    const record = read.data;
    // An owner that lost the run may have written one more line: the next owner's replaces it.
    for (let last = records.at(-1); last !== undefined && supersedes(record, last); last = records.at(-1)) {
      records.pop();
      ends.pop();
    }
    if (record.seq !== records.length + 1)
      trouble = damaged(`is damaged: line ${line} is number ${record.seq}, not ${records.length + 1}`);
    else if ((record.type === 'Start') !== (record.seq === 1))
      trouble = damaged(`is damaged: line ${line} is a ${record.type} record where none belongs`);
    if (trouble === undefined) {
      records.push(record);
      ends.push({ offset, sha256: linkOf(ends.at(-1)?.sha256 ?? '', entry.bytes) });
    }
  }
  // Damage after the records that count is ignored.
  if (trouble !== undefined && records.length < upTo) return trouble;
  if (records.length === 0) return damaged('is missing or empty');
  if (records.length < upTo && upTo !== Number.POSITIVE_INFINITY)
    return damaged(`has only ${records.length} of the ${upTo} records that the checkpoint counts`);
  const count = Math.min(records.length, upTo);
  const { offset: end = 0, sha256 = '' } = ends[count - 1] ?? {};
  return { ok: true, records: records.slice(0, count), end, sha256 };
}

const supersedes = (later: RunRecord, earlier: RunRecord): boolean =>
  later.epoch > earlier.epoch && later.seq <= earlier.seq;

/** Opens the journal after the record that ends at byte `end` (0: a new journal); later lines are removed. */
export async function openVisits(path: string, end: number, options: JournalOptions): Promise<Journal> {
  // The size is read before the owner is checked: lines of the next owner must not be removed.
  if (end > 0 && statSync(path).size > end) {
    beforeWrite(path);
    truncateSync(path, end);
  }
  return openJournal(path, options);
}

/** The state of a run after the record numbered `upTo` (default: the last one), as in its checkpoint: running, about to enter
 *  `next_node`. Pure. Throws if the first record is not a Start. */
export function stateAfter(records: Iterable<RunRecord>, upTo = Number.POSITIVE_INFINITY): Checkpoint {
  let state: Checkpoint | undefined;
  for (const record of records) {
    if (record.seq > upTo) break;
    if (record.type === 'Start') {
      if (state !== undefined) throw new Error('Internal: visits that begin twice');
      state = {
        schema_version: 1,
        run_id: record.run_id,
        epoch: record.epoch,
        last_completed_node: '',
        completed_nodes: [],
        retry_counts: {},
        context: { ...record.context },
        origins: { ...record.origins },
        next_node: record.next_node,
        arrived: null,
        steps: 0,
        visits: {},
        calls: {},
        outcomes: {},
        last_outcome: null,
        last_failure: null,
        snapshot: record.snapshot,
        elapsed_ms: 0,
        status: 'running',
        ended: null,
        at: record.at,
      };
    } else {
      if (state === undefined) throw new Error('Internal: visits without a beginning');
      addVisit(state, record);
    }
  }
  if (state === undefined) throw new Error('Internal: visits without a beginning');
  state.completed_nodes = Object.keys(state.visits).sort();
  return state;
}

/** For many calls: answers the state after the record numbered `upTo`, and reads only the records since the previous call as
 *  long as the number grows. The state changes with the next call; its `completed_nodes` are not updated. */
export function statesOf(records: readonly RunRecord[]): (upTo: number) => Checkpoint {
  let at = 0;
  let state: Checkpoint | undefined;
  return (upTo) => {
    if (state === undefined || upTo < at) [state, at] = [stateAfter(records, 1), 1];
    for (; at < upTo; at++) {
      const record = records[at];
      if (record?.type === 'Visit') addVisit(state, record);
    }
    return state;
  };
}

/** Changes `state` to the one after one more execution. */
function addVisit(state: Checkpoint, record: VisitRecord): void {
  const { node } = record;
  put(state.visits, node, record.visit);
  put(state.outcomes, node, nodeOutcome(record.outcome));
  if (record.calls > 0) put(state.calls, node, record.calls);
  const took = record.took_ms ?? 0;
  if (took > 0) {
    const times = state.node_ms ?? {};
    put(times, node, (own(times, node) ?? 0) + took);
    state.node_ms = times;
  }
  if (record.node_type === 'codergen') state.agent_step = record.steps;
  if (record.alike !== undefined) {
    const alike = state.alike ?? {};
    if (record.alike === null) delete alike[node];
    else put(alike, node, record.alike);
    state.alike = alike;
  }
  if (record.retries > 0) put(state.retry_counts, node, record.retries);
  for (const [key, value] of Object.entries(record.context.set)) put(state.context, key, value);
  for (const key of record.context.unset) delete state.context[key];
  for (const [key, who] of Object.entries(record.origins.set)) put(state.origins, key, who);
  if (record.tool_state !== undefined) state.tool_state = record.tool_state;
  if (record.last_failure !== undefined) state.last_failure = record.last_failure;
  state.epoch = record.epoch;
  state.last_completed_node = node;
  state.last_outcome = record.outcome;
  state.next_node = record.next_node;
  state.arrived = record.arrived;
  state.steps = record.steps;
  state.snapshot = record.after;
  state.elapsed_ms = record.elapsed_ms;
  state.at = record.at;
}
