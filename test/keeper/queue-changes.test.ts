/** What `factory queue move`, `hold` and `drop` do to jobs, also to those that a worker has. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readActs } from '../../src/app/acts.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Job, QueuedJob } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { dropJob, holdJob, moveJobs } from '../../src/keeper/queue-changes.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { call } from '../support/verb.ts';

let runsDir = '';
let queue: JobQueue;
const open = async (worker?: ReturnType<typeof thisProcess>): Promise<JobQueue> => {
  const opened = await openQueue(runsDir, { clock: realClock, env: {}, worker });
  if ('problems' in opened) throw new Error('no queue');
  return opened;
};
const job = (run_id: string, more: Partial<Job> = {}): Job => ({
  ...{ schema_version: 1, run_id, title: `The ${run_id}`, priority: 0 },
  ...{ submitted_at: '2026-03-01T12:00:00.000Z', submitted_by: 'ada', labels: [] },
  ...{ request: { cwd: '/w', run: ['a.dot'], resume: [] }, ...more },
});
const host = (clock: Clock = realClock) => ({ runsDir, clock, who: 'ada' });
const inOrder = async () => (await queue.list()).map((one) => `${one.job.run_id} ${one.state}`);
const placeOf = async (id: string): Promise<QueuedJob | undefined> => queue.get(id);

beforeEach(async () => {
  runsDir = mkdtempSync(join(tmpdir(), 'factory-changes-'));
  queue = await open();
  await queue.submit([
    ...['a', 'b', 'c'].map((id) => ({ job: job(id), target: 'now' as const })),
    { job: job('night', { title: 'Nightly' }), target: { dueAt: '2099-01-01T00:00:00.000Z' } },
  ]);
});
afterEach(async () => {
  await queue.close();
  rmSync(runsDir, { recursive: true, force: true });
});

test('first goes before all that wait or sleep, last behind them', async () => {
  await moveJobs(queue, 'c', { to: 'first' }, host());
  await moveJobs(queue, 'a', { to: 'last' }, host());
  expect(await inOrder()).toEqual(['c waiting', 'b waiting', 'a waiting', 'night later']);
  expect(await moveJobs(queue, 'nightly', { to: 'first' }, host())).toMatchObject({
    ...{ run_id: 'night', answer: 'moved', state: 'later', priority: 2, has_run: false },
  });
});

test('nothing goes before the highest priority', async () => {
  await moveJobs(queue, 'a', { priority: 999 }, host());
  expect(await moveJobs(queue, 'b', { to: 'first' }, host())).toMatchObject({
    problems: [{ message: 'another job has the highest priority, 999' }],
  });
});

test('a job is made due, or put to sleep until a time', async () => {
  await moveJobs(queue, 'night', { to: 'now' }, host());
  const slept = await moveJobs(queue, 'a', { notBefore: '2h' }, host());
  expect(await inOrder()).toEqual(['b waiting', 'c waiting', 'night waiting', 'a later']);
  const until = 'due_at' in slept ? slept.due_at : undefined;
  expect((await placeOf('a'))?.job.reason).toMatchObject({ kind: 'not_before', until });
  expect((await placeOf('night'))?.job.reason).toBeUndefined();
});

test('a held job stays until it is moved, and says who held it and why', async () => {
  mkdirSync(join(runsDir, 'b'));
  await holdJob(queue, 'b', ' not \n today ', host());
  expect(await placeOf('b')).toMatchObject({
    ...{ state: 'held', job: { reason: { kind: 'person', text: 'held by ada: not today' } } },
  });
  await moveJobs(queue, 'b', { to: 'now' }, host());
  await dropJob(queue, 'b', host());
  expect(await inOrder()).toEqual(['a waiting', 'c waiting', 'night later']);
  expect(readActs(join(runsDir, 'b'))).toMatchObject([
    { who: 'ada', what: 'queue', change: 'hold', why: 'not today' },
    { what: 'queue', change: 'move', state: 'waiting' },
    { what: 'queue', change: 'drop' },
  ]);
});

/** A clock with whose first wait the worker acts. */
const whenWaited = (act: () => Promise<void>): Clock => {
  let done = false;
  return {
    ...realClock,
    sleep: async () => {
      if (!done) await act();
      done = true;
    },
  };
};

test.for([
  ['drop', ['a waiting', 'b waiting', 'night later']],
  ['hold', ['a waiting', 'b waiting', 'night later', 'c held']],
] as const)('%s of a job that a worker has waits until it is put back', async ([verb, left]) => {
  await moveJobs(queue, 'c', { to: 'first' }, host());
  const worker = await open(thisProcess());
  const [mine] = await worker.claim({ most: 1, mostOfLabel: {}, leaves: new Set() });
  if (mine === undefined) throw new Error('nothing to claim');
  expect(await moveJobs(queue, 'c', { to: 'last' }, host())).toMatchObject({
    problems: [{ code: 'job-running' }],
  });
  const clock = whenWaited(() => worker.delay(mine.job, 'held'));
  const done = verb === 'drop' ? dropJob(queue, 'c', host(clock)) : holdJob(queue, 'c', '', host(clock));
  expect(await done).toMatchObject({ answer: verb === 'drop' ? 'dropped' : 'held' });
  expect(await inOrder()).toEqual(left);
  await worker.close();
});

test('a run that ends first has left the queue; one that does not stop is waited for no longer than asked', async () => {
  await moveJobs(queue, 'c', { to: 'first' }, host());
  const worker = await open(thisProcess());
  await worker.claim({ most: 1, mostOfLabel: {}, leaves: new Set() });
  const timed = { ...host(), timeoutMs: 0 };
  expect(await dropJob(queue, 'c', timed)).toMatchObject({ answer: 'stopping', state: 'running' });
  const clock = whenWaited(() => worker.finish('c'));
  expect(await dropJob(queue, 'c', host(clock))).toMatchObject({ answer: 'ended', state: null });
  await worker.close();
});

test.for([
  [['move', 'a'], 2, 'nothing says where to move it'],
  [['move', 'a', '--first', '--now'], 2, 'a job is moved to one place'],
  [['move', 'a', '--not-before', 'soon'], 2, '"soon" is no time'],
  [['move', 'zz', '--now'], 2, 'there is no job "zz" in the queue (it has 4)'],
  [['hold', 'the'], 2, '3 jobs are called "the": a, b, c'],
  [['move', 'a', '--priority', '-7'], 0, 'waiting, priority -7'],
  [['drop', 'night'], 0, 'run night (Nightly) has left the queue'],
] as const)('queue %j answers with %i', async ([words, code, text]) => {
  const ran = await call(['queue', ...words, '--runsdir', runsDir], {}, { cwd: '/', env: {} });
  expect([ran.code, ran.out + ran.err]).toEqual([code, expect.stringContaining(text)]);
});
