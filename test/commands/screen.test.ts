import { expect, test } from 'vitest';
import type { Io } from '../../src/commands/io.ts';
import type { ViewIo } from '../../src/commands/view.ts';
import { openView } from '../../src/commands/view.ts';
import type { RunEvent } from '../../src/model/event.ts';

const base = { schema_version: 1, at: '2026-01-02T03:04:05.000Z' } as const;
const started = (node_id: string, node_type: string): RunEvent => ({
  ...base,
  type: 'StageStarted',
  node_id,
  visit: 1,
  node_type,
});
const completed = (node_id: string, notes = ''): RunEvent => ({
  ...base,
  type: 'StageCompleted',
  node_id,
  visit: 1,
  outcome: 'success',
  notes,
  elapsed_ms: 1200,
});
const saved = (last_completed_node: string): RunEvent => ({
  ...base,
  type: 'CheckpointSaved',
  last_completed_node,
});
const atExit = [started('bad', 'exit'), completed('bad'), saved('bad')];

function seen(
  events: readonly RunEvent[],
  io: Partial<Io> = {},
  wishes: Parameters<typeof openView>[0] = {},
): string {
  let text = '';
  const doors: ViewIo = {
    cwd: '/',
    env: {},
    out: () => {},
    err: (more) => {
      text += more;
    },
    outIsTerminal: false,
    errIsTerminal: false,
    width: 80,
    clock: { now: () => new Date(0), monotonic: () => 0, sleep: async () => {} },
    every: () => () => {},
    ...io,
  };
  const { watcher } = openView({ color: false, ...wishes }, doors);
  for (const event of events) watcher.event(event);
  return text;
}
const terminal = { errIsTerminal: true, env: { TERM: 'xterm' } };
const failed: RunEvent = { ...base, type: 'PipelineFailed', error: 'bad: because' };
const done: RunEvent = { ...base, type: 'PipelineCompleted' };

test('the exit of a run that failed is not shown as a success, neither live nor in the log', () => {
  const log = seen([...atExit, failed]);
  expect(log).not.toContain('outcome=success');
  expect(log).toMatch(/WARN {2}failing exit reached node=bad outcome=fail\n.* ERROR pipeline failed/);
  expect(seen([...atExit, failed], terminal)).not.toContain('✓');
});

test('the exit of a run that succeeded is, and so is one that sends the run back', () => {
  expect(seen([...atExit, done])).toMatch(/stage completed node=bad outcome=success.*\n.*pipeline completed/);
  expect(seen([...atExit, done], terminal)).toContain('✓ bad');
  expect(seen([...atExit, started('work', 'tool')], terminal)).toContain('✓ bad');
});

test('a terminal that is dumb gets plain records', () => {
  const text = seen([started('one', 'tool'), completed('one')], {
    errIsTerminal: true,
    env: { TERM: 'dumb' },
  });
  expect(text).toContain('stage completed node=one');
  expect(text).not.toContain('\x1b');
});

test('lines of the live view fit a narrow terminal', () => {
  const text = seen([started('one', 'tool'), completed('one', 'a long story '.repeat(9))], {
    ...terminal,
    width: 40,
  });
  const last = text.split('\n').at(-2)?.split('\x1b[2K').at(-1) ?? '';
  expect(last).toContain('✓ one 1.2s  a long');
  expect(last.length).toBeLessThan(40);
});

test('a quiet run leaves the cause to the summary', () => {
  expect(seen([...atExit, failed], {}, { quiet: true })).toBe('');
});

test('a wish for records that nobody knows is told once', () => {
  const text = seen([done], { env: { FACTORY_LOG_LEVEL: 'loud' } });
  expect(text.match(/FACTORY_LOG_LEVEL=loud/g)).toHaveLength(1);
  expect(seen([done], { env: { FACTORY_LOG_FORMAT: 'xml' } })).toContain('FACTORY_LOG_FORMAT=xml');
  expect(seen([done], { env: { FACTORY_LOG_LEVEL: 'Warning' } })).toBe('');
});
