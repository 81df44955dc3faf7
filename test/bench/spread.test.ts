/** The arithmetic of the bench. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { measuredRun } from '../../bench/cases/nodes.ts';
import { blocksOf, evenGrowthOf, growthOf, paired, spreadOf, stepsOf } from '../../bench/spread.ts';

test.for([
  { values: [], spread: undefined },
  { values: [7], spread: { min: 7, median: 7, max: 7 } },
  { values: [9, 1, 10], spread: { min: 1, median: 9, max: 10 } },
  { values: [4, 1, 3, 2], spread: { min: 1, median: 2.5, max: 4 } },
])('the spread of $values is $spread', ({ values, spread }) => {
  expect(spreadOf(values)).toEqual(spread);
});

test.for([
  { how: 'ratio', ours: [2, 9], theirs: [4, 3], expected: [0.5, 3] },
  { how: 'ratio', ours: [2, undefined, 6], theirs: [4, 3, undefined], expected: [0.5] },
  { how: 'ratio', ours: [2], theirs: [0], expected: [] },
  { how: 'difference', ours: [50, 61], theirs: [40, 70], expected: [10, -9] },
  { how: 'value', ours: [5, undefined, 6], theirs: [], expected: [5, 6] },
] as const)(
  'a $how of $ours and $theirs is taken round by round: $expected',
  ({ how, ours, theirs, expected }) => {
    expect(paired(how, ours, theirs)).toEqual(expected);
  },
);

test('the cost of a node is the time since the node before it', () => {
  expect(stepsOf([100, 103, 110, 110])).toEqual([3, 7, 0]);
  expect(stepsOf([100])).toEqual([]);
});

test.for([
  { costs: [], size: 2, blocks: [] },
  { costs: [1], size: 2, blocks: [1] },
  { costs: [1, 3, 5, 7], size: 2, blocks: [2, 6] },
  { costs: [1, 3, 5, 7, 18], size: 2, blocks: [2, 10] },
])('in blocks of $size, $costs cost $blocks', ({ costs, size, blocks }) => {
  expect(blocksOf(costs, size)).toEqual(blocks);
});

test.for([
  { what: 'of a steady cost', cost: () => 4, growth: 1 },
  { what: 'of a cost that triples at half-way', cost: (node: number) => (node < 5000 ? 2 : 6), growth: 3 },
  {
    what: 'without the first ten nodes, which load code',
    cost: (node: number) => (node < 10 ? 500 : 4),
    growth: 1,
  },
  { what: 'untouched by a few slow nodes', cost: (node: number) => (node === 9990 ? 900 : 4), growth: 1 },
])('growth is reported $what', ({ cost, growth }) => {
  expect(growthOf(Array.from({ length: 9999 }, (_, node) => cost(node)))).toBeCloseTo(growth, 9);
});

test('the growth of a short run is not told', () => {
  expect(growthOf(Array.from({ length: 199 }, () => 4))).toBeUndefined();
  expect(growthOf(Array.from({ length: 200 }, () => 4))).toBe(1);
});

test('a run has the mean cost of its nodes and, when it is long enough, its growth', () => {
  const times = Array.from({ length: 401 }, (_, node) => (node <= 200 ? node : 200 + 3 * (node - 200)));
  const { sample, costs } = measuredRun({ wall_ms: 900 }, times);
  // Nobody felt what its stages took.
  expect(sample).toEqual({ wall_ms: 900, node_ms: 2, growth_x: 3, even_growth_x: 3 });
  expect(costs).toHaveLength(400);
  expect(measuredRun({ wall_ms: 9 }, [5, 7, 10])).toEqual({
    sample: { wall_ms: 9, node_ms: 2.5 },
    costs: [2, 3],
  });
  expect(measuredRun({ wall_ms: 9 }, [5])).toEqual({ sample: { wall_ms: 9 } });
});

test.for([
  { what: 'is not moved by a processor that halves its speed', late: 8, used: 2, growth: 1 },
  { what: 'is reported where nodes cost more and stages do not', late: 12, used: 1, growth: 3 },
])('growth outside the stages $what', ({ late, used, growth }) => {
  const times = [0];
  const pulses = [{ at: -1, used: 0 }];
  for (let node = 1; node <= 800; node++) {
    times.push((times.at(-1) ?? 0) + (node <= 400 ? 4 : late));
    const before = pulses.at(-1)?.used ?? 0;
    pulses.push({ at: times.at(-1) ?? 0, used: before + (node <= 400 ? 1 : used) });
  }
  expect(evenGrowthOf(times, pulses)).toBeCloseTo(growth, 6);
  // Nodes after the last pulse are left out.
  expect(evenGrowthOf([...times, 1e9], pulses)).toBeCloseTo(growth, 6);
  expect(measuredRun({}, times, pulses).sample.even_growth_x).toBeCloseTo(growth, 6);
});

test('without pulses, or where stages took nothing that was felt, there is no growth outside them', () => {
  const times = Array.from({ length: 500 }, (_, node) => node);
  expect(evenGrowthOf(times, [])).toBeUndefined();
  expect(
    evenGrowthOf(
      times,
      times.map((at) => ({ at, used: 0 })),
    ),
  ).toBeUndefined();
});

test('growth is the same whatever the unit', () => {
  const costs = fc.array(fc.double({ min: 0.1, max: 100, noNaN: true }), { minLength: 200, maxLength: 300 });
  fc.assert(
    fc.property(costs, fc.double({ min: 0.01, max: 1000, noNaN: true }), (some, unit) => {
      expect(growthOf(some.map((cost) => cost * unit))).toBeCloseTo(growthOf(some) ?? NaN, 6);
    }),
  );
});
