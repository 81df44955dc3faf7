/** Decides whether a failed attempt is retried, and after how long. */
import { asksClass, classesNamed, type EdgeCondition } from './conditions.ts';
import { isAgentType, type Node } from './graph.ts';
import {
  endsByTime,
  type Failure,
  failed,
  isFinalConfig,
  type Outcome,
  type Park,
  pausedBy,
  type SuspendedRun,
} from './outcome.ts';
import { isReset, spentWindows, windowsOf } from './quota-windows.ts';
import { reportedStrength } from './records/strength.ts';
import type { Route } from './routing.ts';
import { sha256 } from './sha256.ts';
import { isTooWeak } from './strength.ts';

export type RetryPolicy = {
  /** Extra attempts; undefined when neither node nor graph sets them. */
  readonly maxRetries: number | undefined;
  readonly delayMs: number;
  readonly backoff: number;
  readonly maxDelayMs: number;
  readonly onFail: boolean;
  readonly allowPartial: boolean;
  /** A codergen node: a failure of class `infra` gets two retries unless `maxRetries` is given. */
  readonly isAgent: boolean;
  /** Milliseconds; a longer wait that a server asks for suspends the run. */
  readonly park_after: number;
  /** A goal gate was already asked again in this execution, since its answer had no verdict. */
  readonly askedAgain?: boolean;
};

/** The policy of a node's executions. */
export const retryPolicyOf = (
  { settings, type }: Pick<Node, 'settings' | 'type'>,
  park_after: number,
): RetryPolicy => ({
  maxRetries: settings.max_retries,
  delayMs: settings.retry_delay,
  backoff: settings.retry_backoff,
  maxDelayMs: settings.retry_max_delay,
  onFail: settings.retry_on === 'fail',
  allowPartial: settings.allow_partial,
  isAgent: isAgentType(type),
  park_after,
});

export type Retry =
  | {
      readonly again: true;
      readonly delayMs: number;
      /** The last attempt that there may be; undefined where only time limits them. */
      readonly of?: number;
    }
  | { readonly again: false; readonly outcome: Outcome };

/** The next wait for a provider that is down; undefined where it is not that, or the run has waited long enough. What the agent
 *  itself has waited counts. `max_retries` does not limit it: no attempt has been made at the work. */
export function outageWaits(
  outcome: Outcome,
  before: Waits,
  mostMs: number,
): (Waits & { readonly delayMs: number }) | undefined {
  if (outcome.status !== 'fail' || outcome.park?.kind !== 'outage' || outcome.park.within === true)
    return undefined;
  const waits = { ...before, waitedMs: before.waitedMs + (outcome.park.waitedMs ?? 0) };
  const delayMs = nextWait(waits, mostMs, outcome.retryAfterMs);
  if (delayMs === undefined) return undefined;
  return { tries: before.tries + 1, waitedMs: waits.waitedMs + delayMs, delayMs };
}

/** The wait for a hold of the call's account, within the run; undefined where it is not that, or would be longer than `mostMs` with
 *  those before. `max_retries` does not limit it: no attempt has been made at the work. */
export function holdWaits(
  outcome: Outcome,
  before: Waits,
  mostMs: number,
): (Waits & { readonly delayMs: number }) | undefined {
  if (outcome.status !== 'fail' || outcome.park?.held !== true) return undefined;
  const delayMs = outcome.retryAfterMs ?? 0;
  const waitedMs = before.waitedMs + delayMs;
  return waitedMs > mostMs ? undefined : { tries: before.tries + 1, waitedMs, delayMs };
}

/** First wait, in milliseconds, before the retry of an agent after a failure of network or server. */
const infraDelayMs = 1000;
const infraRetries = 2;

/** Decides after the `attempt`-th attempt (from 1) of an execution. */
export function nextAttempt(policy: RetryPolicy, attempt: number, answered: Outcome): Retry {
  const { unsaid, ...outcome } = answered.status === 'fail' ? answered : { ...answered, unsaid: undefined };
  const done: Retry = { again: false, outcome };
  if (unsaid === true && policy.askedAgain !== true)
    return {
      again: true,
      delayMs: backedOff(policy, attempt),
      of: Math.max(attempt, policy.maxRetries ?? 0) + 1,
    };
  if (outcome.status === 'fail') {
    const infra = outcome.class === 'infra';
    // Guardrail violations, cancellations and budget limits are never retried.
    if (outcome.class === 'guardrail' || outcome.class === 'cancelled' || outcome.class === 'budget')
      return done;
    if (isFinalConfig(outcome) || outcome.park?.held === true) return done;
    // The mutants are drawn by product and suite: the same ones would be judged again.
    if (isTooWeak(reportedStrength(outcome.updates))) return done;
    if (outcome.park !== undefined && isLong(outcome.park, outcome.retryAfterMs, policy.park_after))
      return done;
    if (!infra && !policy.onFail) return done;
    const own = infra && policy.isAgent && policy.maxRetries === undefined;
    const retries = own ? infraRetries : (policy.maxRetries ?? 0);
    if (attempt > retries) return done;
    const planned = own ? infraDelayMs * 2 ** (attempt - 1) : backedOff(policy, attempt);
    // A wait that the server asks for counts, up to the longest that a run waits.
    const requested = Math.min(outcome.retryAfterMs ?? 0, Math.max(policy.park_after, policy.maxDelayMs));
    return {
      again: true,
      delayMs: Math.max(Math.min(planned, policy.maxDelayMs), requested),
      of: retries + 1,
    };
  }
  if (outcome.status !== 'retry') return done;
  const { maxRetries = 0 } = policy;
  if (attempt <= maxRetries) return { again: true, delayMs: backedOff(policy, attempt), of: maxRetries + 1 };
  const { status: _, reason, ...rest } = outcome;
  if (policy.allowPartial) return { again: false, outcome: { ...rest, status: 'partial_success' } };
  return { again: false, outcome: failed(reason === '' ? 'retry_exhausted' : reason, 'product', rest) };
}

/** A delay of 0 stays 0, also where the power overflows to Infinity. */
const backedOff = ({ delayMs, backoff, maxDelayMs }: RetryPolicy, attempt: number): number =>
  delayMs === 0 ? 0 : Math.min(delayMs * backoff ** (attempt - 1), maxDelayMs);

/* Decides whether a failed call suspends the run, and until when. Pure. */

/** Milliseconds to wait for a quota whose reset time is unknown. */
const guessMs = 15 * 60_000;

/** Upper bound of a wait: one year. */
const mostMs = 365 * 86_400_000;

/** Lower bound of the wait after `again` waits in vain; it grows, so that a server is not asked at the same pace all night. */
const leastMs = (again: number): number => (again === 0 ? 0 : Math.min(60_000 * 2 ** (again - 1), guessMs));

/** Normalizes what an outcome says about waiting: a server's wait longer than `park_after` becomes a quota, and the wait of a
 *  quota is in `retryAfterMs`. Without `park_passing`, neither a rate limit without a time nor an outage suspends the run. */
export function withWait(outcome: Outcome, now: Date, park_after: number, park_passing = true): Outcome {
  if (outcome.status !== 'fail') return outcome;
  const { park, retryAfterMs, class: failureClass } = outcome;
  if (park?.unsaid === true || (park?.kind === 'outage' && park.within !== true)) {
    const { park: _, ...passing } = outcome;
    return park_passing ? outcome : passing;
  }
  if (park === undefined) {
    return failureClass === 'infra' && (retryAfterMs ?? 0) > park_after
      ? { ...outcome, park: { kind: 'quota' } }
      : outcome;
  }
  if (park.kind !== 'quota' && park.kind !== 'wait' && park.kind !== 'cap') return outcome;
  const wait = park.wakeAtMs === undefined ? retryAfterMs : Math.max(0, park.wakeAtMs - now.getTime());
  return { ...outcome, retryAfterMs: wait ?? guessMs };
}

/** Why and until when the run is suspended after a final outcome, or undefined if it continues. An edge whose condition is
 *  true carries the failure; for a quota, an outage or the wait of a nested run the condition must name `failure_class`,
 *  since those end by themselves and are no fault of the product. No edge takes a cap per day: another node would meet it too. */
export function suspension(
  outcome: Outcome,
  route: Route | undefined,
  at: {
    readonly node: string;
    readonly now: Date;
    readonly before: SuspendedRun | undefined;
    readonly max_windows: number;
  },
): SuspendedRun | undefined {
  if (outcome.status !== 'fail' || outcome.park === undefined) return undefined;
  const { kind, within, untimed } = outcome.park;
  const condition = route?.how === 'condition' ? route.edge?.condition : undefined;
  const status = pausedBy(kind);
  // A restart would begin the same call again at once, until none is left.
  const author = !endsByTime(status) && within !== true && route?.edge?.restarts !== true;
  if (kind !== 'cap' && condition !== undefined && (author || namesClass(condition))) return undefined;
  const again = at.before === undefined ? 0 : (at.before.again ?? 0) + 1;
  const wait = kind === 'outage' ? outageWait(outcome, again, at) : quotaWait(outcome, again, at.now);
  const windows = windowsOf(outcome.park, at);
  const isSpent = isReset(outcome.park) && windows >= at.max_windows;
  const reason =
    kind === 'outage' && within !== true ? `the provider is down: ${outcome.reason}` : outcome.reason;
  const isTimed = endsByTime(status) && untimed !== true && !isSpent;
  return {
    status,
    node: at.node,
    reason: isSpent ? `${spentWindows(windows, at.max_windows)}; ${reason}` : reason,
    wake_at: isTimed ? new Date(at.now.getTime() + wait).toISOString() : null,
    since: at.now.toISOString(),
    ...(again === 0 ? {} : { again }),
    ...(windows === 0 ? {} : { windows }),
  };
}

function quotaWait({ park, retryAfterMs }: Failure, again: number, now: Date): number {
  if (park?.unsaid === true) return leastMs(again + 1);
  // A time that is named counts to the millisecond: all runs that wait for it wait for the same.
  const wait = park?.wakeAtMs === undefined ? (retryAfterMs ?? guessMs) : park.wakeAtMs - now.getTime();
  return Math.max(leastMs(again), park?.kind === 'cap' ? wait : Math.min(wait, mostMs));
}

/** At least as long as the server asks for, or a nested run waits. */
function outageWait(
  { park, retryAfterMs }: Failure,
  again: number,
  { node, now }: { readonly node: string; readonly now: Date },
): number {
  const asked = park?.wakeAtMs === undefined ? (retryAfterMs ?? 0) : park.wakeAtMs - now.getTime();
  const own = jittered(suspendedWait(again), `${node}.${now.toISOString()}`);
  return Math.max(own, Math.min(asked, mostMs));
}

/** Whether the wait is too long for a retry within the run. */
const isLong = (park: Park, retryAfterMs: number | undefined, park_after: number): boolean =>
  park.kind !== 'quota' ||
  park.untimed === true ||
  (park.unsaid !== true && (retryAfterMs ?? guessMs) > park_after);

function namesClass(condition: EdgeCondition): boolean {
  switch (condition.op) {
    // A word for several classes is about failures of the node, and takes no wait.
    case 'compare':
      return asksClass(condition.key) && classesNamed(condition) === undefined;
    case 'truthy':
      return asksClass(condition.key);
    case 'not':
      return namesClass(condition.of);
    default:
      return namesClass(condition.left) || namesClass(condition.right);
  }
}

/* How long an outage of a provider is waited for: within a call or a run first, then while the run is suspended. Pure. */

/** Milliseconds before the first repetition; each wait is twice as long as the one before. */
const firstMs = 1000;

/** Milliseconds of the first and the longest wait of a suspended run. */
const firstSuspendedMs = 60_000;
const longestMs = 5 * 60_000;

/** Waits for one outage so far. */
export type Waits = { readonly tries: number; readonly waitedMs: number };
export const noWaits: Waits = { tries: 0, waitedMs: 0 };

/** The next wait, so that all of them together take `mostMs`; undefined when that is over, or when the server asks for a longer
 *  wait (`askedMs`). */
export function nextWait({ tries, waitedMs }: Waits, mostMs: number, askedMs = 0): number | undefined {
  const left = mostMs - waitedMs;
  if (left <= 0 || askedMs > left) return undefined;
  const wait = Math.max(firstMs * 2 ** Math.min(tries, 40), askedMs);
  // The last wait takes the rest, and is not shorter than the one before.
  return left - wait < wait ? left : wait;
}

/** The wait of a run that is suspended after `again` such waits in vain. */
export const suspendedWait = (again: number): number =>
  Math.min(firstSuspendedMs * 2 ** Math.min(again, 40), longestMs);

/** The wait less up to a quarter of it, so that many runs do not ask a server that is back at the same moment. The same `key`
 *  gives the same part: a replay decides alike. */
export const jittered = (ms: number, key: string): number =>
  Math.round(ms * (1 - Number.parseInt(sha256(key).slice(0, 8), 16) / 2 ** 34));
