/** What a run's calls have spent on which day. */
import { expect, test } from 'vitest';
import type { Usage } from '../../../src/core/budget/usage.ts';
import type { CallRecord } from '../../../src/core/records/visit.ts';
import { openCostLedger } from '../../../src/engine/cost-ledger.ts';
import { RunSpending } from '../../../src/engine/day-spending.ts';

const prices = { dated: '', from: 'test', models: new Map([['m', { input: 1, output: 1 }]]) };
const million = 1_000_000;
const used = (tokens: number, model = 'm'): Usage => ({
  ...{ model, input_tokens: tokens, output_tokens: 0, cost_usd: null },
});
const about = (at: string, branch?: string) => ({
  ...{ at: `2026-01-${at}:00Z`, node: 'a', visit: 1, attempt: 1 },
  ...(branch === undefined ? {} : { branch }),
});
const started = (at: string, input_tokens = 0, branch?: string): CallRecord => ({
  ...about(at, branch),
  ...{ type: 'CallStarted', agent: 'x', model: 'm', input_tokens },
});
const told = (at: string, tokens: number): CallRecord => ({
  ...{ ...about(at), type: 'CallTold', usage: used(tokens), sends: 1 },
});
const ended = (at: string, tokens: number, branch?: string): CallRecord => ({
  ...{
    ...about(at, branch),
    type: 'CallEnded',
    ended: 'told',
    usage: used(tokens),
    cost_usd: tokens / million,
  },
});
const nested = (at: string, run: string): CallRecord =>
  ({ ...ended(at, million), run, told: `${run}.1` }) as CallRecord;

test.for<[string, readonly CallRecord[], Record<string, number>]>([
  ['a call counts to the day in which it was made', [started('01T23:59'), ended('02T00:05', 7)], { '01': 7 }],
  [
    'calls of several branches do, each',
    [
      started('01T23:00', 0, 'b'),
      started('02T00:01', 0, 'c'),
      ended('02T01:00', 5, 'c'),
      ended('02T02:00', 3, 'b'),
    ],
    { '01': 3, '02': 5 },
  ],
  [
    'and so do those of one task',
    [
      started('01T22:00'),
      told('01T23:00', 10),
      told('02T00:10', 25),
      told('03T00:10', 26),
      ended('03T00:20', 40),
    ],
    { '01': 25, '02': 1, '03': 14 },
  ],
  ['a call without an end counts by what it has sent', [started('01T10:00', 9)], { '01': 9 }],
  [
    'also where another one follows',
    [started('01T10:00', 9), started('02T00:00'), ended('02T01:00', 1)],
    { '01': 9, '02': 1 },
  ],
  ['a nested run in another folder counts when it reports', [nested('02T00:00', 'far')], { '02': million }],
  ['one of this folder counts itself', [nested('02T00:00', 'here')], {}],
])('%s', ([, records, days]) => {
  const watch = new RunSpending(prices, (run) => run === 'here');
  const costs = openCostLedger(records, prices, () => {}, { watch, copied: 0 });
  const byDay = watch.ledger('UTC', (at) => at.toISOString().slice(8, 10)).spent();
  const tokens = [...byDay]
    .filter(([, spent]) => spent.tokens > 0)
    .map(([day, spent]) => [day, spent.tokens]);
  expect(Object.fromEntries(tokens)).toEqual(days);
  const sum = Object.values(days).reduce((a, b) => a + b, 0);
  if (!records.some((one) => 'run' in one && one.run === 'here')) expect(costs.run().input_tokens).toBe(sum);
});

test('calls that a run has copied are left out, and its days follow its zone', () => {
  const watch = new RunSpending(prices, () => false);
  const records = [started('01T09:00'), ended('01T09:30', 5), started('01T23:30'), ended('02T00:05', 7)];
  openCostLedger(records, prices, () => {}, { watch, copied: 2 });
  const days = (hours: number) => {
    const dayOf = (at: Date) => new Date(at.getTime() + hours * 3_600_000).toISOString().slice(8, 10);
    return Object.fromEntries(
      [...watch.ledger(`${hours}`, dayOf).spent()].map(([day, one]) => [day, one.cost_usd]),
    );
  };
  expect([days(0), days(1)]).toEqual([{ '01': 7 / million }, { '02': 7 / million }]);
});

test('what a day has spent is also known by model, of a task whose calls have several days too', () => {
  const watch = new RunSpending(prices, () => false);
  const other: CallRecord = { ...ended('01T08:30', 3), usage: used(3, 'n'), cost_usd: null } as CallRecord;
  const records = [
    ...[started('01T08:00'), other, started('01T09:00'), ended('01T09:30', 5)],
    ...[started('01T22:00'), told('01T23:00', 10), told('02T00:10', 25), ended('02T00:20', 40)],
    started('02T10:00', 9),
  ];
  openCostLedger(records, prices, () => {}, { watch, copied: 0 });
  const ledger = watch.ledger('UTC', (at) => at.toISOString().slice(8, 10));
  const byDay = [...ledger.byModel()].map(([day, models]) => [
    day,
    Object.fromEntries(
      [...models].map(([model, { tokens, unknown_cost }]) => [model, [tokens, unknown_cost]]),
    ),
  ]);
  expect(Object.fromEntries(byDay)).toEqual({ '01': { n: [3, 1], m: [30, 0] }, '02': { m: [24, 0] } });
});
