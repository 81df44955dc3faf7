/** The branches of a run: what each did, and how it stands. Pure. */
import { itemScope, withItem } from '../../core/for-each.ts';
import { type Graph, nodeOf, withoutItems } from '../../core/graph.ts';
import { type Json, own } from '../../core/json.ts';
import { isPaused, type SuspendedRun } from '../../core/outcome.ts';
import type { BranchEnd } from '../../core/records/fork.ts';
import type { BranchStopped, RunRecord, VisitRecord } from '../../core/records/visit.ts';
import type { BranchRow, ExecutionGroup, ExecutionRow } from './execution-shapes.ts';
import { executionName } from './executions.ts';
import type { RunRow } from './run-row.ts';
import { type Wait, waitOfSuspension } from './wait.ts';

export type BranchFacts = {
  readonly records: readonly RunRecord[];
  readonly executions: readonly Omit<ExecutionRow, 'group'>[];
  readonly graph: Graph | undefined;
  readonly status: RunRow['status'];
  /** Whether the texts of a node are withheld. */
  readonly withheld: (node: string) => boolean;
};

/** A branch that an execution has opened. */
type Branch = {
  readonly id: string;
  /** 1 for the first branch of that id, 2 for the second. */
  readonly round: number;
  readonly opened: VisitRecord;
  readonly item: Json | undefined;
  readonly executions: string[];
  end: BranchEnd | undefined;
  endedAt: string | null;
  parked: SuspendedRun | undefined;
};

/** In the order in which they were opened; those of one node in the order of its edges. */
export function branchRowsOf(facts: BranchFacts): BranchRow[] {
  const branches = branchesIn(facts.records);
  if (branches.length === 0) return [];
  const latest = new Map(branches.map((branch) => [branch.id, branch]));
  for (const one of facts.executions) {
    const branch = one.branch === null ? undefined : latest.get(one.branch);
    // The finished ones are those of the records.
    if (isOpenState(one.state)) branch?.executions.push(executionName(one));
  }
  const rows = new Map(facts.executions.map((one) => [executionName(one), one]));
  return branches.map((branch) => rowOf(branch, rows, facts));
}

const isOpenState = (state: ExecutionRow['state']): boolean =>
  state === 'running' || state === 'suspended' || state === 'interrupted';

function branchesIn(records: readonly RunRecord[]): readonly Branch[] {
  const all: Branch[] = [];
  const latest = new Map<string, Branch>();
  for (const record of records) {
    if (record.type === 'Start') continue;
    const branch = record.branch === undefined ? undefined : latest.get(record.branch);
    if (branch !== undefined) {
      if (record.type === 'Visit') add(branch, record);
      else stop(branch, record);
      // What it contains cannot outlast it.
      if (branch.end !== undefined) cancelWithin(branch, all);
    }
    if (record.type !== 'Visit') continue;
    for (const [at, { id }] of (record.fork?.branches ?? []).entries()) {
      const round = (latest.get(id)?.round ?? 0) + 1;
      const opened: Branch = {
        ...{ id, round, opened: record, item: record.fork?.items?.[at], executions: [] },
        ...{ end: undefined, endedAt: null, parked: undefined },
      };
      latest.set(id, opened);
      all.push(opened);
    }
  }
  return all;
}

function add(branch: Branch, record: VisitRecord): void {
  branch.executions.push(executionName(record));
  branch.parked = undefined;
  branch.end = record.branch_ended;
  branch.endedAt = record.branch_ended === undefined ? null : record.at;
}

function stop(branch: Branch, { status, reason, class: failureClass, at, parked }: BranchStopped): void {
  if (status !== 'failed' && status !== 'cancelled') {
    branch.parked = parked;
    return;
  }
  branch.parked = undefined;
  branch.end = { ok: false, status, reason, class: failureClass ?? null };
  branch.endedAt = at;
}

function cancelWithin(outer: Branch, all: readonly Branch[]): void {
  for (const inner of all) {
    if (inner.opened.branch !== outer.id || inner.end !== undefined) continue;
    inner.parked = undefined;
    inner.end = { ok: false, status: 'cancelled', reason: `${outer.id} has ended`, class: null };
    inner.endedAt = outer.endedAt;
    cancelWithin(inner, all);
  }
}

function rowOf(
  branch: Branch,
  rows: ReadonlyMap<string, Omit<ExecutionRow, 'group'>>,
  facts: BranchFacts,
): BranchRow {
  const { id, round, opened, executions, end, endedAt, parked } = branch;
  const own = executions.flatMap((name) => rows.get(name) ?? []);
  const last = own.at(-1);
  const reason = end?.reason ?? parked?.reason ?? '';
  const state = stateOf(branch, last, facts.status);
  const quotes = own.some(({ node }) => facts.withheld(node));
  return {
    id,
    group: round === 1 ? id : `${id}#${round}`,
    node: opened.node,
    opened_by: executionName(opened),
    join: opened.fork?.join ?? '',
    call: opened.fork?.call === true,
    within: opened.branch ?? null,
    title: titleOf(branch, facts.graph),
    state,
    waiting: end === undefined ? waitIn(branch, state, last, facts.status) : null,
    class: end?.class ?? null,
    // The last execution has the reason that may be shown.
    reason: quotes && end?.status === 'failed' ? (last?.reason ?? '') : reason,
    executions: [...executions],
    began_at: own[0]?.began_at ?? null,
    ended_at: endedAt,
    took_ms: own.reduce((sum, { took_ms }) => sum + took_ms, 0),
    cost_usd: own.some(({ cost_usd }) => cost_usd === null)
      ? null
      : own.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
  };
}

function stateOf(
  { end, parked, executions }: Branch,
  last: Pick<ExecutionRow, 'state'> | undefined,
  status: RunRow['status'],
): BranchRow['state'] {
  if (end !== undefined) return end.status;
  if (last?.state === 'running') return 'running';
  if (parked !== undefined) return parked.status === 'paused_answer' ? 'paused_answer' : 'suspended';
  if (executions.length === 0) return 'waiting';
  if (status === 'running') return 'running';
  return isPaused(status) ? 'suspended' : 'interrupted';
}

/** The wait of its last execution; one that has not begun waits for a slot. */
function waitIn(
  { opened, parked }: Branch,
  state: BranchRow['state'],
  last: Pick<ExecutionRow, 'waiting'> | undefined,
  status: RunRow['status'],
): Wait | null {
  if (parked !== undefined && state !== 'running')
    return last?.waiting ?? waitOfSuspension(parked.status, parked);
  if (state !== 'waiting' || status !== 'running') return last?.waiting ?? null;
  const cause = `the other branches of ${opened.node} have all its slots (max_parallel)`;
  return { for: 'slot', attempt: null, of: null, cause, since: opened.at, until: null };
}

/** The label of its first node, of a call that of the call; with the item of a list. */
function titleOf({ id, opened, item }: Branch, graph: Graph | undefined): string {
  const named = opened.fork?.call === true ? opened.node : withoutItems(id);
  const label = nodeOf(graph, named)?.settings.label?.replace(/\s+/g, ' ').trim() || named;
  if (item === undefined) return label;
  const placed = withItem(label, itemScope(item, Number(id.slice(id.lastIndexOf('.') + 1))));
  return placed === label ? `${label}: ${itemWords(item)}` : placed;
}

const mostOfItem = 80;

function itemWords(item: Json): string {
  const text = (typeof item === 'string' ? item : JSON.stringify(item)).replace(/[\p{C}\s]+/gu, ' ').trim();
  return text.length > mostOfItem ? `${text.slice(0, mostOfItem - 1)}…` : text;
}

const groupStates = {
  completed: 'done',
  interrupted: 'failed',
  paused_answer: 'suspended',
} as const satisfies Partial<Record<BranchRow['state'], ExecutionGroup['state']>>;

/** A branch as a group of executions. */
export function groupOfBranch(row: BranchRow, ended: boolean): ExecutionGroup {
  const { group: id, title, call, executions, opened_by, took_ms, reason } = row;
  const named: ExecutionGroup['state'] =
    own(groupStates, row.state) ?? (row.state as ExecutionGroup['state']);
  const state = ended && (named === 'running' || named === 'waiting') ? 'cancelled' : named;
  return {
    ...{ id, title, kind: call ? 'call' : 'branch', state, opened_by, commit: null, took_ms },
    attempts:
      executions.length === 0 ? [] : [{ number: 1, state: attemptState(state), why: reason, executions }],
  };
}

const attemptState = (state: ExecutionGroup['state']): ExecutionGroup['attempts'][number]['state'] =>
  state === 'done' || state === 'failed' ? state : state === 'cancelled' ? 'failed' : 'running';
