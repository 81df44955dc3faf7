/** Decides whether a failed attempt is retried, and after how long. */
import { nextWait, type Waits } from '../model/outage.ts';
import type { Outcome } from '../model/outcome.ts';
import { failed } from '../model/outcome.ts';
import { isLong } from './park.ts';

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
  readonly parkAfterMs: number;
  /** A goal gate was already asked again in this execution, since its answer had no verdict. */
  readonly askedAgain?: boolean;
};

export type Retry =
  | { readonly again: true; readonly delayMs: number }
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

/** First wait, in milliseconds, before the retry of an agent after a failure of network or server. */
const infraDelayMs = 1000;
const infraRetries = 2;

/** Decides after the `attempt`-th attempt (from 1) of an execution. */
export function nextAttempt(policy: RetryPolicy, attempt: number, answered: Outcome): Retry {
  const { unsaid, ...outcome } = answered.status === 'fail' ? answered : { ...answered, unsaid: undefined };
  const done: Retry = { again: false, outcome };
  if (unsaid === true && policy.askedAgain !== true)
    return { again: true, delayMs: backedOff(policy, attempt) };
  if (outcome.status === 'fail') {
    const infra = outcome.class === 'infra';
    // Guardrail violations, cancellations and budget limits are never retried.
    if (outcome.class === 'guardrail' || outcome.class === 'cancelled' || outcome.class === 'budget')
      return done;
    if (outcome.park !== undefined && isLong(outcome.park, outcome.retryAfterMs, policy.parkAfterMs))
      return done;
    if (!infra && !policy.onFail) return done;
    const own = infra && policy.isAgent && policy.maxRetries === undefined;
    if (attempt > (own ? infraRetries : (policy.maxRetries ?? 0))) return done;
    const planned = own ? infraDelayMs * 2 ** (attempt - 1) : backedOff(policy, attempt);
    // A wait that the server asks for counts, up to the longest that a run waits.
    const requested = Math.min(outcome.retryAfterMs ?? 0, Math.max(policy.parkAfterMs, policy.maxDelayMs));
    return { again: true, delayMs: Math.max(Math.min(planned, policy.maxDelayMs), requested) };
  }
  if (outcome.status !== 'retry') return done;
  if (attempt <= (policy.maxRetries ?? 0)) return { again: true, delayMs: backedOff(policy, attempt) };
  const { status: _, reason, ...rest } = outcome;
  if (policy.allowPartial) return { again: false, outcome: { ...rest, status: 'partial_success' } };
  return { again: false, outcome: failed(reason === '' ? 'retry_exhausted' : reason, 'product', rest) };
}

/** A delay of 0 stays 0, also where the power overflows to Infinity. */
const backedOff = ({ delayMs, backoff, maxDelayMs }: RetryPolicy, attempt: number): number =>
  delayMs === 0 ? 0 : Math.min(delayMs * backoff ** (attempt - 1), maxDelayMs);
