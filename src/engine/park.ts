/** Decides whether a failed call suspends the run, and until when. Pure. */
import type { Condition } from '../model/condition.ts';
import { jittered, suspendedWait } from '../model/outage.ts';
import type { Failure, Outcome } from '../model/outcome.ts';
import { endsByTime, type Park, type Parked, pausedBy } from '../model/park.ts';
import type { Route } from './route.ts';

/** Milliseconds to wait for a quota whose reset time is unknown. */
const guessMs = 15 * 60_000;

/** Upper bound of a wait: one year. */
const mostMs = 365 * 86_400_000;

/** Lower bound of the wait after `again` waits in vain; it grows, so that a server is not asked at the same pace all night. */
const leastMs = (again: number): number => (again === 0 ? 0 : Math.min(60_000 * 2 ** (again - 1), guessMs));

/** Normalizes what an outcome says about waiting: a server's wait longer than `parkAfterMs` becomes a quota, and the wait of a
 *  quota is in `retryAfterMs`. Without `parkPassing`, neither a rate limit without a time nor an outage suspends the run. */
export function withWait(outcome: Outcome, now: Date, parkAfterMs: number, parkPassing = true): Outcome {
  if (outcome.status !== 'fail') return outcome;
  const { park, retryAfterMs, class: failureClass } = outcome;
  if (park?.unsaid === true || (park?.kind === 'outage' && park.within !== true)) {
    const { park: _, ...passing } = outcome;
    return parkPassing ? outcome : passing;
  }
  if (park === undefined) {
    return failureClass === 'infra' && (retryAfterMs ?? 0) > parkAfterMs
      ? { ...outcome, park: { kind: 'quota' } }
      : outcome;
  }
  if (park.kind !== 'quota') return outcome;
  const wait = park.wakeAtMs === undefined ? retryAfterMs : Math.max(0, park.wakeAtMs - now.getTime());
  return { ...outcome, retryAfterMs: wait ?? guessMs };
}

/** Why and until when the run is suspended after a final outcome, or undefined if it continues. An edge whose condition is
 *  true carries the failure; for a quota, an outage or the wait of a nested run the condition must name `failure_class`,
 *  since those end by themselves and are no fault of the product. */
export function suspension(
  outcome: Outcome,
  route: Route | undefined,
  at: { readonly node: string; readonly now: Date; readonly before: Parked | undefined },
): Parked | undefined {
  if (outcome.status !== 'fail' || outcome.park === undefined) return undefined;
  const { kind, within } = outcome.park;
  const condition = route?.how === 'condition' ? route.edge?.condition : undefined;
  const status = pausedBy(kind);
  const author = !endsByTime(status) && within !== true;
  if (condition !== undefined && (author || namesClass(condition))) return undefined;
  const again = at.before === undefined ? 0 : (at.before.again ?? 0) + 1;
  const wait = kind === 'outage' ? outageWait(outcome, again, at) : quotaWait(outcome, again);
  return {
    status,
    node: at.node,
    reason: kind === 'outage' && within !== true ? `the provider is down: ${outcome.reason}` : outcome.reason,
    wake_at: endsByTime(status) ? new Date(at.now.getTime() + wait).toISOString() : null,
    since: at.now.toISOString(),
    ...(again === 0 ? {} : { again }),
  };
}

function quotaWait({ park, retryAfterMs }: Failure, again: number): number {
  if (park?.unsaid === true) return leastMs(again + 1);
  return Math.max(leastMs(again), Math.min(retryAfterMs ?? guessMs, mostMs));
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
export const isLong = (park: Park, retryAfterMs: number | undefined, parkAfterMs: number): boolean =>
  park.kind !== 'quota' || (park.unsaid !== true && (retryAfterMs ?? guessMs) > parkAfterMs);

function namesClass(condition: Condition): boolean {
  switch (condition.op) {
    case 'compare':
    case 'truthy':
      return condition.key === 'failure_class';
    case 'not':
      return namesClass(condition.of);
    default:
      return namesClass(condition.left) || namesClass(condition.right);
  }
}
