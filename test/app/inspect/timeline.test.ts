/** The timeline of a run: lanes, bars and the axis. */
import { expect, test } from 'vitest';
import type { ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import { axisMarks, timelineOf } from '../../../src/app/inspect/timeline.ts';

const begin = Date.parse('2026-11-26T10:00:00Z');
const iso = (seconds: number): string => new Date(begin + seconds * 1000).toISOString();
const execution = (node: string, from: number, to: number | null, facts: Partial<ExecutionRow> = {}) =>
  ({
    ...{
      node,
      label: node,
      branch: null,
      type: 'tool',
      visit: 1,
      began_at: iso(from),
      model_ms: 0,
      took_ms: 2000,
      waits: [],
      pauses: [],
    },
    ended_at: to === null ? null : iso(to),
    ...facts,
  }) as ExecutionRow;
/** Seconds after the start. */
const after = (time: number): number => (time - begin) / 1000;
const spans = (some: readonly { readonly from: number; readonly to: number }[]) =>
  some.map(({ from, to }) => [after(from), after(to)]);

test('each node has a lane, each execution a bar, a running one until now or until it was read', () => {
  const executions = [
    execution('plan', 0, 2),
    execution('verify', 2, 4),
    execution('plan', 4, null, { visit: 2 }),
  ];
  const lanesAt = (now?: number) =>
    timelineOf(executions, now).lanes.map(({ id, bars }) => [id, spans(bars)]);
  expect(lanesAt(begin + 7000)).toEqual([
    [
      'plan',
      [
        [0, 2],
        [4, 7],
      ],
    ],
    ['verify', [[2, 4]]],
  ]);
  expect(lanesAt()[0]?.[1]).toContainEqual([4, 6]);
});

test('a branch has one lane for all its nodes; one of a single node looks like that node', () => {
  const executions = [
    execution('fan', 0, 1),
    execution('a', 1, 4, { branch: 'a' }),
    execution('b', 1, 3, { branch: 'b', label: 'Review' }),
    execution('test', 4, 6, { branch: 'a' }),
    execution('join', 6, 7),
  ];
  expect(
    timelineOf(executions).lanes.map(({ id, label, type, bars }) => [id, label, type, bars.length]),
  ).toEqual([
    ['fan', 'fan', 'tool', 1],
    ['a', 'a', null, 2],
    ['b', 'Review', 'tool', 1],
    ['join', 'join', 'tool', 1],
  ]);
});

test('a bar has its attempts, the waits between them within it, and the share of model calls', () => {
  const waits = [
    { at: iso(2), ms: 2000 },
    { at: iso(9), ms: 60_000 },
  ];
  const [lane] = timelineOf([execution('plan', 0, 10, { model_ms: 3500, waits })]).lanes;
  const [bar] = lane?.bars ?? [];
  expect(spans(bar?.attempts ?? [])).toEqual([
    [0, 2],
    [4, 9],
    [10, 10],
  ]);
  expect(spans(bar?.waits ?? [])).toEqual([
    [2, 4],
    [9, 10],
  ]);
  expect(bar?.model).toBe(0.5);
});

test('a night between two executions takes a twenty-fifth of the width, and the axis can be read back', () => {
  const { pauses, at, timeAt } = timelineOf([execution('plan', 0, 48), execution('verify', 40_000, 40_048)]);
  expect(spans(pauses)).toEqual([[48, 40_000]]);
  expect(at(begin)).toBe(0);
  expect(at(begin + 48_000)).toBeCloseTo(0.48, 5);
  expect(at(begin + 40_000_000)).toBeCloseTo(0.52, 5);
  expect(at(begin + 40_048_000)).toBe(1);
  for (const seconds of [0, 13, 48, 40_020])
    expect(after(timeAt(at(begin + seconds * 1000)))).toBeCloseTo(seconds, 3);
});

test.for<[between: number, cut: boolean]>([
  [5, false],
  [20, false],
  [21, true],
])('a pause of %i seconds within 100 busy ones is cut: %s', ([between, cut]) => {
  const { pauses } = timelineOf([
    execution('plan', 0, 50),
    execution('plan', 50 + between, 100 + between, { visit: 2 }),
  ]);
  expect(pauses).toHaveLength(cut ? 1 : 0);
});

test.for<[executions: [number, number][], most: number, marks: number[], part?: [number, number]]>([
  [[[0, 10]], 5, [0, 2, 4, 6, 8, 10]],
  [[[0, 1.3]], 9, [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]],
  [[[0, 65]], 5, [0, 15, 30, 45, 60]],
  [[[0, 9000]], 9, [0, 1800, 3600, 5400, 7200, 9000]],
  [[[0, 65]], 5, [20, 25, 30, 35, 40], [17, 40]],
  [
    [
      [0, 10.5],
      [1000.5, 1010],
    ],
    5,
    [0, 5, 10, 1005, 1010],
  ],
  [[], 5, [0]],
])('the axis of %j with %i marks has them at %j', ([executions, most, marks, part]) => {
  const timeline = timelineOf(executions.map(([from, to], at) => execution(`n${at}`, from, to)));
  const within = part && { from: timeline.from + part[0] * 1000, to: timeline.from + part[1] * 1000 };
  expect(axisMarks(timeline, most, within).map((mark) => (mark - timeline.from) / 1000)).toEqual(marks);
});
