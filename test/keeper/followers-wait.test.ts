import { expect, test } from 'vitest';
import type { QueuedJob } from '../../src/core/records/job.ts';
import { openReleases } from '../../src/keeper/followers.ts';
import { queueReport } from '../../src/keeper/queue-report.ts';
import { handClock } from '../support/clock.ts';

test('a job that was behind another waits since that one has left the queue', async () => {
  const clock = handClock();
  const at = new Date(clock.now().getTime() - 3_600_000).toISOString();
  const reason = { kind: 'after', text: 'in order behind first', at } as const;
  let queued: QueuedJob = {
    state: 'held',
    job: {
      ...{ schema_version: 1, run_id: 'second', title: '', priority: 0, submitted_at: at, submitted_by: '' },
      ...{ labels: [], request: { cwd: '/w', run: ['a.dot'], resume: [] }, after: 'first', reason },
    },
  };
  const queue = {
    place: 'folder',
    list: async () => [queued],
    get: async () => undefined,
    onChange: () => () => undefined,
    async change(_: string, change: { readonly reason?: QueuedJob['job']['reason'] | null }) {
      queued = { state: 'waiting', job: { ...queued.job, reason: change.reason ?? undefined } } as QueuedJob;
      return { kind: 'done', job: queued } as const;
    },
  };
  await openReleases(queue, { runsDir: '/none', clock }).look();
  const { jobs } = await queueReport(queue, { runsDir: '/none', clock, cwd: '/w' });
  expect(jobs).toMatchObject([{ run_id: 'second', state: 'waiting', reason: null, waited_ms: 0 }]);
});
