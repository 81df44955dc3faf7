import { expect, test } from 'vitest';
import type { ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import { type TimelineBar, timelineOf } from '../../../src/app/inspect/timeline.ts';
import { barParts, laneItems } from '../../../src/web/page/text/lanes.ts';

test('a bar is drawn as its attempts, each with its share of model calls first, and the waits', () => {
  const bar = {
    attempts: [
      { from: 0, to: 2000 },
      { from: 4000, to: 10_000 },
    ],
    waits: [{ from: 2000, to: 4000 }],
    model: 0.5,
  };
  expect(barParts(bar as unknown as TimelineBar).map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['model', 0, 1000],
    ['tool', 1000, 2000],
    ['wait', 2000, 4000],
    ['model', 4000, 7000],
    ['tool', 7000, 10_000],
  ]);
});

test('executions that are too narrow to be distinguished are one item, wide ones are not', () => {
  const row = (visit: number, from: number, to: number) =>
    ({
      ...{ node: 'plan', visit, model_ms: 0, waits: [], pauses: [] },
      ...{ began_at: new Date(from * 1000).toISOString(), ended_at: new Date(to * 1000).toISOString() },
    }) as unknown as ExecutionRow;
  const many = Array.from({ length: 6 }, (_, at) => row(at + 1, at * 2, at * 2 + 1));
  const { lanes, at } = timelineOf([...many, row(7, 12, 112)]);
  const visits = (narrow: number) =>
    laneItems(lanes[0]?.bars ?? [], at, narrow).map((item) => item.map((bar) => bar.execution.visit));
  expect(visits(0.018)).toEqual([[1, 2, 3, 4, 5], [6], [7]]);
  expect(visits(0.005)).toEqual([[1], [2], [3], [4], [5], [6], [7]]);
});
