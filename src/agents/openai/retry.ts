/** How often the same request is tried, and how long the waits between the tries are. */
import { type Exchange, failed } from './answer.ts';
import type { Trouble } from './failure.ts';
import type { Request } from './request.ts';
import type { Watch } from './watch.ts';

export interface Retries {
  /** Tries so far, the first one included. */
  readonly count: number;
  /** Waits for the next try; false when there is none. The wait that the server asks for is kept; one that is longer than
   *  all waits may be is left to the run. */
  wait(trouble: Trouble): Promise<boolean>;
}

/** `mostMs`: milliseconds that all waits may take together. */
export function retries(request: Request, watch: Watch, mostMs = request.maxWaitMs): Retries {
  let done = 0;
  let waited = 0;
  return {
    get count() {
      return done + 1;
    },
    async wait({ again, report }) {
      const asked = report.retryAfterMs;
      if (asked !== undefined && asked > (request.parkAfterMs ?? Number.POSITIVE_INFINITY)) return false;
      const wait = asked ?? Math.min(request.firstRetryMs * 2 ** done, mostMs);
      if (!again || done >= request.maxRetries || waited + wait > mostMs) return false;
      await request.clock.sleep(wait, watch.signal);
      waited += wait;
      done += 1;
      return watch.stopped === undefined;
    },
  };
}

/** The exchange with a note in its reason: how and how often it was tried. */
export function withTries(got: Exchange, trouble: Trouble, tries: number, how = ''): Exchange {
  const often = tries === 1 ? '' : `after ${tries} tries`;
  const note = [how, often].filter((word) => word !== '').join(', ');
  const reason = note === '' ? trouble.report.reason : `${trouble.report.reason} (${note})`;
  return { ...failed({ ...trouble, report: { ...trouble.report, reason } }, got) };
}
