/** Timelines of runs. */
import { expect, test } from 'vitest';
import type { ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import type { RunView } from '../../../src/app/inspect/shapes.ts';
import { tickWords, timeline } from '../../../src/app/picture/timeline.ts';

const start = Date.parse('2026-01-31T10:00:00.000Z');
const time = (seconds: number) => new Date(start + seconds * 1000).toISOString();

type Row = Partial<ExecutionRow> & { readonly node: string; readonly from: number; readonly to: number };
const row = ({ from, to, ...more }: Row): ExecutionRow => ({
  ...{ visit: 1, type: 'tool', label: more.node, state: 'success', waited_ms: 0, waits: [], model_ms: 0 },
  ...{ attempts: 1, class: null, reason: '', notes: '', cost_usd: 0, usage: null, group: 'g', next: null },
  ...{ branch: null, pauses: [], waiting: null },
  ...{
    how: '',
    replayed: false,
    human_answer: null,
    began_at: time(from),
    ended_at: time(to),
    took_ms: (to - from) * 1000,
  },
  ...more,
});

const executions = [
  row({ node: 'draft', from: 0, to: 2 }),
  row({
    ...{
      node: 'write',
      from: 2,
      to: 32,
      type: 'codergen',
      label: 'Write <it>',
      model_ms: 18_000,
      cost_usd: 0.02,
    },
    ...{ attempts: 2, waits: [{ at: time(12), ms: 6000 }], waited_ms: 6000 },
  }),
  row({ node: 'check', from: 32, to: 40, state: 'fail', reason: 'exit 1' }),
  row({
    ...{ node: 'write', visit: 2, from: 7240, to: 7250, type: 'codergen', label: 'Write <it>' },
    model_ms: 9000,
  }),
  row({ node: 'check', visit: 2, from: 7250, to: 7255, state: 'running', ended_at: null }),
];
const order = (id: string, names: readonly string[]) => ({
  ...{ id, title: `The ${id}`, kind: 'order' as const, state: 'done' as const, commit: null, took_ms: 0 },
  opened_by: null,
  attempts: [{ number: 1, state: 'done' as const, why: '', executions: [...names] }],
});
const run = {
  title: 'A run',
  executions,
  graph: { name: 'g', direction: 'TB', nodes: [], edges: [], regions: [], children: [], folds: [] },
  groups: [order('WO-01', ['write@1', 'check@1']), order('WO-02', ['write@2', 'check@2'])],
} as Partial<RunView> as RunView;

test('a timeline has a bar for each execution, with its waits, its share of model calls and its state', () => {
  const svg = timeline(run, { heading: ['A run'] });
  for (const { node, visit } of executions) expect(svg).toContain(`data-execution="${node}@${visit}"`);
  expect(svg).toContain('Write &lt;it&gt;');
  expect(svg.match(/class="wait"/g)).toHaveLength(2); // one of them in the legend
  expect(svg).toMatch(/class="bar fail" data-execution="check@1">.*href="#sign-fail"/s);
  expect(svg).toContain('no execution for 2h00m');
  expect(svg).toContain('×2 · 40.0s · 0.02 USD');
  expect(svg).not.toContain('class="restart"');
  expect(svg).toMatch(/class="order node success"><title>WO-01 The WO-01/);
});

test.for<[ms: number, words: string]>([
  [0, '0'],
  [500, '0.5s'],
  [15_000, '15s'],
  [120_000, '2m'],
  [90_000, '1m30s'],
  [10_800_000, '3h'],
  [11_100_000, '3h05m'],
  [7_250_000, '2h00m50s'],
])('a mark of the axis %i ms after the start is %s', ([ms, words]) => {
  expect(tickWords(ms)).toBe(words);
});

test('a restart is a line after the execution whose edge made it', () => {
  const restarted = executions.map((one) =>
    one.node === 'check' ? { ...one, restart: 1, next: 'draft' } : one,
  );
  const svg = timeline({ ...run, executions: restarted.slice(0, 3) });
  expect(svg.match(/<g class="restart">/g)).toHaveLength(1);
  expect(svg).toContain('<title>restart 1: after check@1, at draft</title>');
});
