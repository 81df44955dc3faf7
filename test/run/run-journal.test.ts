/** The journal of a run: what it says of the state, and what of a damaged one is refused. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { failed, succeeded } from '../../src/core/outcome.ts';
import type { VisitFacts } from '../../src/core/records/journal.ts';
import { layout } from '../../src/core/records/layout.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal, type RunHistory, startJournal } from '../../src/run/run-journal.ts';
import { temp } from '../platform/temp.ts';

const at = '2026-01-01T00:00:00.000Z';
const start = {
  type: 'Start',
  at,
  next_node: 'a',
  context: { goal: 1 },
  origins: { goal: 'engine' },
  snapshot: 's0',
  manifest_sha256: 'm0',
} as const;

const visitOf = (node: string, steps: number, more: Partial<VisitFacts> = {}): VisitFacts => ({
  type: 'Visit',
  at,
  node,
  node_type: 'tool',
  visit: 1,
  before: `s${steps - 1}`,
  after: `s${steps}`,
  outcome: succeeded(),
  retries: 0,
  calls: 0,
  context: { set: { [node]: steps }, unset: [] },
  origins: { set: { [node]: 'tool' } },
  next_node: 'next',
  arrived: null,
  steps,
  elapsed_ms: 10 * steps,
  spent: { ...nothingSpent, calls: steps },
  ...more,
});

let it: Awaited<ReturnType<typeof temp>>;
beforeEach(async (context) => {
  it = await temp();
  context.onTestFinished(() => it[Symbol.asyncDispose]());
  await startJournal(it.dir, 'r', start);
});

const read = async (): Promise<RunHistory> => {
  const history = openRun(it.dir).history();
  if (!history.ok) throw new Error(history.why);
  return history;
};
const why = async () => {
  const history = openRun(it.dir).history();
  return history.ok ? 'it can be read' : history.why;
};
/** An owner of the run, after what it has read. */
const owner = async (epoch: number, from?: RunHistory) => {
  const history = from ?? (await read());
  const journal = await openRunJournal(it.dir, { runId: 'r', epoch, sync: false }, history);
  return { journal, state: history.checkpoint };
};
const path = () => layout(it.dir).journal;
const linesNow = () => readFileSync(path(), 'utf8').trimEnd().split('\n');
const write = (lines: readonly string[], end = '\n') => writeFileSync(path(), `${lines.join('\n')}${end}`);

/** Two executions. */
async function two() {
  const { journal, state } = await owner(1);
  journal.note({ type: 'Began', at, node: 'a', node_type: 'tool', visit: 1 });
  const after = await journal.commit(visitOf('a', 1), state);
  journal.note({ type: 'Began', at, node: 'b', node_type: 'tool', visit: 1 });
  const last = await journal.commit(visitOf('b', 2, { outcome: failed('no', 'product') }), after);
  await journal.close();
  return last;
}

test('the state that a commit answers is the one that the journal gives', async () => {
  const { completed_nodes: _, ...state } = { completed_nodes: [], ...(await two()) };
  const { checkpoint, records, open: begun, last } = await read();
  expect(checkpoint).toEqual({ ...state, completed_nodes: ['a', 'b'] });
  expect(checkpoint).toMatchObject({ steps: 2, context: { goal: 1, a: 1, b: 2 }, spent: { calls: 2 } });
  expect([records.length, begun, last.type]).toEqual([3, [], 'Visit']);
  const file = JSON.parse(readFileSync(layout(it.dir).checkpoint, 'utf8'));
  expect(file).toMatchObject({
    last_completed_node: 'b',
    completed_nodes: ['a', 'b'],
    journal: { records: 5 },
  });
});

test('a stop and a resume change what they say; why a run was suspended is kept until an execution ends', async () => {
  const parked = { status: 'paused_quota', node: 'next', reason: 'full', wake_at: null, since: at } as const;
  const { journal, state } = await owner(1);
  const about = { at, elapsed_ms: 50, spent: nothingSpent } as const;
  const stopped = {
    ...about,
    type: 'Stopped',
    status: 'paused_quota',
    ended: null,
    parked,
    cut_ms: 7,
  } as const;
  const then = await journal.commit(stopped, state);
  expect((await read()).checkpoint).toMatchObject({
    status: 'paused_quota',
    parked,
    cut_ms: 7,
    elapsed_ms: 50,
  });
  const resumed = { ...about, type: 'Resumed', snapshot: 's9', manifest_sha256: 'm1', cut_ms: 7 } as const;
  const on = await journal.commit(resumed, then);
  const now = await read();
  expect(now.checkpoint).toMatchObject({ status: 'running', parked, cut_ms: 7, snapshot: 's9' });
  expect(now.manifestSha256).toBe('m1');
  await journal.commit(visitOf('a', 1), on);
  await journal.close();
  const { checkpoint } = await read();
  expect([checkpoint.parked, checkpoint.cut_ms, checkpoint.snapshot]).toEqual([undefined, undefined, 's1']);
});

test('what follows the last flushed line may be torn in any way, and the next owner removes it', async () => {
  await two();
  const whole = readFileSync(path(), 'utf8');
  for (const torn of ['{"schema_ver', '\0\0\0\0', '\0\0\n{"type":"Began"}\n{"ty', '{"a":\n'])
    for (const end of ['', '\n']) {
      writeFileSync(path(), whole + torn + end);
      const { checkpoint, whole: read_ } = await read();
      expect([checkpoint.steps, read_.records]).toEqual([2, 5]);
    }
  const { journal } = await owner(2);
  await journal.close();
  expect(readFileSync(path(), 'utf8')).toBe(whole);
});

test.for<[string, (lines: string[]) => string[]]>([
  ['a changed line', (lines) => lines.map((line) => line.replace('"node":"a"', '"node":"x"'))],
  ['a missing line', (lines) => lines.filter((_, n) => n !== 2)],
  ['lines in another order', ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest]],
  ['a line that cannot be read', (lines) => lines.map((line, n) => (n === 1 ? '{' : line))],
  [
    'a line of another version',
    (lines) => lines.map((line, n) => (n === 1 ? line.replace('Began', 'X') : line)),
  ],
])('%s before the last is refused', async ([, change]) => {
  await two();
  write(change(linesNow()));
  expect(await why()).toMatch(/journal\.jsonl (?:was changed: line|is damaged: line|has a line)/);
});

test('a run without a journal is one of an earlier version', async () => {
  rmSync(path());
  expect(await why()).toMatch(/was begun by an earlier version of factory: it has no journal\.jsonl; use/);
  rmSync(layout(it.dir).checkpoint);
  expect(await why()).toMatch(/journal\.jsonl is missing/);
});

test('a run of an earlier build is refused by the version of its lines', async () => {
  await two();
  write(linesNow().map((line) => line.replace('"schema_version":2', '"schema_version":1')));
  expect(await why()).toMatch(
    /has the form 1 \(schema_version\), and this version of factory reads form 2: line 1; use the version of factory/,
  );
});

test('lines of an owner that has lost the run do not count, whether the next owner had written by then or not', async () => {
  const first = await read();
  const old = await owner(1, first);
  const next = await owner(2, first);
  await old.journal.commit(visitOf('old', 1), old.state);
  await next.journal.commit(visitOf('new', 1), next.state);
  await old.journal.commit(visitOf('late', 2), old.state);
  await next.journal.commit(visitOf('newer', 2), next.state);
  for (const { journal } of [old, next]) await journal.close();
  const { records, late } = await read();
  expect(records.map((one) => (one.type === 'Visit' ? one.node : ''))).toEqual(['', 'new', 'newer']);
  expect(late).toEqual([4]);
});

test('an owner that opens the journal after another one has written is refused', async () => {
  const first = await read();
  const next = await owner(2);
  await next.journal.commit(visitOf('new', 1), next.state);
  await next.journal.close();
  await expect(owner(1)).rejects.toThrow(/epoch 2 has written here/);
  appendFileSync(path(), '');
  expect(first.checkpoint.steps).toBe(0);
});

test('a reader that is kept says the same as a new one, whatever happens to the journal', async () => {
  const reader = openRun(it.dir);
  const same = () => expect(reader.history()).toEqual(openRun(it.dir, 'each line').history());
  same();
  await two();
  same();
  expect(reader.history()).toBe(reader.history());
  const lines = linesNow();
  appendFileSync(path(), '{"torn');
  same();
  // Another owner cuts what is torn.
  const { journal, state } = await owner(2);
  await journal.commit(visitOf('c', 3), state);
  await journal.close();
  same();
  write([...lines.slice(0, 2), 'no JSON', ...lines.slice(3)]);
  same();
  expect(reader.history()).toMatchObject({ ok: false });
  write(lines);
  same();
  rmSync(path());
  same();
});
