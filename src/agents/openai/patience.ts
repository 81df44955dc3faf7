/** How often the same thing is tried, and how long is waited between the tries. */
import type { Request } from './client.ts';
import type { Exchange } from './ending.ts';
import type { Trouble } from './failure.ts';
import type { Watch } from './watch.ts';

export interface Patience {
  /** Tries so far, the first one included. */
  readonly tries: number;
  /** Waits for the next try; false when there shall be none. The wait that the server asks for is kept; one that is
   *  longer than all waits may be is no wait of this call. */
  wait(trouble: Trouble): Promise<boolean>;
}

/** `mostMs` are the milliseconds that all waits may take together. */
export function patience(request: Request, watch: Watch, mostMs = request.maxWaitMs): Patience {
  let retries = 0;
  let waited = 0;
  return {
    get tries() {
      return retries + 1;
    },
    async wait({ again, report }) {
      if ((report.retryAfterMs ?? 0) > (request.parkAfterMs ?? Number.POSITIVE_INFINITY)) return false;
      const wait = report.retryAfterMs ?? Math.min(request.firstRetryMs * 2 ** retries, mostMs);
      if (!again || retries >= request.maxRetries || waited + wait > mostMs) return false;
      await request.clock.sleep(wait, watch.signal);
      waited += wait;
      retries += 1;
      return watch.stopped === undefined;
    },
  };
}

/** Says in the report how and how often it was tried. */
export function worded(got: Exchange, trouble: Trouble, tries: number, how = ''): Exchange {
  const often = tries === 1 ? '' : `after ${tries} tries`;
  const note = [how, often].filter((word) => word !== '').join(', ');
  if (note === '') return got;
  const report = { ...trouble.report, reason: `${trouble.report.reason} (${note})` };
  return { ...got, kind: 'trouble', trouble: { ...trouble, report } };
}
