/** `factory schedule`: what it keeps, what it refuses before anything is kept, and what people see of it. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { scheduleTicks } from '../../src/keeper/schedule-ticks.ts';
import { submitScheduled } from '../../src/keeper/schedules.ts';
import { realClock } from '../../src/platform/clock.ts';
import { call, type Flags } from '../support/verb.ts';

const pipeline = `digraph g { workdir="none"; vars="what=nothing"
  start [shape=Mdiamond]; do [shape=parallelogram, tool_command="echo \${var.what}"]; exit [shape=Msquare]
  start -> do -> exit }`;

let top = '';
let now = 0;
const clock = { ...realClock, now: () => new Date(now), monotonic: () => now };
const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };
const runsDir = () => join(top, '.factory/runs');
const schedule = (words: readonly string[], flags: Flags = {}) =>
  call(['schedule', ...words], flags, { cwd: top, env, clock });
const made = async (words: readonly string[], flags: Flags = {}) => {
  const { code, out, err } = await schedule(words, { ...flags, json: true });
  expect([code, err.replace(/^.*no worker runs.*\n/m, '')]).toEqual([0, '']);
  return JSON.parse(out).schedules as Record<string, unknown>[];
};
const nightly = (flags: Flags = {}) =>
  made(['30 2 * * *', 'p.dot'], { name: 'nightly', zone: 'Europe/Berlin', ...flags });
async function withFolderQueue<T>(
  work: (queue: Exclude<Awaited<ReturnType<typeof openQueue>>, { problems: unknown }>) => Promise<T>,
) {
  const queue = await openQueue(runsDir(), { clock, env });
  if ('problems' in queue) throw new Error('no queue');
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}
const tick = () =>
  withFolderQueue((queue) =>
    scheduleTicks(runsDir(), submitScheduled(queue, { runsDir: runsDir(), env, clock }), clock)(),
  );
const jobs = () => withFolderQueue((queue) => queue.list());

beforeEach(() => {
  now = Date.parse('2026-03-01T12:00Z');
  top = mkdtempSync(join(tmpdir(), 'factory-schedule-'));
  mkdirSync(join(top, 'specs'));
  writeFileSync(join(top, 'p.dot'), pipeline);
  writeFileSync(join(top, 'specs/alarm.md'), '# The alarm\n');
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test('a schedule is kept with its flags, and its run is queued with the id of its time', async () => {
  expect(await nightly({ var: 'what=night', label: ['b', 'a'], priority: 3, maxSteps: 7 })).toMatchObject([
    {
      name: 'nightly',
      cron: '30 2 * * *',
      zone: 'Europe/Berlin',
      next: '2026-03-02T01:30:00.000Z',
      last: null,
      problem: '',
    },
  ]);
  now = Date.parse('2026-03-02T01:30:02Z');
  expect(await tick()).toMatchObject({
    submitted: [{ name: 'nightly', run_id: 'nightly-20260302T013000Z' }],
  });
  expect(await jobs()).toMatchObject([
    {
      state: 'waiting',
      job: {
        ...{ run_id: 'nightly-20260302T013000Z', title: 'p.dot', priority: 3, labels: ['a', 'b'] },
        request: {
          cwd: top,
          run: [join(top, 'p.dot'), '--var=what=night', '--max-steps=7', '--label=b', '--label=a'],
          resume: [],
        },
      },
    },
  ]);
  expect((await tick()).submitted).toEqual([]);
  expect((await made(['list']))[0]).toMatchObject({
    ...{
      last: '2026-03-02T01:30:00.000Z',
      last_run: 'nightly-20260302T013000Z',
      next: '2026-03-03T01:30:00.000Z',
    },
    command: 'factory submit p.dot --var what=night --max-steps 7 --label b --label a',
  });
});

test.for([
  [['0 0 30 2 *', 'p.dot'], {}, /schedule-never.*"0 0 30 2 \*" never come/],
  [['0 25 * * *', 'p.dot'], {}, /schedule-cron.*"0 25 \* \* \*": invalid value for hour: 25/],
  [
    ['30 2 * * *', 'p.dot'],
    { zone: 'Berlin' },
    /schedule-zone.*"Berlin" is not a time zone[\s\S]*Europe\/Berlin/,
  ],
  [['30 2 * * *', 'specs'], {}, /specs is a folder/],
  [['30 2 * * *', 'missing.md'], {}, /no pipeline, spec or folder missing.md/],
  [['30 2 * * *', 'p.dot'], { var: 'who=ann' }, /who/],
  [['30 2 * * *', 'p.dot'], { name: '.x' }, /must be up to 64 letters/],
  [['30 2 * * *', 'p.dot'], { missed: 'twice' }, /once, skip/],
  [['30 2 * * *'], {}, /what to submit is missing/],
  [[], {}, /the times and what to submit are missing/],
  [['pause', 'nightl'], {}, /there is no schedule "nightl"/],
] as const)('%j with %j is refused, and nothing is kept', async ([words, flags, why]) => {
  const { code, err } = await schedule(words, flags);
  expect([code, err]).toEqual([2, expect.stringMatching(why)]);
  expect(existsSync(join(runsDir(), 'schedules'))).toBe(false);
});

test('all that is wrong is said at once', async () => {
  const { err } = await schedule(['61 * * * *', 'missing.md'], { zone: 'Mars' });
  expect(err).toContain('"Mars" is not a time zone');
  expect(err).toContain('missing.md');
});

test('a name is taken once', async () => {
  await nightly();
  const { code, err } = await schedule(['0 3 * * *', 'p.dot'], { name: 'nightly' });
  expect([code, err]).toEqual([2, expect.stringContaining('factory schedule remove nightly')]);
});

test('a schedule is paused, resumed, run at once and removed', async () => {
  await nightly();
  expect(await made(['pause', 'nightly'])).toMatchObject([{ paused: true, next: null }]);
  now = Date.parse('2026-03-04T12:00Z');
  expect((await tick()).submitted).toEqual([]);
  expect(await made(['resume', 'nightly'])).toMatchObject([
    { paused: false, next: '2026-03-05T01:30:00.000Z' },
  ]);
  expect((await tick()).submitted).toEqual([]);
  expect((await schedule(['run', 'nightly'])).out).toBe('queued: nightly-20260304T120000Z\n');
  expect((await schedule(['run', 'nightly'])).out).toBe('already submitted: nightly-20260304T120000Z\n');
  expect((await schedule(['remove', 'nightly'])).out).toBe('removed schedule nightly; its runs stay\n');
  expect(await made(['list'])).toEqual([]);
  expect(await jobs()).toHaveLength(1);
  expect(readdirSync(join(runsDir(), 'schedules'))).not.toContain('nightly.json');
});

test('a schedule whose pipeline has an error needs a person, who sees why, and runs it once it is corrected', async () => {
  await nightly();
  writeFileSync(join(top, 'p.dot'), 'digraph g { start [shape=Mdiamond] }');
  now = Date.parse('2026-03-02T01:30:02Z');
  expect((await tick()).problems).toHaveLength(1);
  expect((await tick()).problems).toEqual([]);
  expect(await made(['list'])).toMatchObject([
    {
      next: '2026-03-03T01:30:00.000Z',
      problem: expect.stringMatching(/^nothing was submitted at 2026-03-02 02:30 \(Europe\/Berlin\): \S+/),
    },
  ]);
  expect((await schedule(['list'], { color: false })).out).toContain(
    'needs attention: nothing was submitted',
  );
  expect(await schedule(['run', 'nightly'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('submits nothing'),
  });
  writeFileSync(join(top, 'p.dot'), pipeline);
  expect((await schedule(['run', 'nightly'])).code).toBe(0);
  expect(await made(['list'])).toMatchObject([{ problem: '' }]);
});

test('a time that no worker has seen is shown as one that nothing was submitted at', async () => {
  await nightly();
  now = Date.parse('2026-03-02T02:30Z');
  expect(await made(['list'])).toMatchObject([
    { next: '2026-03-03T01:30:00.000Z', problem: expect.stringContaining('no worker has looked since') },
  ]);
});

test('a file that is no schedule is listed with what is wrong, and can be removed', async () => {
  mkdirSync(join(runsDir(), 'schedules'), { recursive: true });
  writeFileSync(join(runsDir(), 'schedules/a.json'), '{}');
  expect(await made(['list'])).toMatchObject([
    { name: 'a', problem: expect.stringContaining('is no schedule "a"') },
  ]);
  expect((await schedule(['pause', 'a'])).err).toContain('schedule-file');
  expect((await schedule(['remove', 'a'])).code).toBe(0);
  expect(await made(['list'])).toEqual([]);
});

test('only their user reads schedules and jobs: both may name a secret target of notices', async () => {
  const notify = 'https://hooks.example.org/T1/secret';
  const othersRead = () =>
    readdirSync(runsDir(), { recursive: true, encoding: 'utf8' }).filter((name) => {
      const is = statSync(join(runsDir(), name));
      return (
        is.isFile() && (is.mode & 0o077) !== 0 && readFileSync(join(runsDir(), name), 'utf8').includes(notify)
      );
    });
  await nightly({ notify });
  await schedule(['pause', 'nightly']);
  await schedule(['resume', 'nightly']);
  expect(othersRead()).toEqual([]);
  now = Date.parse('2026-03-02T01:30:02Z');
  const { submitted } = await tick();
  expect(submitted).toHaveLength(1);
  await withFolderQueue(async (queue) => {
    for (const { run_id } of submitted) await queue.change(run_id, { target: 'held', priority: 5 });
    expect(await queue.list()).toMatchObject([{ state: 'held' }]);
  });
  expect(othersRead()).toEqual([]);
});
