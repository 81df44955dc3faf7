/** Attempts at a node, with waits between them, until one is final. */
import { sumOfUsages } from '../../core/budget/usage.ts';
import { escalated, oneMore } from '../../core/escalation.ts';
import { isAgentType, waitType } from '../../core/graph.ts';
import { isHumanGate } from '../../core/human-gate.ts';
import { own } from '../../core/json.ts';
import { causeOfWait, type Outcome, reasonOf } from '../../core/outcome.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import {
  holdWaits,
  jittered,
  nextAttempt,
  noWaits,
  outageWaits,
  type Retry,
  retryPolicyOf,
  type Waits,
  withWait,
} from '../../core/retry.ts';
import { sourceOf } from '../../core/settings/typing.ts';
import { removeNow } from '../../platform/files/write.ts';
import { attemptContext } from '../node-context.ts';
import { type Executed, type Layer, type LayerContext, LimitReached } from './layer.ts';

export const retry: Layer = (next) => async (context) => {
  const { kind, node, signal, budget } = context;
  const decide = retryRules(context);
  let state = escalated(context.state, node);
  let { before } = context;
  let retries = own(state.retry_counts, node.id) ?? 0;
  let calls = own(state.calls, node.id) ?? 0;
  let repeats: string | undefined;
  let usage: Executed['usage'];
  for (let number = 1; ; number++) {
    const at = context.with({ state, before });
    const executed = await next(oneAttempt(at, { number, call: calls + 1, repeats }));
    before = executed.snapshot;
    if (executed.usage !== undefined) usage = sumOfUsages(usage, executed.usage);
    if (isAgentType(kind.type)) calls++;
    const result = { ...executed, usage, context: state.context, counts: { retries, calls } };
    if (signal.aborted || budget.calls.stop !== undefined) return result;
    const isCut = executed.outcome.status === 'fail' && executed.outcome.class === 'timeout';
    const over = isCut ? budget.outOfTime() : undefined;
    if (over !== undefined) throw new LimitReached(over);
    const { outcome, again } = decide(executed.outcome, number);
    if (!again.again) return { ...result, outcome: again.outcome };
    retries++;
    repeats = reasonOf(outcome);
    state = { ...state, context: { ...state.context, [`internal.retry_count.${node.id}`]: retries } };
    if (executed.outcome.status === 'fail' && executed.outcome.class === 'product')
      state = oneMore(state, node);
    const { delayMs, of } = again;
    await waitFor(context, { attempt: number + 1, of, retries, delayMs }, executed.outcome);
    if (signal.aborted) return result;
    const reached = budget.reached();
    if (reached !== undefined) throw new LimitReached(reached);
  }
};

/** Decides after each attempt of one execution. */
function retryRules({ run, node, kind, limits }: LayerContext) {
  const { caps, probes } = limits;
  const { park_after } = caps;
  const policy = retryPolicyOf(node, park_after);
  const outageMs = !isAgentType(kind.type) || probes ? 0 : park_after;
  let outage: Waits = noWaits;
  let holds: Waits = noWaits;
  let askedAgain = false;
  return (answered: Outcome, attempt: number): { readonly outcome: Outcome; readonly again: Retry } => {
    const outcome = withWait(answered, run.clock.now(), park_after, caps.park_passing);
    const down = outageWaits(outcome, outage, outageMs);
    const held = holdWaits(outcome, holds, park_after);
    const key = `${run.marker}.${node.id}.${attempt}`;
    // Waits for a provider or an account are no attempts at the work.
    const uncounted = outage.tries + holds.tries;
    const again: Retry =
      held !== undefined
        ? { again: true, delayMs: held.delayMs }
        : down === undefined
          ? later(nextAttempt({ ...policy, askedAgain }, attempt - uncounted, outcome), uncounted)
          : { again: true, delayMs: jittered(down.delayMs, key) };
    if (down !== undefined) outage = down;
    if (held !== undefined) holds = held;
    if (outcome.status === 'fail' && outcome.unsaid === true) askedAgain = true;
    return { outcome, again };
  };
}

/** The same, with so many attempts before. */
const later = (retry: Retry, by: number): Retry =>
  retry.again && retry.of !== undefined ? { ...retry, of: retry.of + by } : retry;

/** The context of an attempt that begins now. */
function oneAttempt(
  context: LayerContext,
  attempt: { readonly number: number; readonly call: number; readonly repeats: string | undefined },
): LayerContext {
  const { run, node, visit, nodeDir, budget } = context;
  run.log('debug', 'node attempt', { node: node.id, visit, attempt: attempt.number });
  const isOwn = sourceOf(node.settings, 'timeout') === 'node';
  // That of a human gate is about its question, and a wait says itself how long it takes.
  const limit =
    isHumanGate(node) || node.type === waitType ? Number.POSITIVE_INFINITY : node.settings.timeout;
  const left = Math.max(0, budget.timeLeft());
  const explicit = isOwn || left < limit;
  // Output of an earlier attempt must never count as this one's.
  const { output, toolState, response, reasoning, verificationResults, rerun } = nodeLayout(nodeDir);
  const stale = [output, toolState, response, reasoning, verificationResults, ...rerun];
  if (attempt.number > 1) for (const path of stale) removeNow(path);
  return attemptContext(context, {
    ...attempt,
    timeout: { ms: Math.min(limit, left), explicit, runLeftMs: left },
  });
}

async function waitFor(
  { run, node, kind, signal, budget, writer }: LayerContext,
  {
    attempt,
    of,
    retries,
    delayMs,
  }: Record<'attempt' | 'retries' | 'delayMs', number> & { readonly of: number | undefined },
  outcome: Outcome,
): Promise<void> {
  const cause = outcome.status === 'fail' ? causeOfWait(outcome.park) : 'retry';
  await writer.event({
    type: 'StageRetrying',
    node_id: node.id,
    retry_count: retries,
    attempt,
    ...(of === undefined ? {} : { of }),
    ...(cause === 'retry' ? {} : { cause }),
    reason: reasonOf(outcome),
    delay_ms: delayMs,
  });
  // A replay does not repeat the waits of the recorded run.
  const delay = isAgentType(kind.type) && run.replay?.follows === true ? 0 : delayMs;
  await run.clock.sleep(Math.min(delay, Math.max(0, budget.timeLeft())), signal);
}
