/** Limits on time, money and tokens, of the node and of the run: checked before each model call and shared with nested runs. */
import { capHit, keptOf, ofRun, spendHit } from '../../core/budget/limits.ts';
import { isGate } from '../../core/goal-gates.ts';
import { isAgentType } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import type { Caps } from '../../core/settings/limits.ts';
import { openBudgetGuard } from '../budget-guard.ts';
import { environmentOf, passedTo } from '../environment.ts';
import { holdGate } from '../holds.ts';
import { type ExecutionBudget, type Layer, type LayerContext, LimitReached } from './layer.ts';

export const budget: Layer = (next) => async (context) => {
  const opened = openBudget(context);
  const executed = await next(context.with({ budget: opened }));
  const { stop } = opened.calls;
  // Resume repeats a cancelled execution.
  if (stop !== undefined && !context.signal.aborted) throw new LimitReached(stop);
  return executed;
};

export function openBudget({ run, node, kind, visit, state, limits }: LayerContext): ExecutionBudget {
  const { caps, costs, elapsed } = limits;
  const wants = node.settings;
  const began = elapsed();
  const cutMs = state.cut_ms ?? 0;
  const nodeElapsed = () => (own(state.node_ms ?? {}, node.id) ?? 0) + cutMs + elapsed() - began;
  const leftOf = (most: number | undefined, took: number) =>
    most === undefined ? Number.POSITIVE_INFINITY : most - took;
  const runLeft = () => leftOf(caps.max_wall, elapsed());
  const kept = keptOf(reserveFor({ run, node, kind }), caps);
  const outOfTime = () => {
    const at = { id: node.id, max_visits: Number.POSITIVE_INFINITY, visits: 0 };
    const time = { max_wall: wants.max_wall, elapsedMs: nodeElapsed() };
    return capHit(caps, { ...at, ...time }, { steps: -1, elapsedMs: elapsed() });
  };
  return {
    calls: openBudgetGuard({
      costs,
      caps,
      nodeCaps: { max_cost_usd: wants.max_cost_usd, max_tokens: wants.max_tokens },
      kept,
      wallLeft: runLeft,
      node: node.id,
      visit,
      branch: run.branch,
      clock: run.clock,
      gates: [...holdGates({ run, node, caps }), ...(run.gates ?? [])],
    }),
    timeLeft: () => Math.min(runLeft() - kept.ms, leftOf(wants.max_wall, nodeElapsed())),
    outOfTime,
    reached: () => {
      const spent = { caps, spent: costs.run(), unpriced: costs.unpriced() };
      return outOfTime() ?? ofRun(spendHit(spent, caps.unknown_cost));
    },
  };
}

/** What looks at the holds of accounts, where the run knows them. */
function holdGates({ run, node, caps }: Pick<LayerContext, 'run' | 'node'> & { readonly caps: Caps }) {
  const { holds, clock, parkedBefore } = run;
  if (holds === undefined) return [];
  const early = run.early === true && parkedBefore !== undefined;
  const mask = (text: string) => environmentOf(run, passedTo(run, node)).mask(text);
  const { park_after } = caps;
  const wakeAt = run.waited === true ? parkedBefore?.wake_at : undefined;
  const waitedUntil = wakeAt == null ? undefined : Date.parse(wakeAt);
  return [holdGate({ holds, clock, park_after, early, waitedUntil, mask })];
}

/** The part of the limits that the node must leave for verification. */
function reserveFor({ run, node, kind }: Pick<LayerContext, 'run' | 'node' | 'kind'>) {
  // A goal gate verifies, so it may use the budget reserved for verification.
  if (!isAgentType(kind.type) || node.settings.uses_reserve || isGate(node)) return undefined;
  return run.graph.settings.verify_reserve;
}
