/** What earlier runs of a pipeline say about a new one. */
import { expect, test } from 'vitest';
import { estimateOf } from '../../src/app/estimate.ts';
import { estimateBasis, estimateWords } from '../../src/app/estimate-words.ts';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import { house } from '../support/house.ts';
import { madeRow } from '../support/run-row.ts';

const { spent } = madeRow();
const ran = (cost_usd: number, more: Partial<RunRow> = {}): RunRow =>
  madeRow({
    ...{ pipeline: 'p.dot', pipeline_file: '/a/p.dot', status: 'completed' },
    ...{ elapsed_ms: cost_usd * 60_000, forked_from: null, replay_of: null },
    spent: {
      ...spent,
      cost_usd,
      unknown_cost: 0,
      unknown_tokens: 0,
      input_tokens: cost_usd * 1000,
      output_tokens: 0,
    },
    ...more,
  });
const unpriced = {
  ...spent,
  cost_usd: 0,
  unknown_cost: 2,
  unknown_tokens: 0,
  input_tokens: 5000,
  output_tokens: 0,
};
const fork = { run_id: 'r', node: 'a', visit: 1, before: true, changed: [] };

test.for<[what: string, rows: readonly RunRow[], basis: string, words: readonly string[]]>([
  ['no runs', [], 'unknown: no run of this pipeline has completed here', ['unknown', 'unknown', 'unknown']],
  ['one run', [ran(2)], 'one completed run', ['2.00 USD', '2k', '2m00s']],
  [
    'an even number of runs',
    [ran(4), ran(1), ran(3), ran(2)],
    'median of 4 completed runs (least to most)',
    ['2.50 USD (1.00 USD to 4.00 USD)', '2.5k (1k to 4k)', '2m30s (1m00s to 4m00s)'],
  ],
  [
    'failed ones, forks and replays',
    [ran(2), ran(9, { status: 'failed' }), ran(9, { forked_from: fork }), ran(9, { replay_of: 'r' })],
    'one completed run; 3 others are not counted',
    ['2.00 USD', '2k', '2m00s'],
  ],
  [
    'runs of other files with the same name',
    [
      ran(9, { pipeline_file: '/b/p.dot' }),
      ran(9, { pipeline: '/a/q.dot', pipeline_file: undefined as never }),
    ],
    'unknown: no run of this pipeline has completed here',
    ['unknown', 'unknown', 'unknown'],
  ],
  [
    'an unknown cost',
    [ran(2), ran(0, { spent: unpriced, elapsed_ms: 120_000 })],
    'median of 2 completed runs (least to most)',
    ['2.00 USD, unknown for 1 of 2', '3.5k (2k to 5k)', '2m00s'],
  ],
])('an estimate from %s', ([, rows, basis, words]) => {
  const estimate = estimateOf('/a/p.dot', rows);
  expect([estimateBasis(estimate), Object.values(estimateWords(estimate))]).toEqual([basis, words]);
});

test('factory estimate prints the figures of a pipeline, by its name or its path', async () => {
  await using it = await house({
    'pipelines/p.dot':
      'digraph g { workdir="none"; start [shape=Mdiamond] exit [shape=Msquare] start -> exit }',
  });
  expect((await it.verb(['estimate', 'p'])).out).toBe(
    'p: unknown: no run of this pipeline has completed here\n',
  );
  await it.run('p', { quiet: true });
  const told = await it.verb(['estimate', 'pipelines/p.dot']);
  expect(told.out).toMatch(
    /^pipelines\/p\.dot: one completed run\n {2}cost {4}0\.00 USD\n {2}tokens {2}0\n {2}time {4}\d/,
  );
  const { cost_usd } = JSON.parse((await it.verb(['estimate', 'p'], { json: true })).out);
  expect(cost_usd).toEqual({ median: 0, least: 0, most: 0 });
  expect(await it.verb(['estimate', 'none'])).toMatchObject({ code: 2 });
});
