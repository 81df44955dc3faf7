import { expect, test } from 'vitest';
import type { ExecutionRow } from '../../../src/app/inspect/shapes.ts';
import { axisMarks, laneItems, timelineLanes } from '../../../src/web/page/text/lanes.ts';

const begin = Date.parse('2026-11-26T10:00:00Z');
const iso = (seconds: number): string => new Date(begin + seconds * 1000).toISOString();
const execution = (
  node: string,
  from: number,
  to: number | null,
  facts: Partial<ExecutionRow> = {},
): ExecutionRow =>
  ({
    node,
    label: node,
    visit: 1,
    began_at: iso(from),
    ended_at: to === null ? null : iso(to),
    model_ms: 0,
    waits: [],
    ...facts,
  }) as ExecutionRow;

test('each node has a lane, each execution a bar, a running one until now', () => {
  const { lanes, bars } = timelineLanes(
    [execution('plan', 0, 2), execution('verify', 2, 4), execution('plan', 4, null, { visit: 2 })],
    begin + 7_000,
  );
  expect(lanes.map(({ node }) => node)).toEqual(['plan', 'verify']);
  expect(bars.map(({ lane, from, to }) => [lane, from - begin, to - begin])).toEqual([
    [0, 0, 2000],
    [1, 2000, 4000],
    [0, 4000, 7000],
  ]);
});

test('a bar has its attempts, the pauses between them, and the share of model calls', () => {
  const { bars } = timelineLanes(
    [execution('plan', 0, 10, { model_ms: 4000, waits: [{ at: iso(2), ms: 2000 }] })],
    begin,
  );
  expect(bars[0]?.parts.map(({ kind, from, to }) => [kind, from - begin, to - begin])).toEqual([
    ['model', 0, 1000],
    ['tool', 1000, 2000],
    ['wait', 2000, 4000],
    ['model', 4000, 7000],
    ['tool', 7000, 10000],
  ]);
});

test('a night between two executions takes a fiftieth of the width, and the axis can be read back', () => {
  const { idle, at, timeAt } = timelineLanes(
    [execution('plan', 0, 50), execution('verify', 40_000, 40_050)],
    begin,
  );
  expect(idle.map(({ from, to }) => [from - begin, to - begin])).toEqual([[50_000, 40_000_000]]);
  expect(at(begin)).toBe(0);
  expect(at(begin + 50_000)).toBeCloseTo(0.49, 2);
  expect(at(begin + 40_000_000)).toBeCloseTo(0.51, 2);
  expect(at(begin + 40_050_000)).toBe(1);
  for (const seconds of [0, 13, 50, 40_020]) {
    const time = begin + seconds * 1000;
    expect(timeAt(at(time))).toBeCloseTo(time, -1);
  }
});

test('marks of the axis are at round times after the start, and none in idle times', () => {
  expect(axisMarks({ begin: 0, from: 0, to: 10_000 }, [], 5)).toEqual([0, 2000, 4000, 6000, 8000, 10_000]);
  expect(axisMarks({ begin: 500, from: 500, to: 65_500 }, [], 5)).toEqual([
    500, 15_500, 30_500, 45_500, 60_500,
  ]);
  expect(axisMarks({ begin: 0, from: 0, to: 1_010_000 }, [{ from: 10_500, to: 1_000_500 }], 5)).toEqual([
    0, 5000, 10_000, 1_005_000, 1_010_000,
  ]);
});

test('executions that are too narrow to be distinguished are one item, wide ones are not', () => {
  const many = Array.from({ length: 6 }, (_, at) => execution('plan', at * 2, at * 2 + 1, { visit: at + 1 }));
  const wide = execution('plan', 12, 112, { visit: 7 });
  const { bars, at } = timelineLanes([...many, wide], begin);
  const visits = (narrow: number) =>
    laneItems(bars, at, narrow).map((item) => item.map((bar) => bar.execution.visit));
  expect(visits(0.018)).toEqual([[1, 2, 3, 4, 5], [6], [7]]);
  expect(visits(0.005)).toEqual([[1], [2], [3], [4], [5], [6], [7]]);
});
