/** The executions of a run from its journal and its events. */
import { countedItems } from '../../core/amounts.ts';
import { branchesOf, openQuestions } from '../../core/fork.ts';
import { type Graph, nodeOf } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import { isPaused, reasonOf, reasonWithAttribution, type SuspendedRun } from '../../core/outcome.ts';
import { isOverridden } from '../../core/overridden.ts';
import type { CallRecord, VisitRecord } from '../../core/records/visit.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { EventHistory, ExecutionEvents } from './event-history.ts';
import type { ExecutionRow } from './execution-shapes.ts';
import { givenAnswerOf } from './question.ts';
import type { RunRow } from './run-row.ts';
import { isAhead, type Wait, waitOfSuspension } from './wait.ts';

/** `NODE@VISIT`. */
export const executionName = ({ node, visit }: { readonly node: string; readonly visit: number }): string =>
  `${node}@${visit}`;

/** The calls of each execution: time and cost. */
type Calls = { ms: number; cost: number | null; began: number | undefined };

function callsOf(records: Iterable<CallRecord>): ReadonlyMap<string, Calls> {
  const calls = new Map<string, Calls>();
  for (const record of records) {
    const key = executionName(record);
    const so = calls.get(key) ?? { ms: 0, cost: 0, began: undefined };
    calls.set(key, so);
    const at = Date.parse(record.at);
    if (record.type === 'CallStarted') {
      // A call without an end was interrupted: its cost is unknown.
      if (so.began !== undefined) so.cost = null;
      so.began = at;
    } else if (record.type === 'CallEnded') {
      const usd = record.ended === 'free' ? 0 : record.cost_usd;
      so.cost = so.cost === null || usd === null ? null : so.cost + usd;
      // A call of a nested run does not end the open one.
      if (record.run !== undefined) continue;
      so.ms += so.began === undefined ? 0 : Math.max(0, at - so.began);
      so.began = undefined;
    }
  }
  return calls;
}

export type ExecutionFacts = {
  readonly history: RunHistory;
  readonly events: EventHistory;
  readonly graph: Graph | undefined;
  readonly status: RunRow['status'];
  readonly now: Date;
  /** Whether the texts of a node are withheld: then its reason is the one that later nodes are given. */
  readonly withheld: (node: string) => boolean;
};

/** All executions in order, without their groups; the last ones may be unfinished: one, and one of each branch. */
export function executionsOf(facts: ExecutionFacts): Omit<ExecutionRow, 'group'>[] {
  const { history, events, graph } = facts;
  const calls = callsOf(history.calls);
  const rows = finishedIn(facts).map(({ record: visit, ...is }): Omit<ExecutionRow, 'group'> => {
    const { node, at, usage } = visit;
    const seen = events.of.get(executionName(visit));
    const called = calls.get(executionName(visit));
    return {
      node,
      visit: visit.visit,
      type: is.type,
      label: labelOf(graph, node),
      branch: visit.branch ?? null,
      state: is.state,
      began_at: seen?.began ?? new Date(Date.parse(at) - is.took_ms).toISOString(),
      ended_at: at,
      took_ms: is.took_ms,
      ...waitsOf(seen),
      waiting: null,
      model_ms: called?.ms ?? 0,
      class: is.class,
      reason: is.reason,
      notes: facts.withheld(node) ? '' : visit.outcome.notes,
      cost_usd: called === undefined ? (usage === undefined ? 0 : usage.cost_usd) : called.cost,
      usage: usage ?? null,
      next: endsHere(visit) ? null : visit.next_node,
      how: howOf(visit),
      ...(visit.restart === undefined ? {} : { restart: visit.restart }),
      replayed: visit.replayed !== undefined,
      human_answer: visit.answer === undefined ? null : givenAnswerOf(visit.answer),
    };
  });
  return [...rows, ...unfinishedIn(facts).map((open) => unfinished(facts, open, calls))];
}

/** What became of an execution. */
export type ExecutionStanding = Pick<
  ExecutionRow,
  'node' | 'visit' | 'type' | 'state' | 'waiting' | 'class' | 'reason' | 'took_ms'
>;

/** Of all executions in order, of the unfinished ones how they stand. It needs the events of the unfinished ones only. */
export function executionStandings(facts: ExecutionFacts): readonly ExecutionStanding[] {
  const open = unfinishedIn(facts);
  const calls = callsOf(open.length > 0 ? facts.history.calls : []);
  return [...finishedIn(facts), ...open.map((one) => unfinished(facts, one, calls))];
}

type FinishedExecution = ExecutionStanding & { readonly record: VisitRecord };

function finishedIn({ history, withheld }: ExecutionFacts): readonly FinishedExecution[] {
  const visits = visitsOf(history);
  const { ended } = history.checkpoint;
  // Reaching an exit succeeds as an execution, but the run failed there.
  const failedAt =
    ended?.ok === false && ended.exit_node !== null && !isOverridden(ended) ? visits.at(-1) : undefined;
  const endOfCall = endsOfCalls(visits);
  let elapsed = 0;
  return visits.map((record) => {
    const { node, visit, node_type: type, took_ms, elapsed_ms } = record;
    const decisive = endOfCall.get(record) ?? record;
    const { outcome } = decisive;
    const took = Math.round(took_ms ?? Math.max(0, elapsed_ms - elapsed));
    elapsed = elapsed_ms;
    return {
      ...{ record, node, visit, type, took_ms: took },
      state: failedAt === record ? 'fail' : outcome.status,
      waiting: null,
      class: outcome.status === 'fail' ? outcome.class : null,
      reason: withheld(decisive.node)
        ? cleanReason(decisive)
        : failedAt === record
          ? (ended?.reason ?? '')
          : wholeReason(decisive),
    };
  });
}

const visitsOf = ({ records }: RunHistory): readonly VisitRecord[] =>
  records.filter((record) => record.type === 'Visit');

/** The executions that ended calls, by those that began them: a call has the outcome of the pipeline that it calls. */
function endsOfCalls(visits: readonly VisitRecord[]): ReadonlyMap<VisitRecord, VisitRecord> {
  const open = new Map<string, VisitRecord>();
  const ends = new Map<VisitRecord, VisitRecord>();
  for (const visit of visits) {
    const began = visit.joined === undefined ? undefined : open.get(visit.joined);
    if (began !== undefined) ends.set(began, visit);
    if (visit.fork?.call === true) open.set(visit.node, visit);
  }
  return ends;
}

export type UnfinishedExecution = {
  readonly node: string;
  readonly visit: number;
  readonly branch?: string | undefined;
  /** Why its branch is suspended, though others may run. */
  readonly suspended?: SuspendedRun;
};

/** What has begun and not ended; of a journal that has lost its last lines what the events say. */
export function unfinishedIn({
  history,
  events: { latest },
}: Pick<ExecutionFacts, 'history' | 'events'>): readonly UnfinishedExecution[] {
  const open = [...suspendedIn(history), ...history.open];
  const started = open.length > 0 || latest === undefined ? open : [latest];
  const visits = visitsOf(history);
  // The next one of its node: neither finished, nor of before a fork.
  return started.filter(
    ({ node, visit }) =>
      visits.findLast((one) => one.node === node)?.visit === (visit === 1 ? undefined : visit - 1),
  );
}

/** The executions that branches are suspended in. */
const suspendedIn = ({ checkpoint }: RunHistory): readonly UnfinishedExecution[] =>
  branchesOf(checkpoint).flatMap(({ id: branch, cursor: { parked, ended } }): UnfinishedExecution[] => {
    if (parked === undefined || ended !== undefined) return [];
    const { node } = parked;
    return [{ node, visit: (own(checkpoint.visits, node) ?? 0) + 1, branch, suspended: parked }];
  });

const waitsOf = (
  { waits, pauses }: Pick<ExecutionEvents, 'waits' | 'pauses'> = { waits: [], pauses: [] },
) => ({
  waits,
  pauses,
  waited_ms: waits.reduce((sum, { ms }) => sum + ms, 0),
  attempts: 1 + waits.length,
});

const labelOf = (graph: Graph | undefined, node: string): string => {
  const label = nodeOf(graph, node)?.settings.label?.replace(/\s+/g, ' ').trim() ?? '';
  return label === '' ? node : label;
};

const wholeReason = ({ outcome }: VisitRecord): string =>
  outcome.status === 'fail' ? reasonWithAttribution(outcome.reason, outcome.attribution) : reasonOf(outcome);

/** Without lines of the holdout; where nothing else is known, the class alone. */
function cleanReason({ outcome, context }: VisitRecord): string {
  if (outcome.status !== 'fail') return '';
  const clean = own(context.set, 'last_failure.reason');
  return typeof clean === 'string' ? clean : `failed (${outcome.class})`;
}

/** What an execution that has begun and not ended waits for. */
function waitOf(
  { history: { checkpoint }, events, status, now, withheld }: ExecutionFacts,
  open: UnfinishedExecution,
): Wait | null {
  const parked = open.suspended ?? (isPaused(status) ? checkpoint.parked : undefined);
  if (parked !== undefined && parked.node === open.node) {
    const wait = waitOfSuspension(parked.status, parked);
    const question = openQuestions(checkpoint).find(({ id }) => id === executionName(open));
    return question === undefined
      ? wait
      : { ...wait, cause: question.text, since: question.asked_at, until: question.deadline };
  }
  const seen = events.of.get(executionName(open));
  if (status !== 'running' || seen?.waiting === undefined || seen.suspended) return null;
  if (!isAhead(seen.waiting.until, now)) return null;
  return withheld(open.node) ? { ...seen.waiting, cause: '' } : seen.waiting;
}

/** A suspension has lasted until now. */
function pausesUntil(
  now: Date,
  { pauses, suspended }: ExecutionEvents,
  waiting: Wait | null,
): ExecutionRow['pauses'] {
  const last = pauses.at(-1);
  if (!suspended || waiting === null || last === undefined) return pauses;
  return [...pauses.slice(0, -1), { ...last, ms: Math.max(0, now.getTime() - Date.parse(last.at)) }];
}

/** The execution that has begun and not ended. */
function unfinished(
  facts: ExecutionFacts,
  open: UnfinishedExecution,
  calls: ReadonlyMap<string, Calls>,
): Omit<ExecutionRow, 'group'> {
  const { history, events, graph, status, now } = facts;
  const { node, visit } = open;
  const waiting = waitOf(facts, open);
  const seen = events.of.get(executionName(open));
  const began = seen?.began ?? history.last.at;
  const called = calls.get(executionName(open));
  const running = status === 'running' && open.suspended === undefined;
  const end = running ? now.getTime() : Math.max(Date.parse(began), Date.parse(history.last.at));
  return {
    node,
    visit,
    type: nodeOf(graph, node)?.type ?? seen?.type ?? '',
    label: labelOf(graph, node),
    branch: open.branch ?? null,
    state: running
      ? 'running'
      : open.suspended !== undefined || isPaused(status)
        ? 'suspended'
        : 'interrupted',
    began_at: began,
    ended_at: running ? null : new Date(end).toISOString(),
    took_ms: Math.max(0, end - Date.parse(began) - (seen?.paused ?? 0)),
    ...waitsOf(seen === undefined ? undefined : { ...seen, pauses: pausesUntil(now, seen, waiting) }),
    waiting,
    model_ms: (called?.ms ?? 0) + (called?.began === undefined ? 0 : Math.max(0, end - called.began)),
    class: null,
    reason: '',
    notes: '',
    cost_usd: called === undefined ? 0 : called.began === undefined ? called.cost : null,
    usage: null,
    next: null,
    how: '',
    replayed: false,
    human_answer: null,
  };
}

/** The run or the branch ended because no edge takes the outcome; the next node of a run is the one that a resume executes again. */
const endsHere = ({ route, ended, branch_ended }: VisitRecord): boolean =>
  route?.how === 'none' && (ended ?? branch_ended) !== undefined;

/** Why that node came next. */
const howOf = (visit: VisitRecord): string =>
  visit.restart === undefined ? wayOf(visit) : `${wayOf(visit)}; restart ${visit.restart}`;

function wayOf(visit: VisitRecord): string {
  const { route, next_node, outcome, ended, fork, branch_ended } = visit;
  if (endsHere(visit)) return `no edge for outcome ${outcome.status}`;
  if (ended !== undefined && !ended.ok && next_node !== null) return ended.reason;
  if (route === undefined) return '';
  if (fork?.call === true) return 'when its pipeline has ended';
  if (fork !== undefined) return `after ${countedItems(fork.branches.length, 'branch', 'branches')}`;
  if (next_node !== route.next && next_node !== null)
    return branch_ended === undefined ? 'a goal gate sends it back' : 'the branch has ended';
  switch (route.how) {
    case 'condition':
      return chosenEdge(route)?.condition ?? 'a condition is true';
    case 'label':
      return `label "${outcome.label}"`;
    case 'suggested':
      return 'suggested by the node';
    case 'unconditional':
      return route.candidates.length === 1 ? 'the only edge' : 'no condition is true';
    default:
      return `no edge for outcome ${outcome.status}`;
  }
}

/** The edge that was taken. */
export const chosenEdge = ({ next, candidates }: NonNullable<VisitRecord['route']>) =>
  candidates.find((one) => one.to === next && one.matched && one.lost === undefined);
