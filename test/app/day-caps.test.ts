/** Caps per day over all runs of a runs folder. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { capsOf } from '../../src/app/day-caps.ts';
import { changeQueueSetting } from '../../src/app/queue-settings.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

/** A clock that the test sets, and that jumps over waits for the next day and for other runs. */
function driven(start: string): Clock & { set(at: string): void } {
  let at = Date.parse(start);
  return {
    set: (to) => {
      at = Date.parse(to);
    },
    now: () => new Date(at),
    monotonic: () => at,
    async sleep(ms, signal) {
      if (signal?.aborted === true) return;
      if (ms !== 5 && ms !== 60_000)
        return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      at += ms;
    },
  };
}

const used = (input_tokens: number, output_tokens = 0): Reaction => ({
  text: 'ok',
  usage: { input_tokens, output_tokens },
});
const files = {
  'p.dot': `digraph t { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]; failed [shape=Msquare, outcome=fail]
    one [prompt="do it"]; two [prompt="and that"]; start -> one -> two -> done; two -> failed [condition="outcome=fail"] }`,
};

/** Runs of one folder in Berlin, on the evening before clocks go forward. */
async function shift(settings: object | undefined, reactions: readonly Reaction[], graph = files['p.dot']) {
  const server = await startModelServer(reactions);
  const clock = driven('2026-03-28T21:00:00Z');
  const env = { OPENAI_API_KEY: 'sk-day-caps-0123456789', OPENAI_BASE_URL: server.url };
  const it = await house({ 'p.dot': graph }, () => env, clock);
  const folder = join(it.path, '.factory/runs');
  const set = (more: object): void => {
    mkdirSync(join(folder, 'queue'), { recursive: true });
    const about = { schema_version: 1, changed_at: clock.now().toISOString(), time_zone: 'Europe/Berlin' };
    writeFileSync(join(folder, 'queue/settings.json'), JSON.stringify({ ...about, labels: {}, ...more }));
  };
  if (settings !== undefined) set(settings);
  const spend = (day: string, run: string) => join(folder, 'spend', day, `${run}.json`);
  return {
    ...it,
    ...{ clock, server, folder, set, spend },
    start: (runId: string, options: object = {}) => it.run('p.dot', { runId, ...options }),
    spent: (day: string, run: string) => JSON.parse(readFileSync(spend(day, run), 'utf8')),
    result: (run: string) => it.json(`.factory/runs/${run}/result.json`),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

test('a run that would pass a cap is suspended until the next day of its zone, and then continues', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(900, 99), used(10)]);
  const parked = await it.start('r1');
  expect(parked.code, parked.err).toBe(75);
  const wake_at = '2026-03-28T23:00:00.000Z';
  expect(it.result('r1')).toMatchObject({ status: 'paused_cap', wake_at });
  expect(parked.out).toContain(
    'max_tokens_day: 1 run of this runs folder has spent 999 tokens today, the next call would send about',
  );
  expect(parked.out).toContain(
    'it resets at 2026-03-29 00:00 (Europe/Berlin); raise it with factory queue set max_tokens_day 2000',
  );
  expect(parked.out.trimEnd().split('\n').at(-1)).toMatch(/factory resume r1 --wait$/);
  expect(it.spent('2026-03-28', 'r1')).toMatchObject({ spent: { tokens: 999 }, reserved: { tokens: 0 } });
  expect((await it.runs()).out).toMatch(/r1 +‖ suspended .*cap per day reached until/);
  expect((await it.verb(['why', 'r1'])).out).toMatch(/suspended at node two: cap per day reached/);
  expect(await it.resume('r1')).toMatchObject({ code: 75 });
  expect(it.server.requests).toHaveLength(1);

  const ended = await it.resume('r1', { wait: true });
  expect(ended.code, ended.err).toBe(0);
  expect(it.clock.now().toISOString() >= wake_at).toBe(true);
  expect(it.spent('2026-03-29', 'r1')).toMatchObject({ spent: { tokens: 10 }, reserved: { tokens: 0 } });
  expect(it.spent('2026-03-28', 'r1')).toMatchObject({ spent: { tokens: 999 } });
  const env = { PATH: process.env['PATH'] };
  expect((await verifyRun({ runDir: join(it.folder, 'r1'), env })).problems).toEqual([]);
});

test('a cap counts all runs of the folder, that of a label those with the label', async () => {
  const settings = { max_tokens_day: 10_000, labels: { big: { max_cost_usd_day: 0.001 } } };
  await using it = await shift(
    settings,
    Array.from({ length: 9 }, () => used(1000)),
  );
  // A call costs 0.00175 USD.
  const parked = await it.start('r1', { label: 'big' });
  expect([parked.code, it.result('r1').status]).toEqual([75, 'paused_cap']);
  expect(parked.out).toContain('max_cost_usd_day: 1 run with the label "big" has spent 0.00175 USD today');
  expect((await it.start('r2')).code).toBe(0);
  expect((await it.start('r3', { label: 'small' })).code).toBe(0);
  expect((await it.start('r4', { label: 'big' })).code).toBe(75);
  expect(it.server.requests).toHaveLength(5);
  it.set({ max_tokens_day: 5_000 });
  expect((await it.start('r5')).out).toContain('3 runs of this runs folder have spent 5000 tokens today');
  expect(await capsOf(it.folder, it.clock)).toEqual([
    expect.objectContaining({
      label: null,
      measure: 'tokens',
      limit: 5000,
      spent: 5000,
      reserved: 0,
      rest: 0,
    }),
  ]);
});

test('what was spent before a cap was set counts; until then nothing is written', async () => {
  await using it = await shift(undefined, [used(400), used(500), used(1), used(1)]);
  expect((await it.start('r1')).code).toBe(0);
  expect(existsSync(join(it.folder, 'spend'))).toBe(false);
  it.set({ max_tokens_day: 900 });
  const parked = await it.start('r2');
  expect(parked.code).toBe(75);
  expect(parked.out).toContain('1 run of this runs folder has spent 900 tokens today');
  it.clock.set('2026-03-29T22:00:00Z');
  expect((await it.start('r3')).code).toBe(0);
});

test.for<[string, (path: string) => void]>([
  ['is missing', (path) => rmSync(path)],
  ['is torn', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40))],
  ['is empty', (path) => writeFileSync(path, '')],
  ['is of another run', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"r1"', '"r9"'))],
  [
    'is of a day in another zone',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('Berlin', 'Paris')),
  ],
])('a file that %s is replaced by what the journal of its run says', async ([, damage]) => {
  await using it = await shift({ max_tokens_day: 900 }, [used(400), used(499)]);
  await it.start('r1');
  damage(it.spend('2026-03-28', 'r1'));
  const parked = await it.start('r2');
  expect(parked.out).toContain('1 run of this runs folder has spent 899 tokens today');
});

test('a reservation of an engine that has died holds back nobody: the journal says what it has spent', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(400), used(500), used(1), used(1)]);
  expect((await it.start('r1')).code).toBe(0);
  const path = it.spend('2026-03-28', 'r1');
  const reserved = { cost_usd: 0, tokens: 800 };
  writeFileSync(path, JSON.stringify({ ...it.spent('2026-03-28', 'r1'), reserved, asks: reserved }));
  expect((await capsOf(it.folder, it.clock))[0]).toMatchObject({ spent: 900, reserved: 0 });
  expect((await it.start('r2')).code).toBe(0);
});

test('a cap that is raised lets a suspended run continue at once', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(1000), used(1)]);
  expect((await it.start('r1')).code).toBe(75);
  it.clock.set('2026-03-28T21:05:00Z');
  expect((await it.resume('r1')).code).toBe(75);
  it.set({ max_tokens_day: 2000 });
  expect((await it.resume('r1')).code).toBe(0);
});

test('calls that a fork has copied count once', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(400), used(100), used(101)]);
  await it.start('r1');
  expect((await it.fork('r1', { at: 'one', runId: 'r2' })).code).toBe(0);
  expect(it.spent('2026-03-28', 'r2')).toMatchObject({ spent: { tokens: 101 } });
  rmSync(join(it.folder, 'spend'), { recursive: true });
  expect((await capsOf(it.folder, it.clock))[0]).toMatchObject({ spent: 601 });
});

test('agents that cost nothing have no file', async () => {
  await using it = await shift({ max_tokens_day: 1 }, []);
  expect((await it.start('r1', { agent: 'fake' })).code).toBe(0);
  expect((await it.replay('r1', { runId: 'r2' })).code).toBe(0);
  expect(existsSync(join(it.folder, 'spend'))).toBe(false);
});

test('a model without a price ends a run under a cap on costs, unless unknown costs are allowed', async () => {
  await using it = await shift({ max_cost_usd_day: 5 }, [used(1), used(1)]);
  const refused = await it.start('r1', { model: 'nameless' });
  expect(refused.code).toBe(1);
  expect(it.result('r1').reason).toContain('there is no price for the model "nameless"');
  expect((await it.start('r2', { model: 'nameless', unknownCost: 'allow' })).code).toBe(0);
  expect(it.spent('2026-03-28', 'r2')).toMatchObject({ spent: { unknown_cost: 2 }, unknown_cost: 'allow' });
});

test('settings that cannot be read end a run before its first call', async () => {
  await using it = await shift({ max_cost_usd_day: -5 }, []);
  const refused = await it.start('r1');
  expect(refused.code).toBe(1);
  expect(it.result('r1').reason).toMatch(
    /settings\.json has settings that are not valid: max_cost_usd_day: is less/,
  );
});

test('days older than a month are removed with the first file of a day', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(1), used(1)]);
  for (const day of ['2026-02-25', '2026-02-26', 'notes'])
    mkdirSync(join(it.folder, 'spend', day), { recursive: true });
  await it.start('r1');
  expect(readdirSync(join(it.folder, 'spend')).sort()).toEqual(['2026-02-26', '2026-03-28', 'notes']);
});

test('what runs spend while the settings are removed counts once a cap is set again', async () => {
  await using it = await shift({ max_tokens_day: 1000 }, [used(999), used(500)]);
  expect((await it.start('r1')).code).toBe(75);
  expect(it.spent('2026-03-28', 'r1')).toMatchObject({ spent: { tokens: 999 } });
  // The record of a run that is gone stays.
  writeFileSync(
    it.spend('2026-03-28', 'gone'),
    JSON.stringify({ ...it.spent('2026-03-28', 'r1'), run_id: 'gone' }),
  );
  rmSync(join(it.folder, 'queue/settings.json'));
  expect((await it.resume('r1')).code).toBe(0);
  const change = { name: 'max_tokens_day', value: '5000', label: undefined };
  await changeQueueSetting(it.folder, change, { clock: it.clock, zone: 'Europe/Berlin' });
  expect(await capsOf(it.folder, it.clock)).toMatchObject([{ spent: 999 + 500 + 999 }]);
});
