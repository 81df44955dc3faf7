import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { QueuedJob } from '../../src/core/records/job.ts';
import { queueReportSchema } from '../../src/core/records/queue-report.ts';
import { openWorkerFile } from '../../src/fleet/workers.ts';
import { queueReport } from '../../src/keeper/queue-report.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { handClock } from '../support/clock.ts';

const runsDir = mkdtempSync(join(tmpdir(), 'factory-queue-'));
afterAll(() => rmSync(runsDir, { recursive: true, force: true }));

const clock = handClock();
const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000).toISOString();
const job = (run_id: string, more: Partial<QueuedJob['job']> = {}) => ({
  ...{ schema_version: 1 as const, run_id, title: `The ${run_id}`, priority: 0, submitted_at: at(-60) },
  ...{ submitted_by: 'ada', labels: [], request: { cwd: '/w', run: ['a.dot'], resume: [] }, ...more },
});
const report = (jobs: readonly QueuedJob[]) =>
  queueReport({ place: 'folder', list: async () => jobs }, { runsDir, clock, cwd: '/elsewhere' });

test('the report counts the jobs, and says of each what it waits for and what to do', async () => {
  const made = await report([
    { job: job('soon'), state: 'waiting' },
    {
      job: job('night', { reason: { kind: 'not_before', text: 'submitted for this time', at: at(-60) } }),
      ...{ state: 'later', due_at: at(3600) },
    },
    {
      job: job('mine', { reason: { kind: 'person', text: 'held by ada', at: at(-30) } }),
      state: 'held',
    },
  ]);
  expect(() => queueReportSchema().parse(made)).not.toThrow();
  expect(made.counts).toEqual({
    running: 0,
    waiting: 1,
    later: 1,
    held: 1,
    needs_person: 0,
    needs_person_later: 0,
  });
  expect(made.jobs.map(({ run_id, why, next, due_at }) => [run_id, why, next, due_at])).toEqual([
    ['soon', 'no worker runs', `factory keep --runsdir ${runsDir}`, null],
    ['night', 'submitted for this time', '', at(3600)],
    ['mine', 'held by ada', `factory queue move mine --runsdir ${runsDir} --now`, null],
  ]);
});

test('a question with a deadline sleeps until then, and needs a person', async () => {
  const reason = { kind: 'question', text: 'waits for an answer: Ship it?', at: at(-30) } as const;
  const made = await report([
    { job: job('asks', { reason }), state: 'later', due_at: at(3600) },
    { job: job('waits', { reason }), state: 'held' },
  ]);
  expect(made.counts).toMatchObject({ later: 1, held: 1, needs_person: 2, needs_person_later: 1 });
});

test('the report has the workers of the folder, and what each leaves to others', async () => {
  const worker = openWorkerFile(runsDir, thisProcess(), clock);
  worker.write({
    ...{ slots: 2, busy: 1, engine_starts: 5, take_overs: 1, refuses: '', labels: ['docs'], version: '1' },
    ...{ draining: false, leaves: { sealed: 'it has not the holdout key' } },
  });
  const { workers } = await report([]);
  worker.remove();
  expect(workers).toMatchObject([
    {
      ...{ name: worker.name, state: 'alive', slots: 2, engine_starts: 5, take_overs: 1, labels: ['docs'] },
      leaves: [{ run_id: 'sealed', why: 'it has not the holdout key' }],
    },
  ]);
});

test('a job that was asleep waits since it is due, not since it was submitted', async () => {
  const reason = { kind: 'quota', text: '', at: at(-50), until: at(-10) } as const;
  const made = await report([
    { job: job('new'), state: 'waiting' },
    { job: job('woken', { reason }), state: 'waiting' },
  ]);
  expect(made.jobs.map(({ waited_ms }) => waited_ms)).toEqual([60_000, 10_000]);
});

test('the report has the holds of accounts, and the jobs whose runs wait for them', async () => {
  const account = { id: '0123456789abcdef', agent: 'openai', endpoint: 'https://api.test/v1', model: 'm' };
  const until = at(3600);
  const hold = { schema_version: 1, ...account, until, since: at(0), reason: 'too many requests', by: 'one' };
  const folder = join(runsDir, 'holds');
  mkdirSync(folder);
  writeFileSync(join(folder, `${account.id}.json`), JSON.stringify(hold));
  writeFileSync(join(folder, 'ffffffffffffffff.json'), '{');
  const sleeps = (run: string, kind: 'quota' | 'wait', due_at: string, text = `work: ${hold.reason}`) =>
    ({ job: job(run, { reason: { kind, text, at: at(0) } }), state: 'later', due_at }) as const;
  const { holds } = await report([
    sleeps('one', 'quota', until),
    sleeps('two', 'quota', at(3660)),
    sleeps('early', 'quota', at(60)),
    sleeps('other', 'quota', until, 'the limit of another account'),
    sleeps('pause', 'wait', until),
  ]);
  expect(holds).toEqual([{ ...account, until, since: at(0), runs: ['one', 'two'] }]);
});
