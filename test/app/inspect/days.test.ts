/** What the runs of a directory did and cost on each day. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DayList } from '../../../src/app/inspect/days.ts';
import { inspectDays } from '../../../src/app/inspect/days.ts';
import { handClock } from '../../support/clock.ts';
import { house } from '../../support/house.ts';
import { madeRow } from '../../support/run-row.ts';
import { call } from '../../support/verb.ts';

test('a run counts to the day of its latest record in the zone, a running one to today; old ones and days without any are left out', async () => {
  const at = (status: Parameters<typeof madeRow>[0] & object, ended_at: string | null) =>
    madeRow({ ...status, started_at: '2025-12-20T00:00:00Z', ended_at });
  const rows = [
    at({ status: 'running' }, null),
    at({ status: 'completed' }, '2025-12-31T23:30:00Z'),
    at({ status: 'overridden' }, '2025-12-31T22:30:00Z'),
    at({ status: 'crashed' }, '2025-12-30T12:00:00Z'),
    at({ status: 'paused_quota' }, '2025-12-30T12:00:00Z'),
    at({ status: 'failed' }, '2025-12-28T12:00:00Z'),
    madeRow({ status: 'unreadable', started_at: '', ended_at: null }),
  ];
  const request = { runsDir: '/none', count: 4, zone: 'Europe/Berlin' };
  const { days } = await inspectDays(rows, request, { clock: handClock() });
  const counts = days.map(({ day, done, failed, waiting, running }) => [day, done, failed, waiting, running]);
  expect(counts).toEqual([
    ['2026-01-01', 1, 0, 0, 1],
    ['2025-12-31', 1, 0, 0, 0],
    ['2025-12-30', 0, 1, 1, 0],
  ]);
});

test('factory runs --days prints the cost of each model', async () => {
  const answer = (model: string, cost_usd: number | null) => ({
    answer: { text: 'ok', usage: { model, input_tokens: 10, output_tokens: 1, cost_usd } },
  });
  await using it = await house({
    'g.dot': `digraph g { workdir="none"; unknown_cost="allow"; start [shape=Mdiamond]; exit [shape=Msquare]
      a [prompt="a"]; b [prompt="b"]; start -> a -> b -> exit }`,
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { a: [answer('dear', 1.5).answer], b: [answer('odd', null).answer] },
    }),
  });
  await it.run('g.dot', { agent: 'scripted', script: 'script.json', runId: 'r', quiet: true });
  const { out } = await call(['runs'], { days: '2', json: true }, { cwd: it.path, env: {} });
  const { runs_dir, days } = JSON.parse(out) as DayList;
  expect(runs_dir).toBe(join(it.path, '.factory/runs'));
  expect(days[0]?.spent).toMatchObject({ cost_usd: 1.5, unknown_cost: 1 });
  expect(days[0]?.models).toMatchObject([
    { model: 'dear', cost_usd: 1.5, tokens: 11 },
    { model: 'odd', unknown_cost: 1 },
  ]);
  const text = await call(['runs', '--days'], {}, { cwd: it.path, env: {} });
  expect(text.out).toMatch(/ 1 +0 +0 +0 +≥ 1\.50 USD +dear 1\.50 USD\n +odd unknown\n/);
});
