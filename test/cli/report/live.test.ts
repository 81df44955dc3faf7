import { expect, test } from 'vitest';
import { harmless } from '../../../src/cli/io.ts';
import { openView } from '../../../src/cli/report/live.ts';
import { painter, tail } from '../../../src/cli/report/run.ts';
import { runScreen } from '../../../src/cli/report/screen.ts';
import { openDrawing } from '../../../src/cli/report/terminal.ts';
import type { RunEvent } from '../../../src/core/events.ts';
import { handClock } from '../../support/clock.ts';

test.for([
  ['all of it', 20, 'all of it'],
  ['only the last words of it', 15, '…st words of it'],
  ['two\n\n lines\tand\r\u001b[31m colour', 40, 'two lines and [31m colour'],
  ['\u202eturned\u2066', 20, 'turned'],
  ['half a pair \ud83d', 20, 'half a pair'],
  ['\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57', 12, '…\u5b57\u6f22\u5b57\u6f22\u5b57'],
  ['no room', 5, ''],
] as const)('of %j there are %i columns to show %j', ([text, room, shown]) => {
  expect(tail(text, room)).toBe(shown);
});

const at = '2026-01-01T00:00:00.000Z';
const base = { schema_version: 1, at } as const;
const started = (node_id: string, visit = 1): RunEvent => ({
  ...base,
  type: 'StageStarted',
  node_id,
  visit,
  node_type: 'tool',
});
type Completed = Extract<RunEvent, { type: 'StageCompleted' }>;
const completed = (node_id: string, more: Partial<Completed> = {}): RunEvent => ({
  ...base,
  type: 'StageCompleted',
  node_id,
  visit: 1,
  outcome: 'success',
  notes: '',
  elapsed_ms: 1000,
  ...more,
});
const order = (attempt: number, commit?: string) => ({
  work_order: {
    id: 'WO-02',
    title: 'Find the files of a folder and check all of their links',
    index: 2,
    count: 4,
    attempt,
    done: commit !== undefined,
    commit: commit ?? null,
  },
});
const failed: RunEvent = {
  ...base,
  type: 'StageFailed',
  node_id: 'verify',
  visit: 1,
  failure_reason: 'tests fail',
  failure_class: 'product',
  elapsed_ms: 2000,
};

/** A screen without colours on which each event comes a second after the one before. */
function screenOf(width: number, unfolded = false) {
  const outputOf = (node: string) => `runs/r/${node}/tool.stdout.txt`;
  const screen = runScreen({ paint: painter(false), unfolded, outputOf });
  let now = 0;
  const kept: string[] = [];
  return {
    kept,
    events(...all: readonly RunEvent[]) {
      for (const one of all) {
        now += 1000;
        kept.push(...screen.event(one, now, width));
      }
    },
    text: screen.text,
    below: (later = 0) => screen.below(now + later, width),
  };
}

test.for([60, 80, 120])('a work order unfolds while it runs, at %i columns', (width) => {
  const it = screenOf(width);
  it.events(started('next'), completed('next', order(0)), started('prompt'), completed('prompt', order(1)));
  it.events(started('verify'), failed, started('rollback'), completed('rollback', order(1)));
  it.events(started('prompt', 2), completed('prompt', order(2)), started('apply', 2));
  it.events(
    completed('apply', {
      visit: 2,
      notes: 'wrote many files, more than there is room for here',
      ...order(2),
    }),
  );
  it.events(started('verify', 2));
  it.text(
    'verify',
    'ok 1 - a\r\n\u001b[32mok 2\u001b[0m - a line that is rather long for a narrow terminal\n\n',
    'stdout',
  );
  const below = it.below();
  expect(it.kept).toEqual([]);
  for (const line of below) expect(line.length).toBeLessThan(width);
  expect(below.map((line) => line.slice(0, 31).trimEnd())).toEqual([
    '  12.0s ● WO-02 Find the files',
    '            attempt 1: verify:',
    '    11.0s ✓ apply #2 1.0s  wrot',
    '    12.0s … verify #2 0.0s  ok',
  ]);
  it.events(
    completed('verify', { visit: 2 }),
    started('commit'),
    completed('commit', order(2, 'abc1234567')),
  );
  expect(it.kept).toHaveLength(2);
  expect(it.kept[0]).toMatch(/✓ WO-02 Find the files.* {2}2 attempts {2}14\.0s {2}abc1234$/);
  // Why the first attempt failed stays.
  expect(it.kept[1]).toMatch(/^ {12}attempt 1: verify: /);
  expect(it.kept[1]?.length).toBeLessThan(width);
  expect(it.kept[0]?.length).toBeLessThan(width);
  expect(it.below()).toEqual([]);
  it.events(
    started('next', 2),
    completed('next', { visit: 2, notes: 'all done', ...order(2, 'abc1234567') }),
  );
  expect(it.kept[2]).toMatch(/✓ next #2 1\.0s {2}all done$/);
});

test('with everything unfolded each node is a line, and so is the work order', () => {
  const it = screenOf(80, true);
  it.events(started('next'), completed('next', order(0)), started('verify'), failed);
  it.events(started('commit'), completed('commit', order(1, 'abc1234567')));
  expect(it.kept.map((line) => line.slice(8, 24).trim())).toEqual([
    '✓ next 1.0s',
    '✗ verify 2.0s  t',
    '✓ commit 1.0s',
    '✓ WO-02 Find the',
  ]);
});

test('a run that fails within a work order leaves its line and the steps of the last attempt', () => {
  const it = screenOf(80);
  it.events(started('next'), completed('next', order(0)), started('verify'), failed);
  it.events({ ...base, type: 'PipelineFailed', error: 'because' });
  expect(it.kept).toEqual([
    '   4.0s ✗ WO-02 Find the files of a folder and check all of thei…  2 of 4  3.0s',
    '     3.0s ✗ verify 2.0s  tests fail',
  ]);
  expect(it.below()).toEqual([]);
});

test('of a node that takes long the place of its output is shown, whole', () => {
  const it = screenOf(40);
  it.events(started('a-rather-long-name'));
  expect(it.below(9000)).toHaveLength(1);
  expect(it.below(10_000)[1]).toBe('          output: runs/r/a-rather-long-name/tool.stdout.txt');
});

test('what is drawn below is removed line by line, also after the terminal became narrower', () => {
  let text = '';
  let width = 80;
  const drawing = openDrawing({
    err: (more) => {
      text = harmless(more);
    },
    get width() {
      return width;
    },
  });
  drawing.draw(['kept'], ['x'.repeat(70), 'y']);
  expect(text).toBe(`kept\n${'x'.repeat(70)}\ny`);
  width = 40;
  drawing.draw(['more'], []);
  expect(text).toBe('\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2Kmore\n');
});

test('on a terminal the last words of the model are shown, and the last line of a program', async () => {
  let screen = '';
  let look = () => {};
  const clock = handClock();
  const view = await openView(
    { color: false },
    {
      cwd: '/home',
      env: {},
      out: () => {},
      err: (text) => {
        screen += text;
      },
      outIsTerminal: true,
      errIsTerminal: true,
      width: 60,
      clock,
      every: (_, work) => {
        look = work;
        return () => {};
      },
    },
  );
  const last = () => screen.split('\r\x1b[2K').at(-1);
  view.watcher.opened?.({ dir: '/home/runs/r', title: 'A link checker' });
  expect(screen).toBe('run runs/r: A link checker\n');
  view.watcher.event(started('plan'));
  view.watcher.streamed('plan', 'I look at the\nspec, ', 'reasoning');
  view.watcher.streamed('plan', 'line by line', 'reasoning');
  look();
  expect(last()).toBe('   0.0s … plan 0.0s  I look at the spec, line by line');
  view.watcher.streamed('plan', 'and again, because it is so very long a text', 'reasoning');
  look();
  expect(last()).toMatch(/^ {3}0\.0s … plan 0\.0s {2}….*it is so very long a text$/);
  expect(last()?.length).toBeLessThan(60);
  view.watcher.streamed('plan', '{"a', 'answer');
  look();
  expect(last()).toBe('   0.0s … plan 0.0s  {"a');
  view.watcher.output('plan', 'one\ntwo\n', 'stderr');
  look();
  expect(last()).toBe('   0.0s … plan 0.0s  two');
});
