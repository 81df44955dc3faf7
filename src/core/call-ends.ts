/** How calls end: what a called pipeline comes to, and what of it its caller gets. Pure. */
import { isCallType } from './calls.ts';
import { evaluate, parseCondition } from './conditions.ts';
import { conditionLookup } from './context.ts';
import type { RunEnding } from './decision.ts';
import { type Graph, managerType, type Node } from './graph.ts';
import { type Json, own, put } from './json.ts';
import { type Context, emptyReport, failed, type Outcome, succeeded } from './outcome.ts';
import { planKeys } from './policy/verification-plan.ts';
import type { RunState } from './records/checkpoint.ts';
import type { Cursor, Fork } from './records/fork.ts';

/** The call that the execution of `node` ends; undefined for any other execution. */
export const callEndedAt = ({ fork }: Pick<RunState, 'fork'>, node: string): Fork | undefined =>
  fork?.call === true && fork.join === node ? fork : undefined;

/** How a manager ends its child after one of its executions, which has not led to an exit, if it does. */
export function managerEnd(
  { call }: Pick<Graph, 'call'>,
  { visits, visits_before = {} }: Pick<RunState, 'visits' | 'visits_before'>,
  after: { readonly context: Context; readonly outcome: Outcome; readonly isUnmet: boolean },
): RunEnding | undefined {
  if (call?.node.type !== managerType) return undefined;
  const { node } = call;
  // As at an exit: no success with an unmet goal gate.
  if (!after.isUnmet && stops(node, after)) return { ok: true, exitNode: null, reason: '', code: 0 };
  const most = node.settings['manager.max_cycles'];
  const ids = Object.keys(visits).filter((id) => id.startsWith(`${node.id}.`));
  const made = ids.reduce((sum, id) => sum + (visits[id] ?? 0) - (own(visits_before, id) ?? 0), 1);
  if (made < most) return undefined;
  const times = `${made} ${made === 1 ? 'execution' : 'executions'}`;
  return {
    ok: false,
    exitNode: null,
    reason: `max_cycles: node "${node.id}" has watched ${times} of its pipeline, which has not reached an exit, and its limit is ${most} (manager.max_cycles)`,
    code: 1,
    ofBranch: true,
  };
}

/** Whether the stop condition holds: it reads the called pipeline. */
function stops(
  { settings }: Node,
  { context, outcome }: { readonly context: Context; readonly outcome: Outcome },
) {
  const read = parseCondition(settings['manager.stop_condition'] ?? '');
  if (settings['manager.stop_condition'] === undefined || !('condition' in read)) return false;
  const lookup = conditionLookup(context, outcome);
  const bare = (key: string): string => key.replace(/^(?:context\.)?stack\.child\./, '');
  return evaluate(read.condition, (key) => lookup(bare(key)) ?? '');
}

/** What a call has come to for its caller. */
export type CallResult = {
  readonly outcome: Outcome;
  /** Who has set the keys that come back. */
  readonly origins: RunState['origins'];
  /** What the caller knows of a failure, besides what every failure says. */
  readonly failure: Readonly<Record<string, Json>>;
};

/** The result of a call whose pipeline has ended. `caller`: the graph with the call, `child`: that of its pipeline. */
export function callResult(caller: Graph, child: Graph, fork: Fork): CallResult {
  const [callee] = Object.values(fork.branches);
  const call = caller.nodes.get(fork.node);
  if (callee?.ended === undefined || call === undefined || !isCallType(call.type))
    throw new Error(`Internal: the call ${fork.node} has not ended`);
  const { updates, origins } = returned(call, caller, child, callee);
  const { ok, reason, class: of } = callee.ended;
  const { last_outcome: last, context } = callee;
  const report = { ...emptyReport, updates, notes: last?.notes ?? '' };
  if (ok) {
    const isPartial = last?.status === 'partial_success';
    return {
      outcome: isPartial ? { ...report, status: 'partial_success' } : succeeded(report),
      ...{ origins, failure: {} },
    };
  }
  const outcome = failed(reason, of ?? 'product', { ...report, ...causeOf(callee) });
  const known = ['last_failure.summary', 'last_failure.artifacts'].flatMap((key) => {
    const value = own(context, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return { outcome, origins, failure: Object.fromEntries(known) };
}

/** What a failure of a call keeps of the failure in its pipeline. */
function causeOf({ last_outcome: last, last_failure: failure }: Cursor) {
  if (failure === null) return {};
  const { class_said, exit_code, model, attribution, command, judge } = failure;
  return {
    broke: last?.status === 'fail' && last.broke,
    classSaid: class_said,
    ...(exit_code === null ? {} : { exitCode: exit_code }),
    ...(model === null ? {} : { model }),
    ...(attribution === undefined ? {} : { attribution }),
    ...(command === undefined ? {} : { command }),
    ...(judge === undefined ? {} : { judge }),
  };
}

/** The keys that the call returns. A plan counts as a tool's only where the called pipeline has such a plan itself: there a tool that
 *  sets it needs `sets_plan`. */
function returned({ settings }: Node, caller: Graph, child: Graph, { context, origins: setters }: Cursor) {
  const updates: Record<string, Json> = {};
  const origins: Record<string, 'engine' | 'agent' | 'tool'> = {};
  const plansAbove = planKeys(caller);
  const plansInside = planKeys(child);
  for (const key of settings.returns ?? []) {
    const value = own(context, key);
    if (value === undefined) continue;
    put(updates, key, value);
    const by = own(setters, key) ?? 'engine';
    put(origins, key, by === 'tool' && plansAbove.has(key) && !plansInside.has(key) ? 'agent' : by);
  }
  return { updates, origins };
}
