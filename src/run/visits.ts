/** The state of a run from its executions. */
import { isAgentType, isExecutableType } from '../core/graph.ts';
import { own, put } from '../core/json.ts';
import { openFailuresAfter } from '../core/overridden.ts';
import { type Checkpoint, nodeOutcome, type RunState } from '../core/records/checkpoint.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { inNewRound } from '../core/rounds.ts';

/** The state of a run after its executions: running, about to enter `next_node`. Pure. Throws if the first record is not a
 *  Start. */
export function stateAfter(records: Iterable<RunRecord>): Checkpoint {
  let state: Checkpoint | undefined;
  for (const record of records) {
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

/** For many calls: answers the state after the first `count` records, and reads only the records since the previous call as
 *  long as the number grows. The state changes with the next call; its `completed_nodes` are not updated. */
export function statesOf(records: readonly RunRecord[]): (count: number) => Checkpoint {
  let at = 0;
  let state: Checkpoint | undefined;
  return (count) => {
    if (state === undefined || count < at) [state, at] = [stateAfter(records.slice(0, 1)), 1];
    for (; at < count; at++) {
      const record = records[at];
      if (record?.type === 'Visit') addVisit(state, record);
    }
    return state;
  };
}

/** Changes `state` to the one after one more execution. */
export function addVisit(
  state: { -readonly [K in keyof RunState]: RunState[K] },
  record: Omit<VisitRecord, 'schema_version' | 'run_id' | 'seq' | 'prev'>,
): void {
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
  if (isAgentType(record.node_type)) state.agent_step = record.steps;
  if (isExecutableType(record.node_type)) state.last_executable = node;
  const failures = openFailuresAfter(state.open_failures ?? [], record);
  if (failures.length > 0) state.open_failures = [...failures];
  else delete state.open_failures;
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
  if (record.thread !== undefined) {
    const { key, ...thread } = record.thread;
    const threads = state.threads ?? {};
    put(threads, key, { ...thread, node, step: record.steps });
    state.threads = threads;
  }
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
  if (record.restart === undefined) return;
  delete state.alike;
  delete state.open_failures;
  delete state.threads;
  Object.assign(state, inNewRound(state, record.restart));
}
