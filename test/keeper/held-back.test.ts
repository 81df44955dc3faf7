import { expect, test } from 'vitest';
import type { Job, JobPlace, QueuedJob } from '../../src/core/records/job.ts';
import type { QueueCapRow, QueueWorkerRow } from '../../src/core/records/queue-report.ts';
import { whyNotRunning } from '../../src/keeper/held-back.ts';

const job = (more: Partial<Job> = {}): Job => ({
  ...{
    schema_version: 1,
    run_id: 'r1',
    title: 'Clock',
    priority: 0,
    submitted_at: '2026-03-01T20:00:00.000Z',
  },
  ...{ submitted_by: 'ada', labels: [], request: { cwd: '/w', run: ['a.dot'], resume: [] }, ...more },
});
const queued = (more: Partial<Job> = {}, place: JobPlace = { state: 'waiting' }): QueuedJob => ({
  job: job(more),
  ...place,
});
const worker = (more: Partial<QueueWorkerRow> = {}): QueueWorkerRow => ({
  ...{ name: 'w1', host: 'here', pid: 7, state: 'alive', since: '2026-03-01T19:00:00.000Z', version: '1' },
  ...{ slots: 2, busy: 0, engine_starts: 0, take_overs: 0 },
  ...{ labels: null, draining: false, refuses: '', leaves: [], ...more },
});
const twoOf = (label: string, spent: number): QueueCapRow => ({
  ...{ label, measure: 'runs', limit: 2, spent, reserved: 0, rest: 2 - spent, resets_at: null, stops: [] },
});
const reason = (kind: NonNullable<Job['reason']>['kind'], text: string): Pick<Job, 'reason'> => ({
  reason: { kind, text, at: '2026-03-01T20:00:00.000Z' },
});

type Facts = {
  workers?: QueueWorkerRow[];
  caps?: QueueCapRow[];
  before?: number;
  titles?: [string, string][];
};

test.for<[string, QueuedJob, Facts, string]>([
  ['without a worker', queued(), {}, 'no worker runs'],
  ['with dead workers only', queued(), { workers: [worker({ state: 'dead' })] }, 'no worker runs'],
  ['of another host that is not known to be dead', queued(), { workers: [worker({ state: 'unknown' })] }, ''],
  ['with a free slot', queued(), { workers: [worker({ busy: 1 })] }, ''],
  [
    'with a label that no worker has',
    queued({ labels: ['big', 'gpu'] }),
    { workers: [worker({ labels: ['gpu'] })] },
    'no worker takes the labels "big" and "gpu"',
  ],
  ['without a label, and a worker that has some', queued(), { workers: [worker({ labels: ['gpu'] })] }, ''],
  [
    'with a label of which as many run as may',
    queued({ labels: ['gpu'] }),
    { workers: [worker()], caps: [twoOf('gpu', 2)] },
    'the label "gpu" is full: 2 of 2 runs',
  ],
  [
    'with a label that has room',
    queued({ labels: ['gpu'] }),
    { workers: [worker()], caps: [twoOf('gpu', 1)] },
    '',
  ],
  [
    'that every worker leaves',
    queued(),
    { workers: [worker({ leaves: [{ run_id: 'r1', why: 'the key of its holdout is missing' }] })] },
    'no worker can execute it: the key of its holdout is missing',
  ],
  [
    'that one of two workers leaves',
    queued(),
    {
      workers: [
        worker({ leaves: [{ run_id: 'r1', why: 'no key' }] }),
        worker({ name: 'w2', slots: 1, busy: 1 }),
      ],
    },
    'the only slot is taken',
  ],
  [
    'of a draining worker',
    queued(),
    { workers: [worker({ draining: true })] },
    'its workers take no more: they are draining',
  ],
  [
    'of a worker without disk',
    queued(),
    { workers: [worker({ refuses: '200 MB are free: less than --min-free 1GB' })] },
    '200 MB are free: less than --min-free 1GB',
  ],
  ['first of those that wait', queued(), { workers: [worker({ busy: 2 })] }, 'all 2 slots are taken'],
  [
    'behind others',
    queued(),
    { workers: [worker({ busy: 2 })], before: 3 },
    'all 2 slots are taken, 3 go first',
  ],
  [
    'behind as many as are free',
    queued(),
    { workers: [worker({ busy: 1 })], before: 1 },
    '1 slot free, 1 goes first',
  ],
])('why a due job %s does not run', ([, one, { workers = [], caps = [], before = 0, titles = [] }, why]) => {
  expect(whyNotRunning(one, before, { workers, caps, titles: new Map(titles) })).toBe(why);
});

test.for<[string, QueuedJob, Facts, string]>([
  [
    'one that sleeps',
    queued(reason('quota', 'the quota of openai is used up until 03:00'), {
      state: 'later',
      due_at: '2026-03-02T03:00:00.000Z',
    }),
    {},
    'the quota of openai is used up until 03:00',
  ],
  [
    'one on hold',
    queued(reason('person', 'held by ada: not today'), { state: 'held' }),
    {},
    'held by ada: not today',
  ],
  [
    'one behind another',
    queued({ after: 'r0', ...reason('after', '') }, { state: 'held' }),
    { titles: [['r0', 'Alarm']] },
    'in order behind r0 (Alarm)',
  ],
  [
    'one behind another that has just left the queue',
    queued({ after: 'r0', ...reason('after', '') }, { state: 'held' }),
    {},
    'in order behind r0',
  ],
  ['one that runs', queued({}, { state: 'running', worker: 'w1', since: '' }), { workers: [worker()] }, ''],
  [
    'one of a dead worker',
    queued({}, { state: 'running', worker: 'w1', since: '' }),
    { workers: [worker({ state: 'dead' })] },
    'its worker w1 is gone: the next one takes it over',
  ],
])('why: %s', ([, one, { workers = [], caps = [], titles = [] }, why]) => {
  expect(whyNotRunning(one, 0, { workers, caps, titles: new Map(titles) })).toBe(why);
});
