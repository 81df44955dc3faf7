/** Reads and changes the open forks of a state. Pure. */

import { own, put } from './json.ts';
import type { SuspendedRun } from './outcome.ts';
import type { RunState } from './records/checkpoint.ts';
import { type BranchEnd, type Cursor, type Fork, type OpenedFork, ownOfBranch } from './records/fork.ts';
import type { OpenFailure, Question } from './records/question.ts';

/** A branch of an open fork. */
export type OpenBranch = {
  readonly id: string;
  readonly cursor: Cursor;
  readonly fork: Fork;
  /** The branches that it is in, from outside in. */
  readonly within: readonly string[];
};

type Forked = { readonly fork?: Fork };

/** All branches of all open forks, ended ones too: each before those that it contains, otherwise in the order of the edges. */
export function branchesOf({ fork }: Forked, within: readonly string[] = []): readonly OpenBranch[] {
  if (fork === undefined) return [];
  return Object.entries(fork.branches).flatMap(([id, cursor]) => [
    { id, cursor, fork, within },
    ...branchesOf(cursor, [...within, id]),
  ]);
}

/** The ids of the branches that lead to one, from outside in; undefined where it is not open. */
function pathTo({ fork }: Forked, id: string): readonly string[] | undefined {
  if (fork === undefined) return undefined;
  if (own(fork.branches, id) !== undefined) return [id];
  for (const [outer, cursor] of Object.entries(fork.branches)) {
    const path = pathTo(cursor, id);
    if (path !== undefined) return [outer, ...path];
  }
  return undefined;
}

/** Whether a fork with this branch is open. */
export const hasBranch = (state: Forked, id: string): boolean => pathTo(state, id) !== undefined;

/** Where a branch of an open fork is. */
export function cursorOf(state: Forked, id: string): Cursor {
  let at = state;
  for (const branch of pathTo(state, id) ?? []) at = own(at.fork?.branches ?? {}, branch) ?? at;
  if (at === state) throw new Error(`Internal: no open branch ${id}`);
  return at as Cursor;
}

/** Whether nothing was executed in an open branch yet. */
export const branchBegins = (state: Forked, id: string): boolean => cursorOf(state, id).nodes.length === 0;

/** The state as an execution of the branch sees it: without a branch, that of the run itself. */
export function viewOf(state: RunState, id: string | undefined): RunState {
  if (id === undefined) return state;
  const { nodes: _, ended: __, ...own } = cursorOf(state, id);
  return { ...(withoutOwn(state) as RunState), ...own };
}

function withoutOwn(state: RunState): Partial<RunState> {
  const rest: Partial<Record<keyof RunState, unknown>> = { ...state };
  for (const key of ownOfBranch) delete rest[key];
  return rest as Partial<RunState>;
}

/** Where the run continues: its next node, and those of branches that have not ended. */
export const nextNodes = (
  state: Pick<RunState, 'next_node' | 'fork'>,
): readonly { readonly node: string; readonly branch?: string }[] => [
  ...(state.next_node === null ? [] : [{ node: state.next_node }]),
  ...branchesOf(state).flatMap(({ id, cursor: { next_node, ended } }) =>
    next_node === null || ended !== undefined ? [] : [{ node: next_node, branch: id }],
  ),
];

/** Whether the run, or the branch whose view this is, waits for branches to end before it continues. */
export const hasOpenBranches = ({ fork }: Forked): boolean =>
  fork !== undefined && Object.values(fork.branches).some(({ ended }) => ended === undefined);

/** The branch that a call has in the workspace of the run (of the branch, if this is the view of one): the innermost call counts. */
export function calleeIn({ fork }: Forked): string | undefined {
  const [callee] = fork?.call === true ? Object.entries(fork.branches) : [];
  return callee === undefined ? undefined : (calleeIn(callee[1]) ?? callee[0]);
}

/** What the workspace holds: during a call what the called pipeline has left there. */
export function snapshotNow<S extends string | null>(state: Forked & { readonly snapshot: S }): S | string {
  const callee = calleeIn(state);
  return callee === undefined ? state.snapshot : cursorOf(state, callee).snapshot;
}

/** What branches and the run itself ask a person and no execution has been committed of. */
export const openQuestions = (state: RunState): readonly Question[] => [
  ...(state.question === undefined ? [] : [state.question]),
  ...branchesOf(state).flatMap(({ cursor }) =>
    cursor.question === undefined || cursor.ended !== undefined ? [] : [cursor.question],
  ),
];

/** Why the run is suspended: its own reason, and those of its branches. That of the run itself may be the first of theirs. */
export function suspensions(state: RunState): readonly SuspendedRun[] {
  const ofBranches = branchesOf(state).flatMap(({ cursor }) =>
    cursor.parked === undefined || cursor.ended !== undefined ? [] : [cursor.parked],
  );
  const { parked } = state;
  const isTheirs = ofBranches.some(({ node, since }) => node === parked?.node && since === parked.since);
  return parked === undefined || isTheirs ? ofBranches : [parked, ...ofBranches];
}

/* Changes. What was handed out before stays unchanged: forks and cursors are copied on the way to what changes. */

export type OpenCursor = { -readonly [K in keyof Cursor]: Cursor[K] };
type Changing = { fork?: Fork };

/** A copy of the cursor in the place of the one before, to be changed; `ran`: the node that was executed in it. */
export function cursorToChange(state: Changing, id: string, ran?: string): OpenCursor {
  let at: Changing | OpenCursor = state;
  for (const branch of pathTo(state, id) ?? []) {
    const { fork } = at;
    const cursor = own(fork?.branches ?? {}, branch);
    if (fork === undefined || cursor === undefined) break;
    const { context, origins, nodes } = cursor;
    const isNew = ran !== undefined && !nodes.includes(ran);
    const copy: OpenCursor = {
      ...cursor,
      context: { ...context },
      origins: { ...origins },
      nodes: isNew ? [...nodes, ran].sort() : nodes,
    };
    at.fork = { ...fork, branches: { ...fork.branches, [branch]: copy } };
    at = copy;
  }
  if (at === state) throw new Error(`Internal: no open branch ${id}`);
  return at as OpenCursor;
}

/** The fork that an execution opens. `at`: the state after it, of the run or of the branch that it is in. */
export function openedFork(
  at: Pick<RunState, (typeof ownOfBranch)[number]>,
  opened: OpenedFork,
  by: { readonly node: string; readonly step: number; readonly after: string },
): Fork {
  const { node, step, after } = by;
  const { join, call, items } = opened;
  const branches: Record<string, Cursor> = {};
  for (const { id, set, fresh } of opened.branches) {
    const given = Object.keys(set ?? {});
    const origins = fresh === true ? {} : { ...at.origins };
    // A key that the fork has set comes from no tool and no agent.
    for (const key of given) delete origins[key];
    put(branches, id, {
      context: { ...(fresh === true ? {} : at.context), ...set },
      origins,
      next_node: id,
      arrived: { from: node, conditional: false },
      last_outcome: at.last_outcome,
      last_failure: fresh === true ? null : at.last_failure,
      last_completed_node: node,
      snapshot: after,
      ...kept(at, fresh === true ? ofCall : ofFanOut),
      nodes: [],
      ...(given.length === 0 ? {} : { given }),
    });
  }
  return {
    ...{ node, join, base: after, step },
    ...(call === undefined ? {} : { call }),
    ...(items === undefined ? {} : { items }),
    branches,
  };
}

/** What a branch begins with besides its context. A failure on its way to a human gate stays one in a call, too. */
const ofCall = ['setup', 'tool_state', 'open_failures', 'last_executable'] as const;
const ofFanOut = [...ofCall, 'agent_step', 'threads'] as const;

function kept(at: Partial<RunState>, keys: readonly (keyof RunState)[]): Partial<Cursor> {
  const found: Partial<Record<keyof RunState, unknown>> = {};
  for (const key of keys) if (at[key] !== undefined) found[key] = structuredClone(at[key]);
  return found as Partial<Cursor>;
}

/** A branch has ended: of a call, the node that it has reached is the exit. */
export function endBranch(state: Changing, id: string, ended: BranchEnd, reached?: string | null): void {
  const cursor = cursorToChange(state, id);
  cursor.ended = ended;
  for (const key of ['parked', 'question', 'cut_ms', 'fork'] as const) delete cursor[key];
  const path = pathTo(state, id)?.slice(0, -1) ?? [];
  const outer = path.length === 0 ? state : cursorToChange(state, path.at(-1) ?? '');
  const { fork } = outer;
  if (fork?.call !== true || reached == null) return;
  outer.fork = { ...fork, join: reached };
  (outer as { next_node: string | null }).next_node = reached;
}

/** The join has run: what comes back of the branches besides what its outcome says. */
export function closeFork(
  at: {
    -readonly [K in
      | 'fork'
      | 'setup'
      | 'tool_state'
      | 'open_failures'
      | 'last_executable'
      | 'agent_step']?: RunState[K];
  },
): void {
  const { fork } = at;
  delete at.fork;
  if (fork === undefined) return;
  const cursors = Object.values(fork.branches).filter(({ ended }) => ended?.status !== 'cancelled');
  const failures = failuresAfter(at.open_failures ?? [], cursors);
  if (failures.length > 0) at.open_failures = failures;
  else delete at.open_failures;
  const agentSteps = Object.values(fork.branches).flatMap(({ agent_step }) => agent_step ?? []);
  if (agentSteps.length > 0) at.agent_step = Math.max(at.agent_step ?? 0, ...agentSteps);
  const [callee] = cursors;
  if (fork.call !== true || callee === undefined) return;
  if (callee.setup !== undefined) at.setup = callee.setup;
  if (callee.tool_state !== undefined) at.tool_state = callee.tool_state;
  if (callee.last_executable !== undefined) at.last_executable = callee.last_executable;
}

const isSame = (a: OpenFailure, b: OpenFailure): boolean => a.node === b.node && a.visit === b.visit;

/** Failures of before the fork that no successful branch has settled, and those of the branches. */
function failuresAfter(before: readonly OpenFailure[], cursors: readonly Cursor[]): OpenFailure[] {
  const isKnown = (one: OpenFailure): boolean =>
    before.some((other) => isSame(one, other) && one.answered?.question === other.answered?.question);
  const added = cursors.flatMap(({ open_failures: open = [] }) => open.filter((one) => !isKnown(one)));
  const kept = before.filter(
    (one) =>
      !added.some((other) => isSame(one, other)) &&
      cursors.every(
        ({ ended, open_failures: open = [] }) =>
          ended?.ok !== true || open.some((other) => isSame(one, other)),
      ),
  );
  return [...kept, ...added];
}
