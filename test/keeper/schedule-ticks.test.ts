/** Workers submit the runs of schedules: each time once, however many workers look and whenever they are killed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Schedule, scheduledRunId } from '../../src/core/records/schedule.ts';
import { lateMs } from '../../src/fleet/due-times.ts';
import {
  addSchedule,
  readProgress,
  readScheduleProblem,
  removeSchedule,
  replaceSchedule,
} from '../../src/fleet/schedules.ts';
import { type ScheduleTick, type SubmitScheduled, scheduleTicks } from '../../src/keeper/schedule-ticks.ts';
import { temp } from '../platform/temp.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A runs directory with schedules, a queue that is a set of run ids, and a clock that the test moves. */
async function place(from: string) {
  const it = await temp();
  let now = Date.parse(from);
  const runs = new Set<string>();
  const queued: string[] = [];
  const clock = { now: () => new Date(now), monotonic: () => now };
  let answer: (runId: string) => 'take' | 'lose' | 'refuse' | 'break' = () => 'take';
  const submit: SubmitScheduled = async ({ name }, runId) => {
    const how = answer(runId);
    if (how === 'break') throw new Error('the database is away');
    if (how === 'refuse') return { kind: 'refused', text: `${name} has no pipeline` };
    if (runs.has(runId)) return { kind: 'already' };
    runs.add(runId);
    queued.push(runId);
    // The worker is killed, or loses its database, right after that.
    if (how === 'lose') throw new Error('the answer was lost');
    return { kind: 'submitted' };
  };
  const schedule = (more: Partial<Schedule> = {}): Schedule => ({
    ...{
      schema_version: 1,
      name: 'nightly',
      cron: '30 2 * * *',
      zone: 'Europe/Berlin',
      missed: 'once',
      paused: false,
    },
    ...{ from: clock.now().toISOString(), created_at: clock.now().toISOString(), created_by: 'ann' },
    request: {
      cwd: it.dir,
      source: 'p.dot',
      flags: {},
      vars: {},
      strict: false,
      allow_dirty: false,
      priority: 0,
    },
    ...more,
  });
  return {
    ...{ ...it, dir: it.dir, runs, queued, schedule, clock },
    worker: () => scheduleTicks(it.dir, submit, clock),
    add: async (more?: Partial<Schedule>) => {
      const one = schedule(more);
      expect(await addSchedule(it.dir, one)).toBe(true);
      return one;
    },
    advance: (ms: number) => {
      now += ms;
    },
    until: (to: string) => {
      now = Date.parse(to);
    },
    answers: (how: typeof answer) => {
      answer = how;
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

/** `20260329T010000Z` as RFC 3339. */
const timeOfId = (id: string): string =>
  id.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5');

const ids = ({ submitted }: ScheduleTick): string[] => submitted.map(({ run_id }) => run_id);

test.for([
  [
    'spring in Berlin',
    'Europe/Berlin',
    '2026-03-28T12:00Z',
    '2026-03-30T12:00Z',
    ['20260329T010000Z', '20260330T003000Z'],
  ],
  [
    'autumn in Berlin',
    'Europe/Berlin',
    '2026-10-24T12:00Z',
    '2026-10-26T12:00Z',
    ['20261025T003000Z', '20261026T013000Z'],
  ],
  [
    'spring in New York',
    'America/New_York',
    '2026-03-07T12:00Z',
    '2026-03-09T12:00Z',
    ['20260308T070000Z', '20260309T063000Z'],
  ],
  [
    'autumn in New York',
    'America/New_York',
    '2026-10-31T12:00Z',
    '2026-11-02T12:00Z',
    ['20261101T053000Z', '20261102T063000Z'],
    '30 1 * * *',
  ],
] as const)(
  'the night of changed clocks has one run, in %s',
  async ([, zone, from, to, times, cron = '30 2 * * *']) => {
    await using it = await place(from);
    await it.add({ zone, cron });
    const [one, other] = [it.worker(), it.worker()];
    const found: string[] = [];
    const look = async () => {
      found.push(...(await Promise.all([one(), other()])).flatMap(ids));
    };
    const hoursAround = (id: string) => Date.parse(timeOfId(id)) - 2 * hour;
    for (const night of times.map(hoursAround)) {
      it.until(new Date(night).toISOString());
      for (; it.clock.now().getTime() < night + 4 * hour; it.advance(30 * second)) await look();
    }
    it.until(to);
    await look();
    expect(found).toEqual(times.map((time) => `nightly-${time}`));
  },
);

test.for([
  ['once', ['20260302T013000Z']],
  ['skip', []],
] as const)(
  'with missed %s the times of a pause of all workers have at most one run',
  async ([missed, times]) => {
    await using it = await place('2026-03-01T12:00Z');
    await it.add({ missed });
    expect(await it.worker()()).toMatchObject({ submitted: [], next: new Date('2026-03-02T01:30Z') });
    it.until('2026-03-05T12:00Z');
    const tick = it.worker();
    const first = await tick();
    expect(ids(first)).toEqual(times.map((time) => `nightly-${time}`));
    expect(first.next).toEqual(new Date('2026-03-06T01:30Z'));
    expect(ids(await it.worker()())).toEqual([]);
    it.until('2026-03-06T01:30:40Z');
    expect(ids(await it.worker()())).toEqual(['nightly-20260306T013000Z']);
  },
);

test('a time at which workers begin again counts for those that were missed', async () => {
  await using it = await place('2026-03-01T12:00Z');
  await it.add();
  it.until('2026-03-05T01:30:10Z');
  expect(ids(await it.worker()())).toEqual(['nightly-20260305T013000Z']);
});

test('a paused schedule submits nothing, and its times do not count as missed', async () => {
  await using it = await place('2026-03-01T12:00Z');
  const one = await it.add();
  const tick = it.worker();
  await tick();
  await replaceSchedule(it.dir, { ...one, paused: true });
  it.until('2026-03-03T12:00Z');
  expect(await tick()).toEqual({ next: undefined, submitted: [], problems: [] });
  await replaceSchedule(it.dir, { ...one, from: it.clock.now().toISOString() });
  it.advance(20 * second);
  expect(await tick()).toMatchObject({ submitted: [], next: new Date('2026-03-04T01:30Z') });
});

test('a run that was pruned is not submitted again', async () => {
  await using it = await place('2026-03-01T12:00Z');
  await it.add();
  it.until('2026-03-02T01:30:05Z');
  expect(ids(await it.worker()())).toHaveLength(1);
  it.runs.clear();
  it.advance(20 * second);
  expect(ids(await it.worker()())).toEqual([]);
});

test('a schedule whose pipeline is not valid any more is reported once, and goes on with the next time that it is', async () => {
  await using it = await place('2026-03-01T12:00Z');
  const one = await it.add();
  it.answers(() => 'refuse');
  const workers = [it.worker(), it.worker()];
  const problems: unknown[] = [];
  for (const day of ['02', '03']) {
    it.until(`2026-03-${day}T01:30:05Z`);
    for (let seconds = 0; seconds < 90; seconds += 15, it.advance(15 * second))
      for (const tick of await Promise.all(workers.map((worker) => worker())))
        problems.push(...tick.problems);
  }
  expect(problems).toEqual([{ name: 'nightly', text: 'nightly has no pipeline' }]);
  expect(readScheduleProblem(it.dir, one)).toMatchObject({ time: '2026-03-02T01:30:00.000Z' });
  it.answers(() => 'take');
  it.until('2026-03-04T01:30:05Z');
  expect(ids(await it.worker()())).toEqual(['nightly-20260304T013000Z']);
  expect(readScheduleProblem(it.dir, one)).toBeUndefined();
});

test('a time that cannot be submitted for hours is not missed, and said once', async () => {
  await using it = await place('2026-03-01T12:00Z');
  await it.add({ missed: 'skip' });
  const tick = it.worker();
  it.until('2026-03-02T01:30:05Z');
  it.answers(() => 'break');
  expect((await tick()).problems).toHaveLength(1);
  it.advance(2 * hour);
  expect((await tick()).problems).toEqual([]);
  it.answers(() => 'take');
  it.advance(second);
  expect(ids(await tick())).toEqual(['nightly-20260302T013000Z']);
});

test('a schedule whose folder is not on this host is left to others', async () => {
  await using it = await place('2026-03-01T12:00Z');
  const one = await it.add();
  await replaceSchedule(it.dir, { ...one, request: { ...one.request, cwd: join(it.dir, 'elsewhere') } });
  it.until('2026-03-02T01:30:05Z');
  expect(await it.worker()()).toEqual({ next: undefined, submitted: [], problems: [] });
  expect(readProgress(it.dir, one)).toBeUndefined();
});

test('a schedule that was removed and made again begins anew', async () => {
  await using it = await place('2026-03-01T12:00Z');
  await it.add();
  it.until('2026-03-02T01:30:05Z');
  expect(ids(await it.worker()())).toHaveLength(1);
  await removeSchedule(it.dir, 'nightly');
  const again = await it.add({ cron: '0 * * * *' });
  expect(readProgress(it.dir, again)).toBeUndefined();
  it.until('2026-03-02T02:00:05Z');
  expect(ids(await it.worker()())).toEqual(['nightly-20260302T020000Z']);
});

test.for(['{', '{"schema_version":1}'])(
  'a file that is no schedule (%s) is reported once, and the others go on',
  async (text) => {
    await using it = await place('2026-03-01T12:00Z');
    await it.add({ name: 'a' });
    writeFileSync(join(it.dir, 'schedules/b.json'), text);
    const tick = it.worker();
    expect((await tick()).problems).toMatchObject([
      { name: 'b', text: expect.stringContaining('is no schedule "b"') },
    ]);
    it.until('2026-03-02T01:30:05Z');
    expect(await tick()).toMatchObject({ submitted: [{ name: 'a' }], problems: [] });
  },
);

test('what workers have done for a schedule cannot be read: nothing is submitted', async () => {
  await using it = await place('2026-03-01T12:00Z');
  await it.add();
  mkdirSync(join(it.dir, 'schedules/progress'), { recursive: true });
  writeFileSync(join(it.dir, 'schedules/progress/nightly.json'), '{');
  it.until('2026-03-02T01:30:05Z');
  expect(await it.worker()()).toMatchObject({
    submitted: [],
    problems: [{ text: expect.stringContaining('cannot be read') }],
  });
});

type Act =
  | { readonly do: 'tick'; readonly worker: number; readonly how: 'take' | 'lose' | 'break' }
  | { readonly do: 'both' }
  | { readonly do: 'pause' }
  | { readonly do: 'resume' }
  | { readonly do: 'restart'; readonly worker: number }
  | { readonly do: 'wait'; readonly ms: number };

const worker = fc.integer({ min: 0, max: 1 });
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('tick' as const),
        worker,
        how: fc.constantFrom('take' as const, 'take' as const, 'lose' as const, 'break' as const),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('both' as const, 'pause' as const, 'resume' as const),
      }) as fc.Arbitrary<Act>,
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), worker }) },
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: lateMs }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.integer({ min: lateMs, max: 2 * hour }),
      }),
    },
  ),
  { minLength: 10, maxLength: 60 },
);

test('each due time is submitted at most once, and none is missed while a worker looks', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.constantFrom('once' as const, 'skip' as const), async (sequence, missed) => {
      await using it = await place('2026-10-24T23:50Z');
      let one = await it.add({ cron: '*/7 * * * *', missed });
      const workers = [it.worker(), it.worker()];
      /** Due times, which have to have a run once a worker has looked in time. */
      const owed: string[] = [];
      let since = it.clock.now().getTime();
      const looked = () => {
        const now = it.clock.now().getTime();
        for (
          let at = Math.ceil((Math.max(since, now - lateMs) + 1) / minute) * minute;
          at <= now;
          at += minute
        )
          if (new Date(at).getUTCMinutes() % 7 === 0 && at > since && !one.paused)
            owed.push(scheduledRunId('nightly', new Date(at)));
      };
      for (const act of sequence) {
        if (act.do === 'wait') it.advance(act.ms);
        else if (act.do === 'restart') workers[act.worker] = it.worker();
        else if (act.do === 'pause' || act.do === 'resume') {
          const paused = act.do === 'pause';
          if (one.paused === paused) continue;
          // From this moment on times count again.
          if (!paused) since = it.clock.now().getTime();
          one = { ...one, paused, ...(paused ? {} : { from: it.clock.now().toISOString() }) };
          await replaceSchedule(it.dir, one);
          it.advance(1);
        } else if (act.do === 'both') {
          it.answers(() => 'take');
          looked();
          await Promise.all(workers.map((tick) => tick()));
          // Nobody needs what was submitted: runs that ended are pruned.
          it.runs.clear();
        } else {
          it.answers(() => act.how);
          if (act.how === 'take') looked();
          // A run whose worker was killed before it had noted it is in the queue until a worker takes it.
          await workers[act.worker]?.();
        }
        for (const id of owed.splice(0)) expect(it.queued).toContain(id);
      }
      expect(new Set(it.queued).size).toBe(it.queued.length);
    }),
    { numRuns: 60 },
  );
}, 60_000);
