/** How often the same request is tried, and how long the waits between the tries are. */
import { causeOfWait } from '../../core/outcome.ts';
import { jittered, nextWait } from '../../core/retry.ts';
import { failedResponse, type ModelResponse } from './answer.ts';
import type { RequestFailure } from './failure.ts';
import type { Request } from './request.ts';
import type { Watch } from './watch.ts';

export interface Retries {
  /** Tries so far, the first one included. */
  readonly count: number;
  /** Milliseconds of the waits for a provider that is down. */
  readonly outlastedMs: number;
  /** Waits for the next try; false when there is none. The wait that the server asks for is kept; one that is longer than
   *  all waits may be is left to the run. */
  wait(trouble: RequestFailure): Promise<boolean>;
}

/** `mostMs`: milliseconds that all waits may take together. `keeps`: giving up would lose what was paid for. */
export function retries(
  request: Request,
  watch: Watch,
  mostMs = request.maxWaitMs,
  keeps = (request.talk?.turns.length ?? 0) > 0,
): Retries {
  let done = 0;
  let waited = 0;
  let outlasted = 0;
  const sleep = (delayMs: number, { reason, park }: RequestFailure['report'], of?: number): Promise<void> => {
    const reset = park?.kind === 'quota' ? park.wakeAtMs : undefined;
    request.waits?.({
      ...{ attempt: done + 2, cause: causeOfWait(park), reason, delayMs },
      ...(of === undefined ? {} : { of }),
      ...(reset === undefined ? {} : { resetMs: reset }),
    });
    return request.clock.sleep(delayMs, watch.signal);
  };
  /** Waits for a provider that is down; where nothing would be lost, the run repeats the call instead. */
  const outlasts = async (outageMs: number, report: RequestFailure['report']): Promise<boolean> => {
    const most = keeps ? outageMs : 0;
    const wait = nextWait({ tries: done, waitedMs: outlasted }, most, report.retryAfterMs);
    if (wait === undefined) return false;
    await sleep(jittered(wait, `${request.prompt}.${done}`), report);
    outlasted += wait;
    done += 1;
    return watch.stopped === undefined;
  };
  return {
    get count() {
      return done + 1;
    },
    get outlastedMs() {
      return outlasted;
    },
    async wait({ again, report }) {
      if (report.park?.kind === 'outage' && request.outageMs) return outlasts(request.outageMs, report);
      const asked = report.retryAfterMs;
      if (asked !== undefined && asked > (request.park_after ?? Number.POSITIVE_INFINITY)) return false;
      const wait = asked ?? Math.min(request.firstRetryMs * 2 ** done, mostMs);
      if (!again || done >= request.maxRetries || waited + wait > mostMs) return false;
      await sleep(wait, report, request.maxRetries + 1);
      waited += wait;
      done += 1;
      return watch.stopped === undefined;
    },
  };
}

/** Makes a request with `send` until there is an answer or no hope for one. */
export async function untilAnswered(
  request: Request,
  { watch, passed }: { readonly watch: Watch; readonly passed: (exchange: ModelResponse) => void },
  send: () => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const tries = retries(request, watch);
  for (;;) {
    const got = await send();
    if (got.kind !== 'trouble' || watch.stopped !== undefined) return got;
    if (!(await tries.wait(got.trouble))) return withTries(got, got.trouble, tries);
    passed(got);
  }
}

/** The exchange with a note in its reason, how and how often it was tried, and for an outage how long it was waited for. */
export function withTries(
  got: ModelResponse,
  trouble: RequestFailure,
  { count, outlastedMs }: Pick<Retries, 'count' | 'outlastedMs'>,
  how = '',
): ModelResponse {
  const often = count === 1 ? '' : `after ${count} tries`;
  const note = [how, often].filter((word) => word !== '').join(', ');
  const reason = note === '' ? trouble.report.reason : `${trouble.report.reason} (${note})`;
  const { park } = trouble.report;
  const waited =
    park?.kind === 'outage' && outlastedMs > 0 ? { park: { ...park, waitedMs: outlastedMs } } : {};
  return { ...failedResponse({ ...trouble, report: { ...trouble.report, reason, ...waited } }, got) };
}
