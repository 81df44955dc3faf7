/** The holds of accounts, as the report of a queue has them. */
import type { Hold } from '../core/records/hold.ts';
import type { QueuedJob } from '../core/records/job.ts';
import type { QueueHoldRow } from '../core/records/queue-report.ts';

/** Holds with the jobs whose runs wait for them: their providers have said the same, and they are due about then or later: calls
 *  under way have met the limit with resets that differ a little. */
export const holdRows = (holds: readonly Hold[], queued: readonly QueuedJob[]): QueueHoldRow[] =>
  holds.map(({ id, agent, endpoint, model, until, since, reason }) => ({
    ...{ id, agent, endpoint, model, until, since },
    runs: queued.flatMap((one) => (waitsFor(one, until, reason) ? [one.job.run_id] : [])),
  }));

const waitsFor = (queued: QueuedJob, until: string, reason: string): boolean =>
  queued.state === 'later' &&
  queued.job.reason?.kind === 'quota' &&
  queued.job.reason.text.includes(reason) &&
  Date.parse(queued.due_at) >= Date.parse(until) - 60_000;
