/** Whether a failed call parks the run, and until when. Pure. */
import type { Condition } from '../model/condition.ts';
import type { Outcome } from '../model/outcome.ts';
import { type Park, type Parked, pausedBy } from '../model/park.ts';
import type { Route } from './route.ts';

/** Milliseconds after which a quota is looked for again of which nobody says when it is there. */
const guessMs = 15 * 60_000;

/** No wait is longer than a year, whatever a server says. */
const mostMs = 365 * 86_400_000;

/** A server whose own time was waited for in vain is not asked at the same pace all night. */
const leastMs = (again: number): number => (again === 0 ? 0 : Math.min(60_000 * 2 ** (again - 1), guessMs));

/** The outcome with what it says of waiting in one form: a server's wait that is longer than `parkAfterMs` is a quota,
 *  and a quota's wait stands in `retryAfterMs`. Without `parkUnsaid` nothing waits for a limit that nobody tells the end of. */
export function withWait(outcome: Outcome, now: Date, parkAfterMs: number, parkUnsaid = true): Outcome {
  if (outcome.status !== 'fail') return outcome;
  const { park, retryAfterMs, class: failureClass } = outcome;
  if (park?.unsaid === true) {
    const { park: _, ...passing } = outcome;
    return parkUnsaid ? outcome : passing;
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

/** What the run waits for after a final outcome, or undefined where it goes on. An edge whose condition is true carries
 *  the failure; but a quota comes back by itself, and nothing that a stage's own run waits for is the product's fault, so there
 *  the condition must speak of `failure_class`. */
export function parked(
  outcome: Outcome,
  route: Route | undefined,
  at: { readonly node: string; readonly now: Date; readonly before: Parked | undefined },
): Parked | undefined {
  if (outcome.status !== 'fail' || outcome.park === undefined) return undefined;
  const { kind, within } = outcome.park;
  const condition = route?.how === 'condition' ? route.edge?.condition : undefined;
  const author = kind !== 'quota' && within !== true;
  if (condition !== undefined && (author || namesClass(condition))) return undefined;
  const again = at.before === undefined ? 0 : (at.before.again ?? 0) + 1;
  const { unsaid } = outcome.park;
  const wait =
    unsaid === true
      ? leastMs(again + 1)
      : Math.max(leastMs(again), Math.min(outcome.retryAfterMs ?? guessMs, mostMs));
  return {
    status: pausedBy(kind),
    node: at.node,
    reason: outcome.reason,
    wake_at: kind === 'quota' ? new Date(at.now.getTime() + wait).toISOString() : null,
    since: at.now.toISOString(),
    ...(again === 0 ? {} : { again }),
  };
}

/** Whether waiting for this is not for a retry within the run. */
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
