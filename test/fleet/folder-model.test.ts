/** Random calls of several processes against a model of what a queue is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JobQueue, JobTarget } from '../../src/core/contracts/job-queue.ts';
import type { Job } from '../../src/core/records/job.ts';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { type Self, thisProcess } from '../../src/platform/process/table.ts';
import { handClock } from '../support/clock.ts';
import { testJob } from '../support/queue-contract.ts';

type Place = { job: Job; state: 'waiting' | 'held' } | { job: Job; state: 'later'; due: number } | Running;
type Running = { job: Job; state: 'running'; worker: number };

/** The queue as a map; every call is a few lines. */
class Model {
  readonly jobs = new Map<string, Place>();
  now = 0;

  put(job: Job, target: JobTarget): void {
    if (target === 'now') this.jobs.set(job.run_id, { job, state: 'waiting' });
    else if (target === 'held') this.jobs.set(job.run_id, { job, state: 'held' });
    else this.jobs.set(job.run_id, { job, state: 'later', due: Date.parse(target.dueAt) });
  }
  claim(
    worker: number,
    most: number,
    labels: readonly string[] | undefined,
    cap: number | undefined,
  ): string[] {
    const isDue = (one: Place) => one.state === 'waiting' || (one.state === 'later' && one.due <= this.now);
    const order = [...this.jobs.values()].filter(isDue).sort((a, b) => compare(a.job, b.job));
    const got: string[] = [];
    for (const { job } of order) {
      if (got.length === most) break;
      if (labels?.length === 0 && job.labels.length > 0) continue;
      if (labels !== undefined && !job.labels.every((label) => labels.includes(label))) continue;
      const running = [...this.jobs.values()].filter(
        (one) => one.state === 'running' && one.job.labels.includes('l'),
      );
      if (cap !== undefined && job.labels.includes('l') && running.length >= cap) continue;
      this.jobs.set(job.run_id, { job, state: 'running', worker });
      got.push(job.run_id);
    }
    return got;
  }
  ofWorker(runId: string, worker: number): Job | undefined {
    const one = this.jobs.get(runId);
    return one?.state === 'running' && one.worker === worker ? one.job : undefined;
  }
}

const compare = (a: Job, b: Job): number =>
  b.priority - a.priority ||
  Date.parse(a.submitted_at) - Date.parse(b.submitted_at) ||
  (a.run_id < b.run_id ? -1 : 1);

type Call = (model: Model, queues: readonly JobQueue[]) => Promise<void>;

const ids = ['a', 'a-1', 'b', 'c', 'd', 'e'];
const id = fc.constantFrom(...ids);
const worker = fc.constantFrom(0, 1, 2);
const start = handClock().now().getTime();
const target: fc.Arbitrary<JobTarget> = fc.oneof(
  fc.constantFrom<JobTarget>('now', 'held'),
  fc.integer({ min: -50, max: 300 }).map((s) => ({ dueAt: new Date(start + s * 1000).toISOString() })),
);
const job = fc
  .record({
    id,
    priority: fc.integer({ min: -2, max: 2 }),
    at: fc.integer({ min: 0, max: 3 }),
    labels: fc.subarray(['l', 'm']),
  })
  .map(({ id, priority, at, labels }) =>
    testJob(id, { priority, labels, submitted_at: new Date(start + at).toISOString() }),
  );

const submits = fc.array(fc.record({ job, target }), { minLength: 1, maxLength: 4 }).map(
  (all): Call =>
    async (model, queues) => {
      const added = all.map(({ job, target }) => {
        const isNew = !model.jobs.has(job.run_id);
        if (isNew) model.put(job, target);
        return isNew;
      });
      expect(await queues[0]?.submit(all)).toEqual(added);
    },
);
const claims = fc
  .record({
    worker,
    most: fc.integer({ min: 0, max: 3 }),
    labels: fc.option(fc.subarray(['l', 'm']), { nil: undefined }),
    cap: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
  })
  .map(
    ({ worker, most, labels, cap }): Call =>
      async (model, queues) => {
        const got = await queues[worker]?.claim({
          most,
          labels,
          mostOfLabel: cap === undefined ? {} : { l: cap },
          leaves: new Set(),
        });
        expect(got?.map(({ job }) => job.run_id)).toEqual(model.claim(worker, most, labels, cap));
      },
  );
const finishes = fc.tuple(id, worker).map(
  ([id, worker]): Call =>
    async (model, queues) => {
      if (model.ofWorker(id, worker) !== undefined) model.jobs.delete(id);
      await queues[worker]?.finish(id);
    },
);
const delays = fc.tuple(job, worker, target).map(
  ([job, worker, target]): Call =>
    async (model, queues) => {
      const before = model.ofWorker(job.run_id, worker);
      const changed = { ...job, labels: before?.labels ?? [] };
      if (before !== undefined) model.put(changed, target);
      await queues[worker]?.delay(changed, target);
    },
);
const cancels = id.map(
  (id): Call =>
    async (model, queues) => {
      const one = model.jobs.get(id);
      const kind = one === undefined ? 'none' : one.state === 'running' ? 'elsewhere' : 'done';
      if (kind === 'done') model.jobs.delete(id);
      expect((await queues[1]?.cancel(id))?.kind).toBe(kind);
    },
);
const changes = fc.tuple(id, fc.integer({ min: -2, max: 2 }), fc.option(target, { nil: undefined })).map(
  ([id, priority, target]): Call =>
    async (model, queues) => {
      const one = model.jobs.get(id);
      const kind = one === undefined ? 'none' : one.state === 'running' ? 'elsewhere' : 'done';
      if (one !== undefined && one.state !== 'running') {
        const job = { ...one.job, priority };
        if (target === undefined) model.jobs.set(id, { ...one, job });
        else model.put(job, target);
      }
      const change = { priority, ...(target === undefined ? {} : { target }) };
      expect((await queues[2]?.change(id, change))?.kind).toBe(kind);
    },
);
const extensions = worker.map(
  (worker): Call =>
    async (model, queues) => {
      const lost = ids.filter((id) => model.ofWorker(id, worker) === undefined);
      expect(await queues[worker]?.extend(ids)).toEqual(lost);
    },
);

async function isAsModelled(model: Model, queue: JobQueue | undefined): Promise<void> {
  const all = await queue?.list();
  const shown = all?.map((one) => [
    one.job,
    one.state,
    one.state === 'later' ? Date.parse(one.due_at) : undefined,
  ]);
  const expected = [...model.jobs.values()].map((one) => [
    one.job,
    one.state,
    one.state === 'later' ? one.due : undefined,
  ]);
  const byId = (a: unknown[], b: unknown[]) => ((a[0] as Job).run_id < (b[0] as Job).run_id ? -1 : 1);
  expect(shown?.sort(byId)).toEqual(expected.sort(byId));
}

/** Three processes, of which this one is one. */
const selves: readonly Self[] = [1, 2, 3].map((n) => ({
  ...thisProcess(),
  ...(n === 1 ? {} : { host: `host-${n}` }),
}));

test('any calls of three workers, one after the other, do what a map of jobs would do', async () => {
  const waits = fc.integer({ min: 1, max: 100 });
  const calls = fc.oneof(
    { weight: 3, arbitrary: submits },
    { weight: 4, arbitrary: claims },
    { weight: 2, arbitrary: finishes },
    { weight: 3, arbitrary: delays },
    cancels,
    { weight: 2, arbitrary: changes },
    extensions,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(calls, waits), { maxLength: 40 }), async (all) => {
      const runsDir = mkdtempSync(join(tmpdir(), 'factory-queue-'));
      const clock = handClock();
      const queues = selves.map((self) =>
        openFolderQueue(runsDir, { clock: { ...clock, sleep: realClock.sleep }, worker: self }),
      );
      const model = new Model();
      model.now = start;
      for (const [call, seconds] of all) {
        await call(model, queues);
        await isAsModelled(model, queues[seconds % 3]);
        // Not so long that a worker of another host would be dead.
        if (seconds <= 10) {
          clock.advance(seconds * 1000);
          model.now += seconds * 1000;
        }
      }
      for (const queue of queues) await queue.close();
      rmSync(runsDir, { recursive: true, force: true });
    }),
    { numRuns: 40 },
  );
});
