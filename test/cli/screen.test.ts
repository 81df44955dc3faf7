import { expect, test } from 'vitest';
import { openView, type View, type ViewIo } from '../../src/cli/report/live.ts';
import type { Diagnostic } from '../../src/core/diagnostic.ts';
import type { RunEvent } from '../../src/core/events.ts';

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

const seen = (
  events: readonly RunEvent[],
  io: Partial<ViewIo> = {},
  options: Options = {},
): Promise<string> =>
  shown(
    ({ watcher }) => {
      for (const event of events) watcher.event(event);
    },
    io,
    options,
  );

type Options = Parameters<typeof openView>[0];

/** Standard error after `act` has used the view. */
async function shown(act: (view: View) => void, io: Partial<ViewIo>, options: Options = {}): Promise<string> {
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
  act(await openView({ color: false, ...options }, doors));
  return text;
}
const terminal = { errIsTerminal: true, env: { TERM: 'xterm' } };
const failed: RunEvent = { ...base, type: 'PipelineFailed', error: 'bad: because' };
const done: RunEvent = { ...base, type: 'PipelineCompleted' };

test('the exit of a run that failed is not shown as a success, neither live nor in the log', async () => {
  const log = await seen([...atExit, failed]);
  expect(log).not.toContain('outcome=success');
  expect(log).toMatch(/WARN {2}failing exit reached node=bad outcome=fail\n.* ERROR pipeline failed/);
  expect(await seen([...atExit, failed], terminal)).not.toContain('✓');
});

test('the exit of a run that succeeded is shown as a success, and so is one that sends the run back', async () => {
  expect(await seen([...atExit, done])).toMatch(
    /node completed node=bad outcome=success.*\n.*pipeline completed/,
  );
  expect(await seen([...atExit, done], terminal)).toContain('✓ bad');
  expect(await seen([...atExit, started('work', 'tool')], terminal)).toContain('✓ bad');
});

test('a dumb terminal gets plain records', async () => {
  const text = await seen([started('one', 'tool'), completed('one')], {
    errIsTerminal: true,
    env: { TERM: 'dumb' },
  });
  expect(text).toContain('node completed node=one');
  expect(text).not.toContain('\x1b');
});

test('lines of the live view fit a narrow terminal', async () => {
  const text = await seen([started('one', 'tool'), completed('one', 'a long story '.repeat(9))], {
    ...terminal,
    width: 40,
  });
  const last = text.split('\n').at(-2)?.split('\x1b[2K').at(-1) ?? '';
  expect(last).toContain('✓ one 1.2s  a long');
  expect(last.length).toBeLessThan(40);
});

test('a quiet run leaves the cause to the summary', async () => {
  expect(await seen([...atExit, failed], {}, { quiet: true })).toBe('');
});

test('an unknown log level or format is reported once', async () => {
  const text = await seen([done], { env: { FACTORY_LOG_LEVEL: 'loud' } });
  expect(text.match(/FACTORY_LOG_LEVEL=loud/g)).toHaveLength(1);
  expect(await seen([done], { env: { FACTORY_LOG_FORMAT: 'xml' } })).toContain('FACTORY_LOG_FORMAT=xml');
  expect(await seen([done], { env: { FACTORY_LOG_LEVEL: 'Warning' } })).toBe('');
});

const rerun = {
  ...base,
  type: 'ScenarioRerun',
  node_id: 'a',
  first_exit_code: 1,
  exit_code: 1,
  failure_class: null,
} as const;

/** One of each kind, as they come in a run; those of before are left out. */
const story: readonly RunEvent[] = [
  {
    ...base,
    type: 'PipelineStarted',
    agent: 'fake',
    resumed: true,
    forked_from: { run_id: 'r0', node: 'plan', visit: 2, before: true },
  },
  { ...base, type: 'StageRetrying', node_id: 'a', retry_count: 1, reason: 'not yet', delay_ms: 2000 },
  { ...base, type: 'AgentActed', node_id: 'a', action: 'command', detail: 'ls', status: 'completed' },
  { ...base, type: 'ReplayRan', node_id: 'a', visit: 1, why: 'other files' },
  { ...rerun, result: 'alike', failure_reason: 'again' },
  { ...rerun, result: 'passed', failure_reason: '' },
  { ...base, type: 'GuardrailViolation', node_id: 'a', paths: ['x', 'y z'] },
  {
    ...base,
    type: 'StageCompleted',
    node_id: 'a',
    visit: 2,
    outcome: 'partial_success',
    notes: 'some',
    elapsed_ms: 1200,
    replayed: true,
  },
  {
    ...base,
    type: 'StageFailed',
    node_id: 'a',
    visit: 2,
    failure_reason: '',
    failure_class: 'infra',
    elapsed_ms: 1200,
  },
  saved('a'),
  { ...base, type: 'PipelineInterrupted', signal: 'SIGTERM', next_node: 'b' },
  {
    ...base,
    type: 'PipelineParked',
    status: 'paused_quota',
    node_id: 'b',
    reason: 'full',
    wake_at: '2026-01-02',
  },
  { ...base, type: 'PipelineParked', status: 'paused_auth', node_id: 'b', reason: 'no key', wake_at: null },
];

test('each event is a record', async () => {
  expect(await seen(story, {}, { verbose: true })).toMatchInlineSnapshot(`
    "00:00:00 INFO  pipeline resumed agent=fake forked_from="r0 before plan@2"
    00:00:00 INFO  node requested a retry node=a retry_count=1 delay_ms=2000 reason="not yet"
    00:00:00 DEBUG agent acted node=a action=command detail=ls status=completed
    00:00:00 WARN  the record does not fit; the node runs node=a why="other files"
    00:00:00 INFO  failed scenario run again in a clean copy node=a result=alike reason=again
    00:00:00 WARN  failed scenario run again in a clean copy node=a result=passed
    00:00:00 WARN  guardrail violation node=a paths=["x","y z"]
    00:00:00 INFO  node completed node=a outcome=partial_success elapsed_ms=1200 replayed=true notes=some
    00:00:00 WARN  node failed node=a reason="" class=infra elapsed_ms=1200
    00:00:00 DEBUG checkpoint saved node=a
    00:00:00 WARN  pipeline interrupted signal=SIGTERM next=b
    00:00:00 WARN  run suspended status=paused_quota node=b wake_at=2026-01-02 reason=full
    00:00:00 WARN  run suspended status=paused_auth node=b reason="no key"
    "
  `);
});

test('in the live view only important events become permanent lines', async () => {
  const text = await seen(story, terminal);
  expect(text.replace(/at \d\d:\d\d:\d\d/, 'at TIME')).toMatchInlineSnapshot(`
    "resuming from r0 before plan@2 with agent fake
       0.0s ◔ a  waiting for a retry, next try at TIME: not yet
       0.0s ↻ a  runs, the record does not fit: other files
       0.0s ↻ a  run again in a clean copy: failed alike
       0.0s ↻ a  run again in a clean copy: passed
       0.0s ! a  wrote outside its scope, put back: x, y z
       0.0s ✓ a #2 1.2s partial_success  some
       0.0s ✗ a #2 1.2s  failed
    "
  `);
});

test('JSON records have level, time, fields and message; flags win over variables', async () => {
  const env = { FACTORY_LOG_FORMAT: 'text', FACTORY_LOG_LEVEL: 'error' };
  const flags = { logFormat: 'json', logLevel: 'info' };
  const [record] = (await seen([started('one', 'tool')], { env }, flags)).trim().split('\n');
  expect(record).toBe(
    '{"level":"INFO","time":"1970-01-01T00:00:00.000Z","node":"one","visit":1,"msg":"node started"}',
  );
});

test('FACTORY_LOG_FORMAT selects JSON, and FACTORY_LOG_LEVEL the level', async () => {
  const json = { env: { FACTORY_LOG_FORMAT: ' JSON', FACTORY_LOG_LEVEL: 'WARN' } };
  const records = (await seen(story, { ...json, errIsTerminal: true }, { verbose: true })).trim().split('\n');
  expect(records.map((line) => JSON.parse(line).level)).toEqual(Array(7).fill('WARN'));
  expect(JSON.parse(records[2] ?? '')).toEqual({
    level: 'WARN',
    time: '1970-01-01T00:00:00.000Z',
    node: 'a',
    paths: ['x', 'y z'],
    msg: 'guardrail violation',
  });
});

const amid = '\r\x1b[2K';
const oddity: Diagnostic = { code: 'odd', severity: 'warning', message: 'it is odd', fix: 'make it even' };

test('a warning about the pipeline is drawn or a record; a quiet run prints none', async () => {
  const warned = (io: Partial<ViewIo>, options: Options = {}) =>
    shown(
      ({ watcher, warn }) => {
        watcher.event(started('one', 'tool'));
        warn(oddity, undefined);
      },
      io,
      options,
    );
  const drawn = 'warning[odd]: it is odd\n  = fix: make it even\n';
  expect((await warned(terminal)).endsWith(`${amid}${drawn}`)).toBe(true);
  expect((await warned({})).endsWith(drawn)).toBe(true);
  expect(await warned({}, { quiet: true })).toBe('');
  const record = (await warned({ env: { FACTORY_LOG_FORMAT: 'json' } })).trim().split('\n').at(-1);
  expect(JSON.parse(record ?? '')).toMatchObject({ code: 'odd', fix: 'make it even', msg: 'it is odd' });
});

test('in the live view only warnings and errors are records, unless --verbose', async () => {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const told = async (options: Options) =>
    (
      await shown(
        ({ watcher, log }) => {
          for (const level of levels) {
            watcher.event(started('one', 'tool'));
            log(level, 'word');
          }
          watcher.spent('one', { model: 'm', input_tokens: 1, output_tokens: 2, cost_usd: null });
        },
        terminal,
        options,
      )
    )
      .split(/(?<=\n)|\r\x1b\[2K/)
      .filter((text) => /[A-Z]{4}/.test(text))
      .map((text) => text.replace(/^.*(?=\d\d:\d\d:\d\d [A-Z])/, ''));
  const records = ['DEBUG', 'INFO ', 'WARN ', 'ERROR'].map((level) => `00:00:00 ${level} word\n`);
  expect(await told({})).toEqual(records.slice(2));
  expect(await told({ verbose: true })).toEqual([
    ...records.slice(0, 3),
    records[3],
    `00:00:00 DEBUG model call node=one model=m input_tokens=1 output_tokens=2 cost_usd=null\n`,
  ]);
});

test('the line of the current node shows its time, and disappears when the node has ended', async () => {
  let now = 0;
  let moved = () => {};
  const clock = { now: () => new Date(0), monotonic: () => now, sleep: async () => {} };
  const every: ViewIo['every'] = (_, work) => {
    moved = work;
    return () => {};
  };
  const text = await shown(
    ({ watcher }) => {
      watcher.event(started('one', 'tool'));
      now = 2000;
      moved();
      watcher.event(completed('one'));
      moved();
    },
    { ...terminal, clock, every },
  );
  const lines = ['   0.0s … one 0.0s', '   2.0s … one 2.0s', '   2.0s ✓ one 1.2s\n'];
  expect(text).toBe(lines.join(amid));
});

test('the exit that sends a run back is printed once', async () => {
  for (const io of [{}, terminal])
    expect(
      (await seen([...atExit, started('work', 'tool'), completed('work'), done], io)).match(/bad.*1.?2/g),
    ).toHaveLength(1);
});

const inBranch = (branch: string, event: RunEvent): RunEvent => ({ ...event, branch }) as RunEvent;
const begins = (branch: string): readonly RunEvent[] => [
  { ...base, type: 'BranchStarted', branch },
  inBranch(branch, started(branch, 'tool')),
];
const ends = (
  branch: string,
  status: 'completed' | 'failed' | 'cancelled' = 'completed',
  reason = '',
): RunEvent => ({ ...base, type: 'BranchCompleted', branch, status, reason });
const opened: RunEvent = {
  ...{ ...base, type: 'ParallelStarted', node_id: 'fan', visit: 1, join: 'join' },
  branches: ['a', 'b', 'c'],
};
const failing = (node_id: string, failure_reason: string): RunEvent => ({
  ...{ ...base, type: 'StageFailed', node_id, visit: 1, failure_reason, failure_class: 'product' },
  elapsed_ms: 300,
});
const sideBySide: readonly RunEvent[] = [
  ...[opened, ...begins('a'), ...begins('b')],
  inBranch('a', completed('a', 'written')),
  inBranch('a', started('a2', 'tool')),
  inBranch('b', completed('b', 'alone')),
  ends('b'),
  inBranch('a', failing('a2', 'two tests fail')),
  ends('a', 'failed', 'two tests fail'),
  ends('c', 'cancelled', 'a has failed'),
  { ...base, type: 'ParallelCompleted', node_id: 'fan', join: 'join', status: 'fail' },
];

test('a branch is one line when it has ended: its only step, else its count; one that failed shows its steps', async () => {
  expect(lastDrawn(await seen(sideBySide, terminal))).toMatchInlineSnapshot(`
    "   0.0s ✓ b 1.2s  alone
       0.0s ✗ a 2 nodes  0.0s  two tests fail
         0.0s ✓ a 1.2s  written
         0.0s ✗ a › a2 0.3s  two tests fail
       0.0s ⊘ c  cancelled: a has failed
    "
  `);
  expect(lastDrawn(await seen(sideBySide, terminal, { verbose: true }))).toContain('✓ a 1.2s  written\n');
});

/** What stays on the terminal. */
const lastDrawn = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.split(/\x1b\[2K/).at(-1) ?? '')
    .filter((line) => !line.includes('…'))
    .join('\n');

test('while branches run, each is a line below a summary of all', async () => {
  const text = await seen(sideBySide.slice(0, 8), terminal);
  const summary = '   0.0s … fan  3 branches: 2 running, 1 waiting for a slot';
  expect(text).toContain([summary, '   0.0s … a › a2 0.0s', '   0.0s … b 0.0s'].join('\n'));
});

test('branches are records with their names', async () => {
  expect(await seen(sideBySide, {}, { verbose: true })).toMatchInlineSnapshot(`
    "00:00:00 INFO  branches started node=fan join=join branches=a,b,c
    00:00:00 DEBUG branch started branch=a
    00:00:00 DEBUG node started branch=a node=a visit=1
    00:00:00 DEBUG branch started branch=b
    00:00:00 DEBUG node started branch=b node=b visit=1
    00:00:00 INFO  node completed branch=a node=a outcome=success elapsed_ms=1200 notes=written
    00:00:00 DEBUG node started branch=a node=a2 visit=1
    00:00:00 INFO  node completed branch=b node=b outcome=success elapsed_ms=1200 notes=alone
    00:00:00 INFO  branch completed branch=b
    00:00:00 WARN  node failed branch=a node=a2 reason="two tests fail" class=product elapsed_ms=300
    00:00:00 WARN  branch failed branch=a reason="two tests fail"
    00:00:00 INFO  branch cancelled branch=c reason="a has failed"
    00:00:00 WARN  branches joined node=fan join=join outcome=fail
    "
  `);
});

test('an order that is done keeps why its earlier attempts failed', async () => {
  const order = { id: 'WO-01', title: 'Greets', index: 1, count: 2, attempt: 1, done: false };
  const step = (node_id: string, work_order?: typeof order): RunEvent =>
    ({ ...completed(node_id), ...(work_order === undefined ? {} : { work_order }) }) as RunEvent;
  const fails: RunEvent = {
    ...base,
    ...{ type: 'StageFailed', node_id: 'verify', visit: 1, elapsed_ms: 300, attempts: 1 },
    ...{ failure_class: 'product', failure_reason: 'verify_failed: not ok 3 - greets twice' },
  } as RunEvent;
  const text = await seen(
    [
      step('next', order),
      step('propose'),
      fails,
      step('next', { ...order, attempt: 2 }),
      step('propose'),
      step('commit', { ...order, attempt: 2, done: true }),
      done,
    ],
    terminal,
  );
  const lines = text
    .replaceAll(/^.*\r\x1b\[2K/gm, '')
    .split('\n')
    .filter((line) => /WO-01|attempt/.test(line));
  expect(lines.at(-2)).toMatch(/✓ WO-01 Greets {2}2 attempts/);
  expect(lines.at(-1)).toBe('            attempt 1: verify: verify_failed: not ok 3 - greets twice');
});
