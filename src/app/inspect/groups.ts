/** Groups of executions: work orders and their attempts, the parts next to them, or the rounds of a plain pipeline. Pure. */
import * as z from 'zod';
import { allNodes, type Graph, nodeOf } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { type FailureStage, failureStages, stageWords } from '../../core/orders/failure-stage.ts';
import { type BuildState, buildStateIn, orderKey } from '../../core/records/build.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { groupOfBranch } from './branches.ts';
import type { BranchRow, ExecutionGroup, ExecutionRow } from './execution-shapes.ts';
import { executionName } from './executions.ts';

type Row = Omit<ExecutionRow, 'group'>;
type Attempt = { number: number; rows: Row[]; failed: string | undefined };
type Group = { id: string; title: string; kind: ExecutionGroup['kind']; attempts: Attempt[] };

export type GroupFacts = {
  readonly rows: readonly Row[];
  readonly branches?: readonly BranchRow[];
  readonly visits: readonly VisitRecord[];
  readonly graph: Graph | undefined;
  /** Title of the run, for the only group of a plain pipeline. */
  readonly title: string;
  /** Titles of orders that have not begun, by id. */
  readonly titles: ReadonlyMap<string, string>;
  /** Whether the run has ended without success, so that an unfinished group has failed. */
  readonly ended: boolean;
  /** Whether it waits for a person. */
  readonly asks?: boolean;
};

/** The groups in order, and the id of the group of each execution by `NODE@VISIT`. */
export function groupsOf(facts: GroupFacts): {
  readonly groups: readonly ExecutionGroup[];
  readonly of: ReadonlyMap<string, string>;
} {
  const { branches = [] } = facts;
  const walk = openWalk();
  const own = withoutBranches(facts);
  const places = placesOf(own);
  for (const [at, row] of own.rows.entries()) walk.add(row, places[at] ?? plain(facts.title));
  const last = lastBuild(facts.visits);
  const found = walk.groups.map((group) => shown(group, last, own));
  const there = new Set(found.map(({ id }) => id));
  const waiting = Object.keys(last?.digests ?? {})
    .filter((id) => !there.has(id))
    .map((id) => waitingOrder(id, last, facts.titles));
  // Orders that have not begun stand before what follows the orders.
  const at = found.findLastIndex(({ kind }) => kind === 'order') + 1;
  const groups = at === 0 ? [...found, ...waiting] : [...found.slice(0, at), ...waiting, ...found.slice(at)];
  return {
    groups: [...groups, ...branches.map((branch) => groupOfBranch(branch, facts.ended))],
    of: new Map([
      ...walk.of,
      ...branches.flatMap(({ executions, group }) => executions.map((name) => [name, group] as const)),
    ]),
  };
}

/** The executions outside of branches, and their records. */
function withoutBranches(facts: GroupFacts): GroupFacts {
  if (facts.branches === undefined || facts.branches.length === 0) return facts;
  return {
    ...facts,
    rows: facts.rows.filter(({ branch }) => branch === null),
    visits: facts.visits.filter(({ branch }) => branch === undefined),
  };
}

/** Where an execution belongs. */
type Place = {
  readonly id: string;
  readonly title: string;
  readonly kind: ExecutionGroup['kind'];
  /** Of an order, as its steps count; else counted here. */
  readonly attempt?: number;
  readonly failed?: string | undefined;
};

const plain = (title: string): Place => ({ id: 'run', title, kind: 'part' });

/** The place of each row. What belongs nowhere by itself (start, the last look for an order, exit) belongs to what follows, or
 *  at the end to what precedes. */
function placesOf({ rows, visits, graph, title }: GroupFacts): readonly Place[] {
  const found: (Place | undefined)[] = [];
  let before: CurrentInBuild | undefined;
  const hasPlan = once(() => plans(graph));
  for (const [at, row] of rows.entries()) {
    const after = currentOrderIn(visits[at], before);
    found.push(orderPlace(before, after, row) ?? partPlace(row, graph, hasPlan));
    before = after;
  }
  if (found.every((place) => place === undefined)) return rows.map(() => plain(title));
  let next: Place | undefined;
  for (let at = found.length - 1; at >= 0; at--) {
    if (found[at] === undefined && rows[at]?.type !== 'exit') found[at] = next;
    next = found[at] ?? next;
  }
  let previous: Place | undefined;
  return found.map((place) => {
    previous = place ?? previous;
    return previous ?? plain(title);
  });
}

/** Of a state of a build only the current order: a long run has thousands of states. */
const currentSchema = once(() =>
  z.object({
    current: z
      .object({
        id: z.string(),
        attempt: z.number(),
        failed: z.object({ stage: z.enum(failureStages), reason: z.string() }).nullable(),
      })
      .nullable(),
  }),
);
export type CurrentInBuild = z.infer<ReturnType<typeof currentSchema>>['current'];

/** The current order after an execution; the one before where the execution did not change the state of the build. */
export function currentOrderIn(
  visit: Pick<VisitRecord, 'tool_state'> | undefined,
  before: CurrentInBuild | undefined,
): CurrentInBuild | undefined {
  const state = visit?.tool_state?.[orderKey];
  return state === undefined ? before : currentSchema().safeParse(state).data?.current;
}

function orderPlace(
  was: CurrentInBuild | undefined,
  is: CurrentInBuild | undefined,
  row: Row,
): Place | undefined {
  const current = is != null && (was == null || was.id === is.id) ? is : was;
  if (current == null) return undefined;
  const { failed } = current;
  return {
    id: current.id,
    title: titleIn(row) ?? current.id,
    kind: 'order',
    attempt: Math.max(1, current.attempt),
    failed: failed === null ? undefined : whyWords(failed),
  };
}

/** `WO-01 (1 of 4): A package …` in the notes of the step that chooses an order. */
const titleIn = ({ notes }: Row): string | undefined => /^\S+ \(\d+ of \d+\): (.+)$/.exec(notes)?.[1];

const whyWords = ({ stage, reason }: { readonly stage: FailureStage; readonly reason: string }): string =>
  `${stageWords(stage)}: ${reason}`;

/** Steps of our own pipelines by their commands. */
function partPlace({ node, type }: Row, graph: Graph | undefined, hasPlan: () => boolean): Place | undefined {
  const place = partOfCommand(nodeOf(graph, node)?.settings.tool_command ?? '');
  if (place !== undefined) return place;
  // The model that plans, in a pipeline with the steps of a plan.
  return type === 'codergen' && hasPlan() ? plan : undefined;
}

/** The part next to the work orders that a command belongs to. */
export function partOfCommand(command: string): Place | undefined {
  if (/^\s*factory plan\s/.test(command)) return plan;
  if (/^\s*factory order proof\b/.test(command)) return { id: 'proof', title: 'Proof', kind: 'part' };
  if (/\bfactory scenario\b|\bscripts\/scenarios\/|^\s*factory order mend\b/.test(command))
    return { id: 'scenarios', title: 'Scenarios', kind: 'part' };
  return undefined;
}

const plan: Place = { id: 'plan', title: 'Plan', kind: 'part' };
const plans = (graph: Graph | undefined): boolean =>
  graph !== undefined &&
  [...allNodes(graph).values()].some(({ settings }) =>
    /^\s*factory plan\s/.test(settings.tool_command ?? ''),
  );

/** Collects executions into attempts of groups. */
function openWalk() {
  const byId = new Map<string, Group>();
  const of = new Map<string, string>();
  let latest: Group | undefined;
  return {
    of,
    get groups(): readonly Group[] {
      return [...byId.values()];
    },
    add(row: Row, place: Place): void {
      const { id, title, kind } = place;
      const group = byId.get(id) ?? { id, title, kind, attempts: [] };
      byId.set(id, group);
      if (title !== id) group.title = title;
      of.set(executionName(row), id);
      const last = group.attempts.at(-1);
      const number = place.attempt ?? nextNumber(last, row, group === latest);
      const attempt = last?.number === number ? last : { number, rows: [], failed: undefined };
      if (attempt !== last) group.attempts.push(attempt);
      attempt.rows.push(row);
      attempt.failed = place.failed ?? attempt.failed;
      latest = group;
    },
  };
}

/** A part begins again when the run comes back to it, to a node of it, or after a failure in it. */
function nextNumber(last: Attempt | undefined, row: Row, stayed: boolean): number {
  if (last === undefined) return 1;
  const again =
    !stayed || last.rows.some(({ node }) => node === row.node) || last.rows.at(-1)?.state === 'fail';
  return again && row.type !== 'exit' ? last.number + 1 : last.number;
}

const lastBuild = (visits: readonly VisitRecord[]): BuildState | undefined =>
  buildStateIn(visits.findLast(({ tool_state }) => tool_state !== undefined)?.tool_state);

function shown(
  { id, title, kind, attempts }: Group,
  last: BuildState | undefined,
  facts: GroupFacts,
): ExecutionGroup {
  const done = last?.done.find((one) => one.id === id);
  const open = attempts.at(-1);
  const isOpen = open?.rows.at(-1) === facts.rows.at(-1);
  const state = (
    attempt: Attempt,
  ): Extract<ExecutionGroup['state'], 'waiting' | 'running' | 'done' | 'failed'> => {
    if (attempt !== open)
      return kind === 'order' || attempt.rows.some((row) => row.state === 'fail') ? 'failed' : 'done';
    if (attempt.rows.at(-1)?.state === 'running') return 'running';
    if (kind === 'order' && done !== undefined) return 'done';
    if (isOpen && facts.asks === true) return 'waiting';
    if (isOpen && facts.ended) return 'failed';
    if (kind === 'order' || isOpen) return isOpen && open.rows.at(-1)?.type === 'exit' ? 'done' : 'running';
    return attempt.rows.findLast(({ type }) => type !== 'exit')?.state === 'fail' ? 'failed' : 'done';
  };
  return {
    id,
    title: done?.subject.replace(/^\S+: /, '') ?? facts.titles.get(id) ?? title,
    kind,
    opened_by: null,
    state: open === undefined ? 'waiting' : state(open),
    attempts: attempts.map((attempt) => {
      const is = state(attempt);
      return {
        number: attempt.number,
        state: is === 'waiting' ? 'running' : is,
        why: is === 'failed' ? whyOfAttempt(attempt) : '',
        executions: attempt.rows.map(executionName),
      };
    }),
    commit: done?.commit ?? null,
    took_ms: attempts.flatMap(({ rows }) => rows).reduce((sum, { took_ms }) => sum + took_ms, 0),
  };
}

const whyOfAttempt = ({ rows, failed }: Attempt): string =>
  failed ?? rows.findLast(({ state }) => state === 'fail')?.reason ?? '';

/** Orders that were done before the run began have no executions. */
function waitingOrder(
  id: string,
  last: BuildState | undefined,
  titles: ReadonlyMap<string, string>,
): ExecutionGroup {
  const done = last?.done.find((one) => one.id === id);
  return {
    id,
    title: titles.get(id) ?? done?.subject.replace(/^\S+: /, '') ?? id,
    kind: 'order',
    opened_by: null,
    state: done === undefined ? 'waiting' : 'done',
    attempts: [],
    commit: done?.commit ?? null,
    took_ms: 0,
  };
}
