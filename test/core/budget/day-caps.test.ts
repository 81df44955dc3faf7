/** Whether a run may make its next call, by what all runs have spent and reserved on a day. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  capVerdict,
  type DayCap,
  dayCapsOf,
  goesFirst,
  type RunSpend,
  reachedWords,
} from '../../../src/core/budget/day-caps.ts';
import { noMoney, noSpend } from '../../../src/core/budget/day-spend.ts';

const usd = (cost_usd: number) => ({ ...noMoney, cost_usd });
const run = (run_id: string, spent: number, more: Partial<RunSpend> = {}): RunSpend => ({
  ...{ run_id, labels: [], spent: { ...noSpend, cost_usd: spent }, reserved: noMoney },
  ...more,
});
const cap: DayCap = { name: 'max_cost_usd_day', limit: 10 };

test.for<[string, RunSpend, readonly RunSpend[], string]>([
  ['what fits is granted', run('a', 0, { asks: usd(10) }), [], 'granted'],
  ['what does not fit is not', run('a', 0, { asks: usd(10.01) }), [], 'reached'],
  ['spending of others counts', run('a', 1, { asks: usd(1) }), [run('b', 8.5)], 'reached'],
  [
    'reservations of others count',
    run('a', 0, { asks: usd(5) }),
    [run('b', 3, { reserved: usd(2.5) })],
    'reached',
  ],
  ['binary sums do not', run('a', 0.1, { asks: usd(9.7) }), [run('b', 0.2)], 'granted'],
  ['a call of unknown size needs something that is left', run('a', 10, { asks: noMoney }), [], 'reached'],
  [
    'and passes while something is',
    run('a', 9.99, { asks: noMoney }),
    [run('b', 0, { asks: usd(5) })],
    'granted',
  ],
  ['the smallest id keeps asking', run('a', 9, { asks: usd(1) }), [run('b', 0, { asks: usd(1) })], 'keeps'],
  ['a larger one steps back', run('b', 9, { asks: usd(1) }), [run('a', 0, { asks: usd(1) })], 'steps back'],
  ['two that both fit both pass', run('b', 8, { asks: usd(1) }), [run('a', 0, { asks: usd(1) })], 'granted'],
  [
    'an unknown cost stops it',
    run('a', 0, { asks: usd(1) }),
    [run('b', 0, { spent: { ...noSpend, unknown_cost: 1 } })],
    'reached',
  ],
  [
    'unless it allows them',
    run('a', 0, { asks: usd(1), unknown_cost: 'allow' }),
    [run('b', 0, { spent: { ...noSpend, unknown_cost: 1 } })],
    'granted',
  ],
  [
    'or the run that had them does',
    run('a', 0, { asks: usd(1) }),
    [run('b', 0, { unknown_cost: 'allow', spent: { ...noSpend, unknown_cost: 1 } })],
    'granted',
  ],
])('%s', ([, own, others, is]) => {
  const verdict = capVerdict(own, others, [cap]);
  const found = verdict.kind !== 'contested' ? verdict.kind : verdict.stepsBack ? 'steps back' : 'keeps';
  expect(found).toBe(is);
});

test('a cap of a label counts runs with that label only, besides the cap of all', () => {
  const settings = {
    schema_version: 1,
    ...{ changed_at: '', time_zone: 'UTC', max_tokens_day: 100 },
    labels: { big: { max_cost_usd_day: 2, max_running: 1 }, small: { max_cost_usd_day: 1 } },
  } as const;
  const caps = dayCapsOf(settings, ['big', 'other']);
  expect(caps).toEqual([
    { name: 'max_tokens_day', limit: 100 },
    { name: 'max_cost_usd_day', limit: 2, label: 'big' },
  ]);
  expect(dayCapsOf(settings)).toHaveLength(3);
  const own = run('a', 1, { labels: ['big'], asks: usd(1) });
  expect(capVerdict(own, [run('b', 50, { labels: ['small'] })], caps).kind).toBe('granted');
  expect(capVerdict(own, [run('b', 0.1, { labels: ['big'] })], caps)).toMatchObject({ cap: caps[1] });
});

test('the reason names the cap, what is spent, by how many runs, when it resets and how to raise it', () => {
  const day = { end: Date.parse('2026-03-29T22:00:00Z'), zone: 'Europe/Berlin' };
  const words = (own: RunSpend, others: readonly RunSpend[], caps: readonly DayCap[]) => {
    const verdict = capVerdict(own, others, caps);
    return verdict.kind === 'reached' ? reachedWords(verdict, day) : verdict.kind;
  };
  const asking = run('a', 1.5, { labels: ['big'], asks: { cost_usd: 0.25, tokens: 700 } });
  expect(words(asking, [run('b', 8, { reserved: usd(0.5) })], [cap])).toBe(
    'max_cost_usd_day: 2 runs of this runs folder have spent 9.5 USD today, calls under way use at least about 0.5 USD, the next call would send about 0.25 USD, and the cap is 10 USD a day; it resets at 2026-03-30 00:00 (Europe/Berlin); raise it with factory queue set max_cost_usd_day 20',
  );
  expect(words(asking, [], [{ name: 'max_tokens_day', limit: 500, label: 'big' }])).toBe(
    'max_tokens_day: 1 run with the label "big" has spent 0 tokens today, the next call would send about 700 tokens, and the cap is 500 tokens a day; it resets at 2026-03-30 00:00 (Europe/Berlin); raise it with factory queue set max_tokens_day 1000 --label big',
  );
  expect(words(asking, [run('b', 0, { spent: { ...noSpend, unknown_cost: 2 } })], [cap])).toMatch(
    /^max_cost_usd_day: the cost of 2 calls of today is unknown, .*--unknown-cost allow$/,
  );
});

/** Engines that make calls of one size under a cap, with files that each writes alone and the others read one at a time. Each step is
 *  atomic; which engine makes the next one is arbitrary. A killed engine leaves its file, of which others count what its journal has. */
function model(count: number, limit: number, size: number) {
  type Engine = {
    file: RunSpend;
    /** In its journal. */
    journal: number;
    dead: boolean;
    do: 'ask' | 'read' | 'decide' | 'begin' | 'end' | 'over';
    stepsBack: boolean;
    read: RunSpend[];
  };
  const caps: readonly DayCap[] = [{ name: 'max_tokens_day', limit }];
  const tokens = (n: number) => ({ ...noMoney, tokens: n });
  const spending = (n: number) => ({ ...noSpend, tokens: n });
  const engines: Engine[] = Array.from({ length: count }, (_, n) => ({
    ...{ file: run(`r${n}`, 0), journal: 0, dead: false, do: 'ask', stepsBack: false, read: [] },
  }));
  const seen = ({ dead, file, journal }: Engine): RunSpend =>
    dead ? run(file.run_id, 0, { spent: spending(journal) }) : file;
  const step = (engine: Engine): void => {
    if (engine.dead) return;
    const { file, journal, read } = engine;
    const { asks: _, ...withdrawn } = file;
    if (engine.do === 'ask') {
      Object.assign(engine, { file: { ...file, asks: tokens(size) }, do: 'read', read: [] });
    } else if (engine.do === 'read') {
      const others = engines.filter((other) => other !== engine);
      const next = others[read.length];
      if (next !== undefined) read.push(seen(next));
      if (read.length === others.length) engine.do = 'decide';
    } else if (engine.do === 'decide' && engine.stepsBack) {
      const waits = read.some((other) => goesFirst(other, file));
      Object.assign(engine, { do: waits ? 'read' : 'ask', stepsBack: waits, read: [] });
    } else if (engine.do === 'decide') {
      const verdict = capVerdict(file, read, caps);
      if (verdict.kind === 'granted')
        Object.assign(engine, { file: { ...withdrawn, reserved: tokens(size) }, do: 'begin' });
      else if (verdict.kind === 'reached') Object.assign(engine, { file: withdrawn, do: 'over' });
      else if (verdict.stepsBack)
        Object.assign(engine, { file: withdrawn, stepsBack: true, do: 'read', read: [] });
      else Object.assign(engine, { do: 'read', read: [] });
    } else if (engine.do === 'begin') {
      Object.assign(engine, { journal: journal + size, do: 'end' });
    } else if (engine.do === 'end') {
      Object.assign(engine, { file: { ...file, reserved: noMoney, spent: spending(journal) }, do: 'ask' });
    }
  };
  return {
    engines,
    step: (n: number) => step(engines[n % count] as Engine),
    kill: (n: number) => Object.assign(engines[n % count] as Engine, { dead: true }),
    spent: () => engines.reduce((sum, { journal }) => sum + journal, 0),
    isOver: () => engines.every((engine) => engine.dead || engine.do === 'over'),
  };
}

const steps = fc.array(fc.nat(), { maxLength: 300 });

test('whatever the order of their writes and reads, engines never spend more than a cap, and use all of it', () => {
  const sizes = fc.record({ count: fc.integer({ min: 2, max: 5 }), calls: fc.integer({ min: 1, max: 12 }) });
  fc.assert(
    fc.property(sizes, steps, ({ count, calls }, order) => {
      const it = model(count, calls * 7 + 3, 7);
      for (const n of order) {
        it.step(n);
        expect(it.spent()).toBeLessThanOrEqual(calls * 7);
      }
      for (let turn = 0; !it.isOver() && turn < 5000; turn++) it.step(turn);
      expect([it.isOver(), it.spent()]).toEqual([true, calls * 7]);
    }),
  );
});

test('an engine that is killed at any moment holds back nobody, and makes nobody spend more', () => {
  const kill = fc.record({ at: fc.nat({ max: 300 }), whom: fc.nat() });
  fc.assert(
    fc.property(steps, fc.array(kill, { maxLength: 3 }), (order, kills) => {
      const it = model(5, 30, 7);
      for (const [at, n] of order.entries()) {
        for (const one of kills) if (one.at === at) it.kill(one.whom);
        it.step(n);
      }
      for (let turn = 0; !it.isOver() && turn < 5000; turn++) it.step(turn);
      expect(it.isOver()).toBe(true);
      expect(it.spent()).toBeLessThanOrEqual(28);
      if (!it.engines.every(({ dead }) => dead)) expect(it.spent()).toBe(28);
    }),
  );
});
