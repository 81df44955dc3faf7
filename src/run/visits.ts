/** The state of a run from its executions. */
import { closeFork, cursorToChange, endBranch, openedFork, viewOf } from '../core/fork.ts';
import { isAgentType, isExecutableType } from '../core/graph.ts';
import { own, put } from '../core/json.ts';
import { openFailuresAfter } from '../core/overridden.ts';
import { type Checkpoint, nodeOutcome, type RunState } from '../core/records/checkpoint.ts';
import type { Cursor, Fork, ownOfBranch } from '../core/records/fork.ts';
import type { BranchStopped, RunRecord, VisitRecord } from '../core/records/visit.ts';
import { inNewRound } from '../core/rounds.ts';
import { setupAfter } from '../core/setup.ts';

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
      addRecord(state, record);
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
      if (record !== undefined && record.type !== 'Start') addRecord(state, record);
    }
    return state;
  };
}

type Changing = { -readonly [K in keyof RunState]: RunState[K] };
type Facts<L> = Omit<L, 'schema_version' | 'run_id' | 'seq' | 'prev'>;

/** Changes `state` to the one after one more line. */
export const addRecord = (state: Changing, record: Facts<VisitRecord> | Facts<BranchStopped>): void =>
  record.type === 'Visit' ? addVisit(state, record) : stopBranch(state, record);

/** Changes `state` to the one after one more execution, of the run itself or of a branch. */
function addVisit(state: Changing, record: Facts<VisitRecord>): void {
  const { node, branch } = record;
  addCounts(state, record);
  state.epoch = record.epoch;
  state.steps = record.steps;
  state.elapsed_ms = record.elapsed_ms;
  state.at = record.at;
  // Of a suspended run, that of a branch.
  delete state.parked;
  const at = branch === undefined ? state : cursorToChange(state, branch, node);
  // Where a call has ended, the run is at the node that called.
  const by = at.fork?.call === true ? record.joined : undefined;
  if (by !== undefined) put(state.outcomes, by, nodeOutcome(record.outcome));
  if (record.joined !== undefined) closeFork(at);
  move(at, by === undefined ? record : { ...record, node: by });
  if (record.fork !== undefined)
    at.fork = openedFork(at, record.fork, { node, step: record.steps, after: record.after });
  if (at.fork?.call === true && record.fork !== undefined) at.fork = openedAnew(state, at.fork);
  if (record.restart !== undefined) beginRound(state, record.restart, branch);
  if (branch !== undefined && record.branch_ended !== undefined)
    endBranch(state, branch, record.branch_ended, record.next_node);
}

/** The call, in which nothing of an earlier call by the same node counts: its pipeline begins anew. */
export function openedAnew(state: Changing, fork: Fork): Fork {
  const isIn = (id: string): boolean => id.startsWith(`${fork.node}.`);
  const outside = <T>(of: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(of).filter(([id]) => !isIn(id)));
  state.outcomes = outside(state.outcomes);
  if (state.alike !== undefined) state.alike = outside(state.alike);
  const visits_before = Object.fromEntries(Object.entries(state.visits).filter(([id]) => isIn(id)));
  const anew = (cursor: Cursor): Cursor => ({ ...cursor, round_step: fork.step, visits_before });
  return {
    ...fork,
    branches: Object.fromEntries(Object.entries(fork.branches).map(([id, one]) => [id, anew(one)])),
  };
}

/** What the run has by node, whatever branch it is in. */
function addCounts(state: Changing, record: Facts<VisitRecord>): void {
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
  if (record.alike !== undefined) {
    const alike = state.alike ?? {};
    if (record.alike === null) delete alike[node];
    else put(alike, node, record.alike);
    state.alike = alike;
  }
  if (record.retries > 0) put(state.retry_counts, node, record.retries);
}

/** What each branch has for itself, and the run outside of branches. */
function move(at: Pick<Changing, (typeof ownOfBranch)[number]>, record: Facts<VisitRecord>): void {
  const { node } = record;
  if (isExecutableType(record.node_type)) at.last_executable = node;
  if (isAgentType(record.node_type)) at.agent_step = record.steps;
  const failures = openFailuresAfter(at.open_failures ?? [], record);
  if (failures.length > 0) at.open_failures = [...failures];
  else delete at.open_failures;
  for (const [key, value] of Object.entries(record.context.set)) put(at.context, key, value);
  for (const key of record.context.unset) delete at.context[key];
  for (const [key, who] of Object.entries(record.origins.set)) put(at.origins, key, who);
  const { setup, before: ready } = record;
  if (setup !== undefined) Object.assign(at, setupAfter(at, setup, ready));
  if (record.tool_state !== undefined) at.tool_state = record.tool_state;
  if (record.thread !== undefined) {
    const { key, ...thread } = record.thread;
    const threads = at.threads ?? {};
    put(threads, key, { ...thread, node, step: record.steps });
    at.threads = threads;
  }
  if (record.last_failure !== undefined) at.last_failure = record.last_failure;
  at.last_completed_node = node;
  at.last_outcome = record.outcome;
  at.next_node = record.next_node;
  at.arrived = record.arrived;
  at.snapshot = record.after;
  for (const key of ['parked', 'question', 'cut_ms'] as const) delete at[key];
}

function beginRound(state: Changing, restart: number, branch: string | undefined): void {
  if (branch !== undefined) {
    beginRoundIn(state, restart, branch);
    return;
  }
  delete state.alike;
  delete state.open_failures;
  delete state.threads;
  Object.assign(state, inNewRound(state, restart));
}

/** Only what the branch has done begins anew. */
function beginRoundIn(state: Changing, restart: number, branch: string): void {
  const at = cursorToChange(state, branch);
  const { alike = {}, outcomes } = state;
  state.outcomes = { ...outcomes };
  state.alike = { ...alike };
  for (const node of at.nodes) {
    delete state.outcomes[node];
    delete state.alike[node];
  }
  delete at.open_failures;
  delete at.threads;
  const { restarts, round_step, visits_before, origins } = inNewRound(viewOf(state, branch), restart);
  Object.assign(at, { restarts, round_step, visits_before, origins });
}

/** Changes `state` to the one after a branch that stopped without a finished execution. */
function stopBranch(state: Changing, line: Facts<BranchStopped>): void {
  const { branch, status, reason, parked, question, cut_ms } = line;
  state.epoch = line.epoch;
  state.at = line.at;
  if (status === 'failed' || status === 'cancelled') {
    const cursor = cursorToChange(state, branch);
    // Its goal gates do not count any more.
    if (status === 'cancelled') for (const node of cursor.nodes) delete state.outcomes[node];
    endBranch(state, branch, { ok: false, status, reason, class: line.class ?? null });
    return;
  }
  const cursor = cursorToChange(state, branch);
  if (parked !== undefined) cursor.parked = parked;
  if (question !== undefined) cursor.question = question;
  if (cut_ms !== undefined) cursor.cut_ms = cut_ms;
}
