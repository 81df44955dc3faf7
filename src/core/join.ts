/** What a join makes of its branches: whether it succeeds, which of them count, and what later nodes find of them. Pure. */
import { delta } from './context.ts';
import { fanInType, type Graph, type Node } from './graph.ts';
import { type Json, type JsonObject, own, put } from './json.ts';
import {
  type Context,
  emptyReport,
  type FailureClass,
  failed,
  type Outcome,
  type OutcomeWord,
  succeeded,
} from './outcome.ts';
import type { BranchEnd } from './records/fork.ts';
import type { joinPolicies } from './settings/join.ts';
import type { NodeSettings } from './settings/node.ts';
import { isUnmetGatesKey } from './unmet-gates.ts';

export type JoinRules = {
  readonly policy: (typeof joinPolicies)[number];
  readonly k: number | undefined;
  readonly fraction: number | undefined;
  readonly onFailure: 'continue' | 'fail_fast' | undefined;
  readonly merge: 'all' | 'none';
  /** Context keys that later nodes find under their own names. */
  readonly lifted: readonly string[];
  /** Whether the prompt of the first agent after the join says how the branches ended. */
  readonly summary: boolean;
};

type Rules = Partial<Pick<NodeSettings, 'join_policy' | 'k' | 'quorum_fraction'>> &
  Partial<Pick<NodeSettings, 'error_policy' | 'merge' | 'merge_context' | 'branch_summary'>>;

/** Where branches begin and where they meet. */
type Meeting = { readonly node: string; readonly join: string };

/** The nodes that may say the rules of a join, in the order in which they count: the fan-out, and a join that is nothing else. What a
 *  node of another type says is about itself: it may be a fan-out too. */
export function nodesWithRules(graph: Graph, { node, join }: Meeting): readonly Node[] {
  const meets = graph.nodes.get(join);
  const both = [graph.nodes.get(node), meets?.type === fanInType ? meets : undefined];
  return both.flatMap((one) => one ?? []);
}

/** The rules of a join. */
export function joinRulesIn(graph: Graph, meeting: Meeting): JoinRules {
  const [first, second] = nodesWithRules(graph, meeting);
  return rulesOf(first?.settings ?? {}, second?.settings ?? {});
}

const rulesOf = (fanOut: Rules, join: Rules): JoinRules => ({
  policy: fanOut.join_policy ?? join.join_policy ?? 'wait_all',
  k: fanOut.k ?? join.k,
  fraction: fanOut.quorum_fraction ?? join.quorum_fraction,
  onFailure: fanOut.error_policy ?? join.error_policy,
  merge: fanOut.merge ?? join.merge ?? 'all',
  lifted: fanOut.merge_context ?? join.merge_context ?? [],
  summary: fanOut.branch_summary ?? join.branch_summary ?? true,
});

/** How many of `total` branches must succeed. */
export function successesNeeded({ policy, k, fraction, onFailure }: JoinRules, total: number): number {
  switch (policy) {
    case 'wait_all':
      return onFailure === 'fail_fast' ? total : Math.min(1, total);
    case 'all_success':
      return total;
    case 'first_success':
      return Math.min(1, total);
    case 'k_of_n':
      return total === 0 ? 0 : (k ?? total);
    case 'quorum':
      // A product such as 0.07 * 100 is a little more than it should be.
      return fraction === undefined
        ? Math.floor(total / 2) + Math.min(1, total)
        : Math.max(Math.ceil(fraction * total - 1e-9), Math.min(1, total));
  }
}

const hasFailed = (end: BranchEnd): boolean => !end.ok && end.status !== 'cancelled';

/** Whether the branches that still run are cancelled: the join succeeds without them, or can only fail. `ends`: one for each
 *  branch, undefined where it has not ended. */
export function isJoinDecided(rules: JoinRules, ends: readonly (BranchEnd | undefined)[]): boolean {
  const { policy, onFailure } = rules;
  const ended = ends.filter((end) => end !== undefined);
  const ok = ended.filter((end) => end.ok).length;
  if (onFailure === 'fail_fast' && ended.some(hasFailed)) return true;
  if (policy === 'wait_all') return false;
  const needed = successesNeeded(rules, ends.length);
  if (policy !== 'all_success' && ok >= needed) return true;
  return onFailure !== 'continue' && ok + ends.length - ended.length < needed;
}

/** A branch as its join finds it; texts without secrets and lines of the holdout. */
export type JoinedBranch = {
  readonly id: string;
  readonly end: BranchEnd;
  /** Of its last node. */
  readonly last: OutcomeWord | undefined;
  readonly notes: string;
  /** What it has changed in the workspace. */
  readonly files: Readonly<Record<'created' | 'modified' | 'deleted', readonly string[]>>;
  readonly context: Context;
  /** Of `for_each`. */
  readonly item?: Json | undefined;
};

export type JoinResult = {
  /** With the context keys in its updates; the first line of its notes or its reason names what has failed. */
  readonly outcome: Outcome;
  /** Branches whose files and context come back, in the order of the edges: none where the join fails. */
  readonly counted: readonly string[];
  /** How many branches there were. */
  readonly total: number;
  /** Keys of `merge_context`, with the branch that has set each. */
  readonly setIn: Readonly<Record<string, string>>;
};

/** What becomes of the branches, all of which have ended. `base`: the context with which they began. */
export function joinResult(rules: JoinRules, branches: readonly JoinedBranch[], base: Context): JoinResult {
  const good = branches.filter(({ end }) => end.ok);
  const total = branches.length;
  const needed = successesNeeded(rules, total);
  const updates = resultKeys(branches, base);
  const summary = summaryOf(branches);
  if (good.length < needed) {
    const reason = `${shortfall(rules, { good: good.length, total, needed })}; ${summary}`;
    return { outcome: failed(reason, failedClass(branches), { updates }), counted: [], total, setIn: {} };
  }
  const counted = rules.policy === 'first_success' ? good.slice(0, 1) : good;
  const { values, setIn } = liftedKeys(rules, counted, base);
  const report = { notes: summary, updates: { ...updates, ...values } };
  const isPart = rules.policy === 'wait_all' && good.length < total;
  const outcome: Outcome = isPart
    ? { ...emptyReport, ...report, status: 'partial_success' }
    : succeeded(report);
  return { outcome, counted: counted.map(({ id }) => id), total, setIn };
}

type Counts = Readonly<Record<'good' | 'total' | 'needed', number>>;

function shortfall({ policy, onFailure }: JoinRules, { good, total, needed }: Counts): string {
  const of = `${good} of ${total} branch${total === 1 ? '' : 'es'} succeeded`;
  if (needed <= 1)
    return good === 0 && total === 1
      ? 'the only branch did not succeed'
      : `none of ${total} branches succeeded`;
  const why =
    policy === 'wait_all' && onFailure === 'fail_fast' ? 'error_policy=fail_fast' : `join_policy=${policy}`;
  return `${of}, ${why} needs ${needed}`;
}

/** The class that all failures have, else `product`. Where none has failed, more successes are asked for than there are branches. */
function failedClass(branches: readonly JoinedBranch[]): FailureClass {
  const ends = branches.map(({ end }) => end).filter(hasFailed);
  const [first, ...others] = new Set(ends.map((end) => end.class ?? 'product'));
  if (first === undefined)
    return branches.some(({ end }) => end.status === 'cancelled') ? 'cancelled' : 'config';
  return others.length === 0 ? first : 'product';
}

/** Characters of a reason in the line that names all branches. */
const mostReason = 200;

/** One line: which branches have failed and why, which were cancelled, which succeeded. */
function summaryOf(branches: readonly JoinedBranch[]): string {
  const named = (of: readonly JoinedBranch[], word: string): readonly string[] =>
    of.length === 0 ? [] : [`${word}: ${of.map(({ id }) => id).join(', ')}`];
  const bad = branches.filter(({ end }) => hasFailed(end));
  const parts = [
    ...(bad.length === 0 ? [] : [`failed: ${bad.map(failureOf).join(', ')}`]),
    ...named(
      branches.filter(({ end }) => end.status === 'cancelled'),
      'cancelled',
    ),
    ...named(
      branches.filter(({ end }) => end.ok),
      'succeeded',
    ),
  ];
  return parts.length === 0 ? 'no branches' : parts.join('; ');
}

function failureOf({ id, end }: JoinedBranch): string {
  const line = end.reason.trim().replace(/\s+/g, ' ');
  const why = line.length > mostReason ? `${line.slice(0, mostReason)}…` : line;
  const words = [end.class ?? '', why].filter((one) => one !== '').join(': ');
  return words === '' ? id : `${id} (${words})`;
}

/* The context keys of a join. */

const results = 'parallel.results';

/** Whether a key is one of those that each join sets anew. */
export const isJoinKey = (key: string): boolean =>
  key === results || /^parallel\.(?:results|fan_in|conflicts)(?:\.|$)/.test(key);

/** Keys of the engine. Of a failure only its summary is handed on. */
const isEngines = (key: string): boolean =>
  ['outcome', 'current_node'].includes(key) ||
  /^(?:internal|graph)\./.test(key) ||
  (key.startsWith('last_failure.') && key !== 'last_failure.summary') ||
  isJoinKey(key);

function changesOf({ context }: JoinedBranch, base: Context): JsonObject {
  const { added, updated } = delta(base, context);
  const changed: Record<string, Json> = {};
  for (const key of [...Object.keys(added), ...Object.keys(updated)])
    if (!isEngines(key)) put(changed, key, own(context, key) ?? null);
  return changed;
}

/** The status of a branch in the words of outcomes, or `cancelled`. */
function branchStatus({ end, last }: JoinedBranch): OutcomeWord | 'cancelled' {
  if (end.status === 'cancelled') return 'cancelled';
  if (!end.ok) return 'fail';
  return last === 'partial_success' ? last : 'success';
}

/** Paths of a branch that its result lists, of each kind. */
const mostPaths = 200;

function resultKeys(branches: readonly JoinedBranch[], base: Context): JsonObject {
  const keys: Record<string, Json> = {};
  const list = branches.map((branch): JsonObject => {
    const { id, end, notes, files, item } = branch;
    const context_updates = changesOf(branch, base);
    const status = branchStatus(branch);
    for (const [key, value] of Object.entries(context_updates)) put(keys, `${results}.${id}.${key}`, value);
    keys[`${results}.${id}.outcome`] = status;
    const shown = Object.entries(files).map(([kind, paths]) => [kind, paths.slice(0, mostPaths)]);
    return {
      ...{ id, status, notes, reason: end.reason, failure_class: end.class },
      files: Object.fromEntries(shown),
      context_updates,
      ...(item === undefined ? {} : { item }),
    };
  });
  const best = bestOf(branches);
  return {
    [results]: list,
    ...keys,
    ...(best === undefined
      ? {}
      : { 'parallel.fan_in.best_id': best.id, 'parallel.fan_in.best_outcome': branchStatus(best) }),
    ...countersOf(branches, base),
  };
}

const ranks = ['success', 'partial_success', 'fail', 'cancelled'];

/** As other implementations choose it: by status, then by the number in the context key `score`, then by id. */
function bestOf(branches: readonly JoinedBranch[]): JoinedBranch | undefined {
  const score = ({ context }: JoinedBranch): number => {
    const value = Number(own(context, 'score') ?? Number.NaN);
    return Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value;
  };
  return [...branches].sort(
    (a, b) =>
      ranks.indexOf(branchStatus(a)) - ranks.indexOf(branchStatus(b)) ||
      (score(a) === score(b) ? 0 : score(b) - score(a)) ||
      (a.id < b.id ? -1 : 1),
  )[0];
}

/** What the engine counts by node: a node belongs to one branch. Goal gates are looked at apart. */
function countersOf(branches: readonly JoinedBranch[], base: Context): JsonObject {
  const counters: Record<string, Json> = {};
  for (const { context } of branches) {
    const { added, updated } = delta(base, context);
    for (const key of [...Object.keys(added), ...Object.keys(updated)])
      if (key.startsWith('internal.') && !isUnmetGatesKey(key)) put(counters, key, own(context, key) ?? null);
  }
  return counters;
}

type Lifted = { readonly values: JsonObject; readonly setIn: Readonly<Record<string, string>> };

/** The named keys, each of the first branch that has set it. */
function liftedKeys({ lifted }: JoinRules, counted: readonly JoinedBranch[], base: Context): Lifted {
  const values: Record<string, Json> = {};
  const setIn: Record<string, string> = {};
  for (const branch of counted.toReversed())
    for (const [key, value] of Object.entries(changesOf(branch, base))) {
      if (!lifted.includes(key)) continue;
      put(values, key, value);
      put(setIn, key, branch.id);
    }
  return { values, setIn };
}
