/** The map of a graph on the page: where a reader looks, and what a run puts on it. */
import { expect, test } from 'vitest';
import type { ExecutionGroup, ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import type { RunView } from '../../../src/app/inspect/shapes.ts';
import type { Wait } from '../../../src/app/inspect/wait.ts';
import type { GraphMap, MapBox } from '../../../src/app/picture/map-shape.ts';
import {
  type Direction,
  eyeOn,
  movedEye,
  nextBox,
  seenBox,
  startEye,
  wholeEye,
  zoomedEye,
} from '../../../src/web/page/text/map-eye.ts';
import { firstLook, nodeMarks, takenBy, takenCounts } from '../../../src/web/page/text/map-marks.ts';
import { lastLines } from '../../../src/web/page/text/output-lines.ts';

const frame = { width: 800, height: 400 };
const tall = { width: 400, height: 9000 };

test.for<[what: string, size: typeof tall, target: MapBox | undefined, expected: readonly number[]]>([
  ['a small map is shown whole, not blown up', { width: 300, height: 200 }, undefined, [150, 100, 1]],
  ['a large one begins at its upper end, in letters that can be read', tall, undefined, [200, 184, 1]],
  ['what a reader looks for is in the middle', tall, [150, 5000, 100, 40], [200, 5020, 1]],
  ['at the end there is no empty space', tall, [150, 8950, 100, 40], [200, 8816, 1]],
])('%s', ([, size, target, [x, y, scale]]) => {
  expect(startEye(size, frame, target)).toEqual({ x, y, scale });
});

test('all of the map is shown on request, with a margin', () => {
  const [left, top, width, height] = seenBox(wholeEye(tall, frame), frame);
  expect([left < 0, top < 0, left + width > 400, top + height > 9000]).toEqual([true, true, true, true]);
});

test('zooming keeps the point under the pointer where it is', () => {
  const eye = { x: 200, y: 500, scale: 1 };
  const at = { x: 100, y: 450 };
  const next = zoomedEye(eye, 2, tall, frame, at);
  expect(next.scale).toBe(2);
  expect([(at.x - next.x) * next.scale, (at.y - next.y) * next.scale]).toEqual([-100, -50]);
  let least = eye;
  for (let times = 0; times < 50; times++) least = zoomedEye(least, 0.5, tall, frame);
  expect(least.scale).toBeCloseTo(wholeEye(tall, frame).scale / 2);
});

test('the middle of the frame stays on the map', () => {
  expect(movedEye({ x: 10, y: 10, scale: 1 }, -500, -500, tall)).toEqual({ x: 0, y: 0, scale: 1 });
});

test('a node is brought into view only if it is not there, or too small', () => {
  const eye = { x: 200, y: 500, scale: 1 };
  expect(eyeOn(eye, [100, 450, 200, 40], tall, frame)).toBe(eye);
  expect(eyeOn(eye, [100, 4000, 200, 40], tall, frame)).toEqual({ x: 200, y: 4020, scale: 1 });
  expect(eyeOn({ ...eye, scale: 0.05 }, [100, 450, 200, 40], tall, frame).scale).toBe(1);
});

test.for<[direction: Direction, expected: number | undefined]>([
  ['ArrowDown', 1],
  ['ArrowRight', 2],
  ['ArrowUp', undefined],
  ['ArrowLeft', undefined],
])('%s moves to the nearest node in that direction', ([direction, expected]) => {
  const boxes: MapBox[] = [
    [0, 0, 10, 10],
    [0, 50, 10, 10],
    [60, 0, 10, 10],
    [60, 50, 10, 10],
  ];
  expect(nextBox(boxes, boxes[0] ?? [0, 0, 0, 0], direction)).toBe(expected);
});

const row = (node: string, state: ExecutionRow['state'], more: Partial<ExecutionRow> = {}) =>
  ({
    node,
    visit: 1,
    state,
    group: 'WO-03',
    next: null,
    took_ms: 100,
    waiting: null,
    ...more,
  }) as ExecutionRow;
const wait: Wait = {
  ...({ for: 'rate_limit', attempt: 2, of: 5, cause: '429 Too Many Requests' } as const),
  ...{ since: '2026-03-01T10:00:00.000Z', until: '2026-03-01T10:00:41.000Z' },
};
const time = { now: Date.parse(wait.since), sinceMs: 0 };
const view = (id: string, more = {}) => ({
  ...{ id, type: 'tool', label: id, ends: null, state: 'none' as const, executions: 0 },
  ...{ took_ms: 0, cost_usd: null, calls: 0, ...more },
});
const order = (id: string, state: ExecutionGroup['state'], attempts = 1) =>
  ({
    id,
    kind: 'order',
    state,
    attempts: Array.from({ length: attempts }, (_, at) => ({ number: at + 1 })),
  }) as ExecutionGroup;

const run = (more: Partial<RunView>): RunView =>
  ({
    ...{ status: 'running', executions: [], groups: [], question: null, failed_node: null },
    graph: {
      nodes: [
        view('next'),
        view('verify'),
        view('proof', { state: 'success', executions: 2, took_ms: 1500 }),
        view('call'),
      ],
      edges: [
        { from: 'next', to: 'proof', label: '', condition: 'a', taken: 2 },
        { from: 'verify', to: 'proof', label: '', condition: 'b', taken: 1 },
      ],
      children: [
        {
          call: 'call',
          nodes: [view('call.look', { state: 'running', executions: 1 })],
          edges: [],
          regions: [],
        },
      ],
      folds: [{ id: 'next', kind: 'orders', label: 'Work orders', within: null, nodes: ['next', 'verify'] }],
    },
    ...more,
  }) as unknown as RunView;

const piece = (
  id: string,
  of: string[],
  opens: string | null = null,
  room = 300,
): GraphMap['nodes'][number] => ({
  ...{ id, label: id, of, opens, leads: null, about: opens === null ? id : '', room, svg: '' },
  box: [0, 0, 10, 10],
});
const map = (...nodes: GraphMap['nodes']): GraphMap => ({
  ...{ schema_version: 1, width: 1, height: 1, defs: '', nodes, boxes: [] },
  edges: [
    {
      ...{ from: 'next', to: 'proof', box: [0, 0, 1, 1], svg: '' },
      parts: [
        { from: 'next', to: 'proof', condition: 'a' },
        { from: 'verify', to: 'proof', condition: 'b' },
      ],
    },
    { from: 'call', to: 'call.look', box: [0, 0, 1, 1], svg: '', parts: [] },
  ],
});
const orders = piece('next', ['next', 'verify'], 'next');

test.for<[what: string, more: Partial<RunView>, expected: readonly string[]]>([
  [
    'an order at work',
    {
      executions: [row('next', 'success'), row('verify', 'running')],
      groups: [order('WO-02', 'done'), order('WO-03', 'running', 2)],
    },
    ['running', 'WO-03, attempt 2, verify'],
  ],
  [
    'one that failed',
    { executions: [row('verify', 'fail')], groups: [order('WO-03', 'failed', 5)] },
    ['fail', 'WO-03, attempt 5, verify'],
  ],
  [
    'one of several branches that still runs',
    {
      executions: [row('verify.1', 'running'), row('verify.2', 'success')],
      groups: [order('WO-03', 'running')],
    },
    ['running', 'WO-03, attempt 1, verify.1'],
  ],
  [
    'all done',
    {
      executions: [row('next', 'success', { group: 'proof' })],
      groups: [order('WO-02', 'done'), order('WO-03', 'done')],
    },
    ['success', '2 of 2 work orders'],
  ],
  ['nothing yet', {}, ['none', '']],
])('the card of the work orders shows %s', ([, more, expected]) => {
  const mark = nodeMarks(run(more), map(orders), time).get('next');
  expect([mark?.state, mark?.details]).toEqual(expected);
});

test('a node shows as much of its figures as it has room for', () => {
  const details = (room: number) =>
    nodeMarks(run({}), map(piece('proof', ['proof'], null, room)), time).get('proof')?.details;
  expect(details(300)).toBe('proof · ×2 · 1.5s');
  expect(details(70)).toBe('proof · ×2');
  expect(details(10)).toBe('proof');
});

test('the time of a node that runs grows; a folded call names the node that runs in it', () => {
  const executions = [row('call', 'success'), row('call.2.look', 'running')];
  const call = { ...piece('call', ['call', 'call.look'], 'call'), about: 'call' };
  const folded = nodeMarks(run({ executions }), map(call), { ...time, sinceMs: 5000 }).get('call');
  expect(folded?.details).toBe('call · look');
  const opened = map(piece('call.look', ['call.look']));
  const open = nodeMarks(run({ executions }), opened, { ...time, sinceMs: 5000 }).get('call.look');
  expect([open?.state, open?.details]).toEqual(['running', 'call.look · 5.0s']);
});

test.for<[room: number, expected: string]>([
  [400, 'proof · rate limited, attempt 2 of 5, next try in 41 s'],
  [150, 'proof · next try in 41 s'],
  [110, 'proof · in 41 s'],
  [10, 'in 41 s'],
])('a node that waits has its sign, and with room for %i points "%s"', ([room, expected]) => {
  const executions = [row('proof', 'success'), row('proof', 'running', { visit: 2, waiting: wait })];
  const graph = run({}).graph;
  const nodes = graph.nodes.map((one) => (one.id === 'proof' ? { ...one, state: 'running' as const } : one));
  const mark = nodeMarks(
    run({ executions, graph: { ...graph, nodes } }),
    map(piece('proof', ['proof'], null, room)),
    time,
  ).get('proof');
  expect([mark?.state, mark?.details]).toEqual(['waits', expected]);
});

test('the card of the work orders counts down; one that runs beside is what it shows', () => {
  const groups = [order('WO-03', 'running', 2)];
  const shown = (room: number, ...executions: ExecutionRow[]) => {
    const mark = nodeMarks(run({ executions, groups }), map({ ...orders, room }), time).get('next');
    return [mark?.state, mark?.details];
  };
  const waits = row('verify.2', 'running', { waiting: wait });
  expect(shown(500, waits)).toEqual([
    'waits',
    'WO-03, attempt 2, verify.2 · rate limited, attempt 2 of 5, next try in 41 s',
  ]);
  expect(shown(170, waits)).toEqual(['waits', 'WO-03 · next try in 41 s']);
  expect(shown(150, row('verify.1', 'running'), waits)).toEqual(['running', 'WO-03, attempt 2, verify.1']);
});

test('of a suspended run the countdown runs too; without a time there is what it waits for', () => {
  const shown = (waiting: ExecutionRow['waiting']) => {
    const graph = run({}).graph;
    const nodes = graph.nodes.map((one) => ({ ...one, state: 'suspended' as const }));
    const executions = [row('proof', 'suspended', { waiting })];
    const more = { status: 'paused_quota', executions, graph: { ...graph, nodes } } as const;
    const mark = nodeMarks(run(more), map({ ...piece('proof', ['proof']), about: '' }), time).get('proof');
    return [mark?.state, mark?.details];
  };
  expect(shown({ ...wait, for: 'quota', attempt: null, of: null })).toEqual([
    'suspended',
    'quota used up, continues in 41 s',
  ]);
  expect(shown({ ...wait, for: 'answer', attempt: null, of: null, until: null })).toEqual([
    'suspended',
    'waiting for an answer',
  ]);
});

test('an edge counts all that it stands for; into what was opened, the executions of its first node', () => {
  expect(takenCounts(run({}), map(orders))).toEqual([3, 1]);
  const executions = [
    row('next', 'success', { next: 'verify' }),
    row('verify', 'success', { next: 'proof' }),
  ];
  const [edge] = map().edges;
  expect(takenBy(run({ executions }), edge ?? { parts: [] }).map(({ node }) => node)).toEqual(['verify']);
});

test.for<[what: string, more: Partial<RunView>, expected: string | undefined]>([
  ['what runs', { executions: [row('a', 'running'), row('b', 'success')] }, 'Running: a'],
  ['what waits in a run', { executions: [row('a', 'running', { waiting: wait })] }, 'Waiting: a'],
  ['what failed', { status: 'failed', failed_node: 'b', executions: [row('b', 'fail')] }, 'Failed: b'],
  ['what waits', { status: 'paused_quota', executions: [row('c', 'suspended')] }, 'Waiting: c'],
  [
    'a question',
    { status: 'paused_answer', question: { id: 'gate@2' } as RunView['question'] },
    'Waiting: gate',
  ],
  ['nothing of a run that succeeded after a failure', { status: 'completed', failed_node: 'b' }, undefined],
])('a map begins at %s', ([, more, expected]) => {
  expect(firstLook(run(more))?.words).toBe(expected);
});

test('the last lines of an output have words and no colours', () => {
  expect(lastLines('one\n\x1b[31mtwo\x1b[0m\n\nthree  \n', 2)).toEqual(['two', 'three']);
});
