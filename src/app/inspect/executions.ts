/** The executions of a run from its journal and its events. */
import { countedItems } from '../../core/amounts.ts';
import { branchesOf } from '../../core/fork.ts';
import { type Graph, nodeOf } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import { isPaused, reasonOf, reasonWithAttribution } from '../../core/outcome.ts';
import { isOverridden } from '../../core/overridden.ts';
import type { CallRecord, VisitRecord } from '../../core/records/visit.ts';
import type { JournalPosition } from '../../run/journal-read.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { givenAnswerOf } from './question.ts';
import type { ExecutionRow, RunRow } from './shapes.ts';

/** `NODE@VISIT`. */
export const executionName = ({ node, visit }: { readonly node: string; readonly visit: number }): string =>
  `${node}@${visit}`;

/** What the events say of one execution. `paused`: milliseconds from interruptions to the resumes that execute it again; `before`: those
 *  of the run before it began. */
type ExecutionEvents = {
  began: string;
  paused: number;
  readonly before: number;
  readonly waits: { at: string; ms: number }[];
  readonly type: string;
};

export type EventHistory = {
  readonly of: ReadonlyMap<string, ExecutionEvents>;
  /** The execution that began last. */
  readonly latest: OpenExecution | undefined;
  /** `seq` of the last event; 0 without any. */
  readonly seq: number;
};

/** Reads the events of a run once, from its beginning or from a cursor. */
export async function readEvents(reader: RunReader, from?: JournalPosition): Promise<EventHistory> {
  const of = new Map<string, ExecutionEvents>();
  const visits = new Map<string, number>();
  let latest: EventHistory['latest'];
  let seq = 0;
  let last: { epoch: unknown; time: number } | undefined;
  let paused = 0;
  for await (const entry of reader.view('events', from)) {
    if (entry.kind !== 'record') continue;
    const { type, node_id, visit, branch, at, node_type, delay_ms, epoch, seq: number } = entry.record;
    if (typeof number === 'number') seq = number;
    const time = Date.parse(String(at));
    if (last !== undefined && last.epoch !== epoch) paused += Math.max(0, time - last.time);
    last = { epoch, time };
    if (type === 'StageStarted' && typeof node_id === 'string' && typeof visit === 'number') {
      latest = { node: node_id, visit, ...(typeof branch === 'string' ? { branch } : {}) };
      const key = executionName(latest);
      visits.set(node_id, visit);
      const seen = of.get(key);
      if (seen === undefined)
        of.set(key, { began: String(at), paused: 0, before: paused, waits: [], type: String(node_type) });
      else seen.paused = paused - seen.before;
    } else if (type === 'StageRetrying' && typeof node_id === 'string') {
      const seen = of.get(executionName({ node: node_id, visit: visits.get(node_id) ?? 0 }));
      seen?.waits.push({ at: String(at), ms: typeof delay_ms === 'number' ? delay_ms : 0 });
    }
  }
  return { of, latest, seq };
}

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
  const visits = history.records.filter((record) => record.type === 'Visit');
  const { ended } = history.checkpoint;
  // Reaching an exit succeeds as an execution, but the run failed there.
  const failedAt =
    ended?.ok === false && ended.exit_node !== null && !isOverridden(ended) ? visits.at(-1) : undefined;
  const endOfCall = endsOfCalls(visits);
  let elapsed = 0;
  const rows = visits.map((visit): Omit<ExecutionRow, 'group'> => {
    const { node, node_type, at, usage } = visit;
    const decisive = endOfCall.get(visit) ?? visit;
    const { outcome } = decisive;
    const took = Math.round(visit.took_ms ?? Math.max(0, visit.elapsed_ms - elapsed));
    elapsed = visit.elapsed_ms;
    const seen = events.of.get(executionName(visit));
    const called = calls.get(executionName(visit));
    return {
      node,
      visit: visit.visit,
      type: node_type,
      label: labelOf(graph, node),
      branch: visit.branch ?? null,
      state: failedAt === visit ? 'fail' : outcome.status,
      began_at: seen?.began ?? new Date(Date.parse(at) - took).toISOString(),
      ended_at: at,
      took_ms: took,
      ...waitsOf(seen),
      model_ms: called?.ms ?? 0,
      class: outcome.status === 'fail' ? outcome.class : null,
      reason: facts.withheld(decisive.node)
        ? cleanReason(decisive)
        : failedAt === visit
          ? (history.checkpoint.ended?.reason ?? '')
          : wholeReason(decisive),
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
  return [...rows, ...openIn(facts).flatMap((open) => unfinished(facts, open, visits, calls) ?? [])];
}

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

type OpenExecution = {
  readonly node: string;
  readonly visit: number;
  readonly branch?: string | undefined;
  /** Its branch is suspended, though others may run. */
  readonly suspended?: true;
};

/** What has begun and not ended; of a journal that has lost its last lines what the events say. */
function openIn({ history, events: { latest } }: ExecutionFacts): readonly OpenExecution[] {
  const open = [...suspendedIn(history), ...history.open];
  return open.length > 0 || latest === undefined ? open : [latest];
}

/** The executions that branches are suspended in. */
const suspendedIn = ({ checkpoint }: RunHistory): readonly OpenExecution[] =>
  branchesOf(checkpoint).flatMap(({ id: branch, cursor: { parked, ended } }): OpenExecution[] => {
    if (parked === undefined || ended !== undefined) return [];
    const { node } = parked;
    return [{ node, visit: (own(checkpoint.visits, node) ?? 0) + 1, branch, suspended: true }];
  });

const waitsOf = ({ waits }: Pick<ExecutionEvents, 'waits'> = { waits: [] }) => ({
  waits,
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

/** The execution that has begun and not ended. */
function unfinished(
  { history, events, graph, status, now }: ExecutionFacts,
  open: OpenExecution,
  visits: readonly VisitRecord[],
  calls: ReadonlyMap<string, Calls>,
): Omit<ExecutionRow, 'group'> | undefined {
  const { node, visit } = open;
  // The next one of this node: neither finished, nor of before a fork.
  if (visits.findLast((one) => one.node === node)?.visit !== (visit === 1 ? undefined : visit - 1))
    return undefined;
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
    state: running ? 'running' : open.suspended === true || isPaused(status) ? 'suspended' : 'interrupted',
    began_at: began,
    ended_at: running ? null : new Date(end).toISOString(),
    took_ms: Math.max(0, end - Date.parse(began) - (seen?.paused ?? 0)),
    ...waitsOf(seen),
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
