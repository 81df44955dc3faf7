/** What every queue of jobs keeps, wherever it keeps them. A queue's test opens with it. */
import { describe, expect, test } from 'vitest';
import type { ClaimRequest, JobQueue, JobTarget } from '../../src/core/contracts/job-queue.ts';
import type { Job, QueuedJob } from '../../src/core/records/job.ts';

/** Several processes with one queue. */
export interface TestedFleet extends AsyncDisposable {
  /** Opens the queue: for the worker of that name, or for a process that takes no jobs. Workers of different names are different
   *  processes that live until they are killed. */
  open(worker?: string): Promise<JobQueue>;
  /** Ends the process of a worker in the middle of its work; the others can find out. */
  kill(worker: string): Promise<void>;
  /** The time by the queue's clock, and a wait until it is that time. */
  now(): Date;
  until(at: Date): Promise<void>;
  /** How long it may take until another worker finds a dead one's jobs, in milliseconds of real time. */
  readonly patienceMs: number;
}

export const testJob = (run_id: string, more: Partial<Job> = {}): Job => ({
  schema_version: 1,
  run_id,
  title: run_id,
  priority: 0,
  submitted_at: '2026-01-01T00:00:00.000Z',
  submitted_by: 'a test',
  labels: [],
  request: { cwd: '/tmp', run: ['build.dot'], resume: [] },
  ...more,
});

/** A request of a worker that takes one job, of any label. */
export const anyJob = (more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  most: 1,
  mostOfLabel: {},
  leaves: new Set(),
  ...more,
});

const submit = (queue: JobQueue, jobs: readonly Job[], target: JobTarget = 'now') =>
  queue.submit(jobs.map((job) => ({ job, target })));
const idsOf = (jobs: readonly { readonly job: Job }[]): string[] => jobs.map(({ job }) => job.run_id);
const claimed = async (queue: JobQueue, more: Partial<ClaimRequest> = {}): Promise<string[]> =>
  idsOf(await queue.claim(anyJob({ most: 100, ...more })));
const states = async (queue: JobQueue): Promise<Record<string, string>> =>
  Object.fromEntries((await queue.list()).map(({ job, state }) => [job.run_id, state]));
const numbered = (count: number, more: Partial<Job> = {}): Job[] =>
  Array.from({ length: count }, (_, at) => testJob(`r${String(at).padStart(4, '0')}`, more));
const within = (fleet: TestedFleet, ms: number): Date => new Date(fleet.now().getTime() + ms);
const farOff = { dueAt: '2099-01-01T00:00:00.000Z' };

export function keepsTheQueueContract(what: string, make: () => Promise<TestedFleet>): void {
  describe(`${what} keeps the contract of queues:`, () => {
    describe('what is submitted', () => submissions(make));
    describe('a claim', () => claims(make));
    describe('labels', () => labels(make));
    describe('a job that a worker has', () => endings(make));
    describe('a job that no worker has', () => changes(make));
    describe('workers', () => workers(make));
  });
}

type Make = () => Promise<TestedFleet>;

function submissions(make: Make): void {
  test('is listed, and told apart by its run id', async () => {
    await using fleet = await make();
    const queue = await fleet.open();
    expect(await queue.list()).toEqual([]);
    expect(await queue.get('a')).toBeUndefined();
    const job = testJob('a', { labels: ['gpu', 'night'], after: 'b', priority: 7 });
    expect(await submit(queue, [job])).toEqual([true]);
    expect(await queue.list()).toEqual([{ job, state: 'waiting' }]);
    expect(await queue.get('a')).toEqual({ job, state: 'waiting' });
    expect(await queue.get('b')).toBeUndefined();
  });

  test('is added once as long as it is queued, wherever it is', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    expect(await submit(queue, [testJob('a'), testJob('b'), testJob('a')])).toEqual([true, true, false]);
    expect(await submit(queue, [testJob('b', { priority: 9 }), testJob('c')], 'held')).toEqual([false, true]);
    expect(await claimed(worker, { most: 1 })).toEqual(['a']);
    expect(await submit(queue, [testJob('a'), testJob('c')], farOff)).toEqual([false, false]);
    expect(await states(queue)).toEqual({ a: 'running', b: 'waiting', c: 'held' });
    await worker.finish('a');
    expect(await submit(queue, [testJob('a')])).toEqual([true]);
  });

  test('at the same time by several processes is added once', async () => {
    await using fleet = await make();
    const queues = await Promise.all([1, 2, 3, 4].map(() => fleet.open()));
    const answers = await Promise.all(queues.map((queue) => submit(queue, numbered(5))));
    for (let at = 0; at < 5; at++) expect(answers.filter((one) => one[at] === true)).toHaveLength(1);
    expect(idsOf((await queues[0]?.list()) ?? [])).toEqual(idsOf(numbered(5).map((job) => ({ job }))));
  });

  test('may be a thousand jobs, each of which is taken once', async () => {
    await using fleet = await make();
    const [queue, ...workers] = [await fleet.open(), await fleet.open('v'), await fleet.open('w')];
    expect(new Set(await submit(queue, numbered(1000)))).toEqual(new Set([true]));
    const got = await Promise.all(workers.map((worker) => claimed(worker, { most: 600 })));
    expect(got.flat().sort()).toEqual(idsOf(numbered(1000).map((job) => ({ job }))));
  });

  test('shows soon in other processes', async () => {
    await using fleet = await make();
    const [queue, other] = [await fleet.open(), await fleet.open()];
    await submit(queue, [testJob('a')]);
    const noticed = new Promise<void>((resolve) => other.onChange(resolve));
    await submit(queue, [testJob('b')]);
    await noticed;
    expect(await states(other)).toEqual({ a: 'waiting', b: 'waiting' });
  });

  test('shows to each that listens, until it listens no more', async () => {
    await using fleet = await make();
    const [queue, other] = [await fleet.open(), await fleet.open()];
    await submit(queue, [testJob('a')]);
    const heard: string[] = [];
    const end = other.onChange(() => heard.push('first'));
    const noticed = new Promise<void>((resolve) => {
      other.onChange(() => {
        heard.push('second');
        resolve();
      });
    });
    end();
    end();
    await submit(queue, [testJob('b')]);
    await noticed;
    expect(new Set(heard)).toEqual(new Set(['second']));
  });

  test('are listed by their state', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    await submit(queue, [testJob('runs')]);
    await claimed(worker, { most: 1 });
    await submit(queue, [testJob('waits')]);
    await submit(queue, [testJob('held')], 'held');
    await submit(queue, [testJob('sleeps')], farOff);
    const listed = async (state: QueuedJob['state']) => idsOf(await queue.list(state));
    expect(await listed('running')).toEqual(['runs']);
    expect(await listed('waiting')).toEqual(['waits']);
    expect(await listed('later')).toEqual(['sleeps']);
    expect(await listed('held')).toEqual(['held']);
  });
}

function claims(make: Make): void {
  test('takes by priority, then by time of submission, then by run id', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    const at = (second: number) => ({ submitted_at: `2026-01-01T00:00:0${second}.000Z` });
    await submit(queue, [
      testJob('late', at(3)),
      testJob('b-1', at(2)),
      testJob('b', at(2)),
      testJob('low', { ...at(0), priority: -999 }),
      testJob('high', { ...at(5), priority: 999 }),
      testJob('mid', { ...at(5), priority: 1 }),
    ]);
    const order = ['high', 'mid', 'b', 'b-1', 'late', 'low'];
    expect(idsOf(await queue.list())).toEqual(order);
    expect(await claimed(worker, { most: 2 })).toEqual(order.slice(0, 2));
    expect(await claimed(worker, { most: 0 })).toEqual([]);
    expect(await claimed(worker)).toEqual(order.slice(2));
    expect(await claimed(worker)).toEqual([]);
  });

  test('says whose the job is, since when, and what it is', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    await submit(queue, [testJob('a')]);
    const [job] = await worker.claim(anyJob());
    expect(job).toMatchObject({ job: testJob('a'), state: 'running' });
    expect(await queue.get('a')).toEqual(job);
    expect(await queue.list()).toEqual([job]);
  });

  test('leaves runs that the worker cannot execute', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, numbered(3));
    expect(await claimed(worker, { leaves: new Set(['r0000', 'r0002']) })).toEqual(['r0001']);
  });

  test('takes no job that is held, nor one that sleeps before its time', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, [testJob('held')], 'held');
    await submit(worker, [testJob('far')], farOff);
    await submit(worker, [testJob('past', { priority: 2 })], { dueAt: '2020-01-01T00:00:00.000Z' });
    expect(await states(worker)).toMatchObject({ held: 'held', far: 'later' });
    expect(await claimed(worker)).toEqual(['past']);
    const soon = within(fleet, 700);
    await submit(worker, [testJob('soon', { priority: 1 })], { dueAt: soon.toISOString() });
    await fleet.until(soon);
    await submit(worker, [testJob('due')]);
    expect(await claimed(worker)).toEqual(['soon', 'due']);
  });
}

function labels(make: Make): void {
  test('of a worker choose jobs all of whose labels it has', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, [
      testJob('both', { labels: ['a', 'b'] }),
      testJob('foreign', { labels: ['a', 'c'] }),
      testJob('none'),
      testJob('one', { labels: ['a'] }),
    ]);
    expect(await claimed(worker, { labels: ['b', 'a'] })).toEqual(['both', 'none', 'one']);
    expect(await claimed(worker, { labels: [] })).toEqual([]);
    expect(await claimed(worker)).toEqual(['foreign']);
  });

  test('that flood the queue leave room for others', async () => {
    await using fleet = await make();
    const [v, w] = [await fleet.open('v'), await fleet.open('w')];
    const caps = { mostOfLabel: { flood: 2 } };
    await submit(v, numbered(20, { labels: ['flood'], priority: 5 }));
    await submit(v, [testJob('x', { labels: ['other'] }), testJob('y')]);
    expect(await claimed(v, { ...caps, most: 3 })).toEqual(['r0000', 'r0001', 'x']);
    expect(await claimed(w, { ...caps, most: 3 })).toEqual(['y']);
    expect(await claimed(w, caps)).toEqual([]);
    await v.finish('r0000');
    expect(await claimed(w, caps)).toEqual(['r0002']);
    await v.delay(testJob('r0001', { labels: ['flood'] }), farOff);
    expect(await claimed(v, caps)).toEqual(['r0003']);
    expect(await claimed(w, caps)).toEqual([]);
  });

  test('of one job all count', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    const caps = { mostOfLabel: { a: 1, b: 1 } };
    await submit(worker, [
      testJob('1', { labels: ['a'] }),
      testJob('2', { labels: ['a', 'b'] }),
      testJob('3', { labels: ['b'] }),
    ]);
    expect(await claimed(worker, caps)).toEqual(['1', '3']);
    await worker.finish('1');
    expect(await claimed(worker, caps)).toEqual([]);
    await worker.finish('3');
    expect(await claimed(worker, caps)).toEqual(['2']);
  });

  test('keep their cap when many workers claim at once', async () => {
    await using fleet = await make();
    const workers = await Promise.all(Array.from({ length: 6 }, (_, at) => fleet.open(`w${at}`)));
    await submit(workers[0] as JobQueue, numbered(30, { labels: ['l'] }));
    for (let round = 0; round < 3; round++) {
      const got = await Promise.all(
        workers.map((worker) => claimed(worker, { most: 2, mostOfLabel: { l: 4 } })),
      );
      expect(got.flat()).toHaveLength(4);
      for (const [at, ids] of got.entries()) for (const id of ids) await workers[at]?.finish(id);
    }
  });
}

function endings(make: Make): void {
  test('is gone once it is finished; a second call changes nothing', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, [testJob('a')]);
    expect(await claimed(worker)).toEqual(['a']);
    await worker.finish('a');
    await worker.finish('a');
    expect(await worker.list()).toEqual([]);
    await submit(worker, [testJob('a')]);
    await worker.finish('a');
    expect(await states(worker)).toEqual({ a: 'waiting' });
  });

  const targets = [
    ['now', 'waiting'],
    ['held', 'held'],
    [farOff, 'later'],
  ] as const;
  test.for(targets)(
    'is put back to %j with its changed record; a second call changes nothing',
    async ([target, state]) => {
      await using fleet = await make();
      const [v, w] = [await fleet.open('v'), await fleet.open('w')];
      await submit(v, [testJob('a'), testJob('b')]);
      expect(await claimed(v, { most: 1 })).toEqual(['a']);
      const reason = { kind: 'quota', text: 'the quota is used up', at: '2026-01-01T00:00:00.000Z' } as const;
      const changed = testJob('a', { priority: -3, reason, crash: { execution: 'build@2', times: 1 } });
      await v.delay(changed, target);
      const due = typeof target === 'string' ? {} : { due_at: target.dueAt };
      expect(await w.get('a')).toEqual({ job: changed, state, ...due });
      await v.delay(testJob('a'), 'held');
      expect(await w.get('a')).toEqual({ job: changed, state, ...due });
      expect(await claimed(w)).toEqual(state === 'waiting' ? ['b', 'a'] : ['b']);
      await v.delay(testJob('a'), 'held');
      await v.finish('a');
      expect((await w.get('a'))?.state).toBe(state === 'waiting' ? 'running' : state);
    },
  );

  test("is still the worker's, or is not", async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, numbered(3));
    await claimed(worker, { most: 2 });
    expect(await worker.extend(['r0000', 'r0001', 'r0002', 'never'])).toEqual(['r0002', 'never']);
    await worker.finish('r0000');
    expect(await worker.extend(['r0000', 'r0001'])).toEqual(['r0000']);
  });

  test('cannot be changed nor removed by others', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    await submit(queue, [testJob('a')]);
    const [job] = await worker.claim(anyJob());
    expect(await queue.cancel('a')).toEqual({ kind: 'elsewhere', job });
    expect(await queue.change('a', { target: 'held', priority: 3 })).toEqual({ kind: 'elsewhere', job });
    expect(await worker.extend(['a'])).toEqual([]);
  });
}

function changes(make: Make): void {
  test('gets another priority, place and reason', async () => {
    await using fleet = await make();
    const [queue, worker] = [await fleet.open(), await fleet.open('w')];
    const reason = { kind: 'person', text: 'later', at: '2026-01-01T00:00:00.000Z' } as const;
    await submit(queue, [testJob('a'), testJob('b')]);
    expect(await queue.change('b', { priority: 4 })).toEqual({
      kind: 'done',
      job: { job: testJob('b', { priority: 4 }), state: 'waiting' },
    });
    expect(await queue.change('a', { target: 'held', reason })).toEqual({
      kind: 'done',
      job: { job: testJob('a', { reason }), state: 'held' },
    });
    await queue.change('a', { priority: 9 });
    expect(await queue.get('a')).toEqual({ job: testJob('a', { reason, priority: 9 }), state: 'held' });
    expect(await claimed(worker)).toEqual(['b']);
    await queue.change('a', { target: farOff });
    expect(await queue.change('a', { reason: null, priority: 0 })).toEqual({
      kind: 'done',
      job: { job: testJob('a'), state: 'later', due_at: farOff.dueAt },
    });
    await queue.change('a', { target: 'now' });
    expect(await claimed(worker)).toEqual(['a']);
    expect(await queue.change('c', { priority: 1 })).toEqual({ kind: 'none' });
  });

  test.for(['now', 'held', farOff] as const)('is removed from %j', async (target) => {
    await using fleet = await make();
    const queue = await fleet.open();
    await submit(queue, [testJob('a')], target);
    expect(await queue.cancel('a')).toMatchObject({ kind: 'done', job: { job: testJob('a') } });
    expect(await queue.cancel('a')).toEqual({ kind: 'none' });
    expect(await queue.list()).toEqual([]);
  });

  test('is either changed or taken, never both', async () => {
    await using fleet = await make();
    const [queue, v, w] = [await fleet.open(), await fleet.open('v'), await fleet.open('w')];
    const jobs = numbered(24);
    await submit(queue, jobs);
    const [first, second, ...changed] = await Promise.all([
      claimed(v, { most: 8 }),
      claimed(w, { most: 8 }),
      ...jobs.map(({ run_id }, at) =>
        at % 2 === 0 ? queue.cancel(run_id) : queue.change(run_id, { target: 'held' }),
      ),
    ]);
    const got = [...first, ...second];
    expect(new Set(got).size).toBe(got.length);
    for (const [at, { run_id }] of jobs.entries()) {
      const answer = changed[at];
      expect(answer?.kind).toBe(got.includes(run_id) ? 'elsewhere' : 'done');
      const state = (await queue.get(run_id))?.state;
      expect(state).toBe(got.includes(run_id) ? 'running' : at % 2 === 0 ? undefined : 'held');
    }
  });

  test('waits for its predecessor until it is released', async () => {
    await using fleet = await make();
    const worker = await fleet.open('w');
    await submit(worker, [testJob('a')]);
    await submit(worker, [testJob('b', { after: 'a', priority: 9 })], 'held');
    expect(await claimed(worker)).toEqual(['a']);
    await worker.finish('a');
    expect(await worker.get('a')).toBeUndefined();
    await worker.change('b', { target: 'now' });
    expect(await claimed(worker)).toEqual(['b']);
  });
}

function workers(make: Make): void {
  test("take over what a dead one has left, once, and its labels' places", async () => {
    await using fleet = await make();
    const [queue, dead] = [await fleet.open(), await fleet.open('dead')];
    const others = [await fleet.open('v'), await fleet.open('w')];
    const caps = { mostOfLabel: { l: 2 } };
    await submit(queue, [...numbered(3, { labels: ['l'] }), testJob('x'), testJob('y')]);
    const had = ['r0000', 'r0001', 'x', 'y'];
    expect(await claimed(dead, caps)).toEqual(had);
    expect(await others[0]?.takeOver(anyJob({ most: 9, ...caps }))).toEqual([]);
    await fleet.kill('dead');
    const ends = performance.now() + fleet.patienceMs;
    const got: string[] = [];
    const from = new Set<string>();
    while (got.length < had.length && performance.now() < ends) {
      const taken = await Promise.all(others.map((one) => one.takeOver(anyJob({ most: 2, ...caps }))));
      for (const one of taken.flat()) {
        got.push(one.job.run_id);
        from.add(one.from);
        expect(one).toMatchObject({ state: 'running', job: { taken_over: 1 } });
        expect(await queue.get(one.job.run_id)).toMatchObject({ state: 'running', job: one.job });
      }
    }
    expect(got.sort()).toEqual(had);
    expect(from.size).toBe(1);
    expect(await claimed(others[0] as JobQueue, caps)).toEqual([]);
    expect(await states(queue)).toMatchObject({ r0002: 'waiting', x: 'running' });
  });

  test('take over only what they may', async () => {
    await using fleet = await make();
    const [dead, worker] = [await fleet.open('dead'), await fleet.open('w')];
    await submit(dead, [testJob('a', { labels: ['l'] }), testJob('b'), testJob('c')]);
    await claimed(dead);
    await fleet.kill('dead');
    const ends = performance.now() + fleet.patienceMs;
    let got: string[] = [];
    while (got.length === 0 && performance.now() < ends)
      got = idsOf(await worker.takeOver(anyJob({ most: 9, labels: ['k'], leaves: new Set(['c']) })));
    expect(got).toEqual(['b']);
    expect((await states(worker))['a']).toBeDefined();
  });

  test('that are closed keep their jobs', async () => {
    await using fleet = await make();
    const [v, w] = [await fleet.open('v'), await fleet.open('w')];
    await submit(v, [testJob('a')]);
    await claimed(v);
    await v.close();
    expect(await w.takeOver(anyJob())).toEqual([]);
    expect(await states(w)).toEqual({ a: 'running' });
  });

  test('without a name take nothing', async () => {
    await using fleet = await make();
    const queue = await fleet.open();
    await submit(queue, [testJob('a')]);
    await expect(queue.claim(anyJob())).rejects.toThrow('without a worker');
    await expect(queue.finish('a')).rejects.toThrow('without a worker');
  });
}
