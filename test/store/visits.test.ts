import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { failed, succeeded } from '../../src/model/outcome.ts';
import type { VisitRecord } from '../../src/model/visit-record.ts';
import { linkOf } from '../../src/store/chain.ts';
import { openVisits, readVisits, stateAfter, type VisitFacts } from '../../src/store/visits.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { temp } from '../system/temp.ts';

const start = {
  schema_version: 1,
  type: 'Start',
  at: '2026-01-01T00:00:00.000Z',
  next_node: 'start',
  context: { 'graph.goal': 'g' },
  origins: { 'graph.goal': 'engine' },
  snapshot: 's0',
} satisfies VisitFacts;

type Visited = Omit<VisitRecord, 'run_id' | 'seq' | 'epoch'>;
const visit = (node: string, more: Partial<Visited> = {}): Visited => ({
  schema_version: 1,
  type: 'Visit',
  at: '2026-01-01T00:00:01.000Z',
  node,
  node_type: 'tool',
  visit: 1,
  before: 's0',
  after: 's1',
  outcome: succeeded(),
  retries: 0,
  calls: 0,
  context: { set: { current_node: node, outcome: 'success' }, unset: [] },
  origins: { set: {} },
  next_node: 'next',
  arrived: { from: node, conditional: false },
  steps: 1,
  elapsed_ms: 5,
  ...more,
});

async function written(path: string, records: readonly VisitFacts[], epoch = 1, end = 0): Promise<void> {
  const journal = await openVisits(path, end, { runId: 'R', epoch });
  for (const record of records) journal.append(record);
  await journal.close();
}

async function read(path: string, upTo?: number) {
  const answer = await readVisits(path, upTo);
  if (!answer.ok) throw new Error(answer.why);
  return answer;
}

const failure = {
  node: 'b',
  node_type: 'tool',
  class: 'product' as const,
  class_said: false,
  reason: 'no',
  exit_code: 1,
  model: null,
  executable_success_since: false,
};

const story = [
  start,
  visit('b', {
    outcome: failed('no', 'product'),
    retries: 2,
    calls: 3,
    context: { set: { outcome: 'fail', 'last_failure.reason': 'no', n: 1 }, unset: [] },
    origins: { set: { n: 'tool' } },
    last_failure: failure,
    after: 's1',
  }),
  visit('a', { steps: 2, after: 's2', context: { set: { outcome: 'success' }, unset: [] } }),
  visit('b', {
    steps: 3,
    visit: 2,
    retries: 2,
    calls: 4,
    after: 's3',
    context: { set: { outcome: 'success' }, unset: ['last_failure.reason'] },
    last_failure: null,
    next_node: null,
    arrived: null,
    elapsed_ms: 9,
  }),
] satisfies VisitFacts[];

test('all records together give the final state of the run', async () => {
  await using it = await temp();
  await written(it.at('visits.jsonl'), story);
  expect(stateAfter((await read(it.at('visits.jsonl'))).records)).toEqual({
    schema_version: 1,
    run_id: 'R',
    epoch: 1,
    last_completed_node: 'b',
    completed_nodes: ['a', 'b'],
    retry_counts: { b: 2 },
    context: { 'graph.goal': 'g', outcome: 'success', n: 1 },
    origins: { 'graph.goal': 'engine', n: 'tool' },
    next_node: null,
    arrived: null,
    steps: 3,
    visits: { a: 1, b: 2 },
    calls: { b: 4 },
    outcomes: {
      a: { status: 'success', label: '', notes: '', reason: '', class: null },
      b: { status: 'success', label: '', notes: '', reason: '', class: null },
    },
    last_outcome: succeeded(),
    last_failure: null,
    snapshot: 's3',
    elapsed_ms: 9,
    status: 'running',
    ended: null,
    at: '2026-01-01T00:00:01.000Z',
  });
});

test('records up to one give the state after that execution', async () => {
  await using it = await temp();
  await written(it.at('visits.jsonl'), story);
  const { records } = await read(it.at('visits.jsonl'));
  expect(stateAfter(records, 1)).toMatchObject({ next_node: 'start', snapshot: 's0', visits: {}, steps: 0 });
  expect(stateAfter(records, 2)).toMatchObject({ snapshot: 's1', visits: { b: 1 }, last_failure: failure });
  // A record without a last failure leaves the previous one.
  expect(stateAfter(records, 3)).toMatchObject({ snapshot: 's2', last_failure: failure, steps: 2 });
  expect(stateAfter(records, 2)).toEqual(stateAfter((await read(it.at('visits.jsonl'), 2)).records));
});

test('times add up, repeated failures are counted until a success, and the last node of an agent is known', () => {
  const alike = { signature: 'x', head: 'no', count: 2, visits: [1, 2], step: 2, after: 's1' };
  const facts = [
    visit('b', { took_ms: 5, alike, node_type: 'codergen' }),
    visit('a', { took_ms: 1, steps: 2, alike }),
    visit('b', { took_ms: 7, steps: 3, visit: 2, alike: null }),
  ];
  const records = [start, ...facts].map((record, n) => ({ ...record, run_id: 'R', epoch: 1, seq: n + 1 }));
  expect(stateAfter(records)).toMatchObject({ node_ms: { a: 1, b: 12 }, agent_step: 1 });
  expect(stateAfter(records, 2).alike).toEqual({ b: alike });
  expect(stateAfter(records).alike).toEqual({ a: alike });
});

test('a node or context key called __proto__ is a key like any other', () => {
  const odd = JSON.parse('{"__proto__": 1}');
  const stamp = { run_id: 'R', epoch: 1 };
  const state = stateAfter([
    { ...start, ...stamp, seq: 1 },
    { ...visit('__proto__', { context: { set: odd, unset: [] } }), ...stamp, seq: 2 },
  ]);
  expect(Object.keys(state.visits)).toEqual(['__proto__']);
  expect(Object.entries(state.context)).toContainEqual(['__proto__', 1]);
});

test('lines without a checkpoint are ignored, and removed when the journal is reopened', async () => {
  await using it = await temp();
  const path = it.at('visits.jsonl');
  await written(path, story);
  appendFileSync(path, 'rubbish\n{"torn');
  const two = await read(path, 2);
  expect(two.records).toHaveLength(2);
  await written(path, [visit('c', { steps: 2 })], 2, two.end);
  const { records } = await read(path);
  expect(records.map((r) => [r.seq, r.epoch, r.type === 'Visit' ? r.node : ''])).toEqual([
    [1, 1, ''],
    [2, 1, 'b'],
    [3, 2, 'c'],
  ]);
});

test("an owner that was stopped before it opened the journal does not cut off the next owner's lines", async () => {
  await using it = await temp();
  const path = it.at('visits.jsonl');
  await written(path, story);
  const { end } = await read(path, 1);
  const whole = readFileSync(path, 'utf8');
  const open = fence(it.dir, () => {
    throw new Superseded();
  });
  await expect(openVisits(path, end, { runId: 'R', epoch: 1 })).rejects.toThrow(Superseded);
  open();
  expect(readFileSync(path, 'utf8')).toBe(whole);
});

test("a former owner that continues changes nothing: the next owner's line replaces its own", async () => {
  await using it = await temp();
  const path = it.at('visits.jsonl');
  await written(path, story.slice(0, 2));
  const line = (record: object) => appendFileSync(path, `${JSON.stringify(record)}\n`);
  line({ ...visit('late', { steps: 2 }), run_id: 'R', seq: 3, epoch: 1 });
  line({ ...visit('ours', { steps: 2 }), run_id: 'R', seq: 3, epoch: 2 });
  line({ ...visit('later', { steps: 3 }), run_id: 'R', seq: 4, epoch: 1 });
  const { records, end, sha256 } = await read(path, 3);
  expect(stateAfter(records).visits).toEqual({ b: 1, ours: 1 });
  // The valid line decides what is cut off after it and what the checkpoint covers.
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(end).toBe(Buffer.byteLength(`${lines.slice(0, 4).join('\n')}\n`));
  const counting = [0, 1, 3].map((n) => Buffer.from(lines[n] ?? ''));
  expect(sha256).toBe(counting.reduce((before, line) => linkOf(before, line), ''));
});

test.for([
  { what: 'missing', text: () => undefined, why: /visits\.jsonl is missing or empty; put back a copy/ },
  { what: 'empty', text: () => '', why: /is missing or empty/ },
  {
    what: 'cut short',
    text: (t: string) => t.slice(0, -20),
    why: /has only 3 of the 4 records that the checkpoint counts/,
  },
  {
    what: 'damaged in the middle',
    text: (t: string) => t.replace('"type":"Visit"', '"type:"Visit"'),
    why: /is damaged: line 2 is not JSON/,
  },
  {
    what: 'of another version',
    text: (t: string) => t.replace('"type":"Visit"', '"type":"Stay"'),
    why: /has a line 2 that is no record of this version \(type/,
  },
  {
    what: 'lacking a line',
    text: (t: string) => t.split('\n').toSpliced(1, 1).join('\n'),
    why: /is damaged: line 2 is number 3, not 2/,
  },
  {
    what: 'lacking its first line',
    text: (t: string) => t.replace(/^.*\n/, ''),
    why: /is damaged: line 1 is number 2, not 1/,
  },
  {
    what: 'begun by a visit',
    text: (t: string) =>
      t.replace(/^.*\n(.*\n)/, (_, visit: string) => visit.replace('"seq":2', '"seq":1') + visit),
    why: /is damaged: line 1 is a Visit record where none belongs/,
  },
  {
    what: 'begun twice',
    text: (t: string) =>
      t.replace(/^(.*\n).*\n/, (_, first: string) => first + first.replace('"seq":1', '"seq":2')),
    why: /is damaged: line 2 is a Start record where none belongs/,
  },
])('a file that is $what is refused in words', async ({ text, why }) => {
  await using it = await temp();
  const path = it.at('visits.jsonl');
  await written(path, story);
  const now = text(readFileSync(path, 'utf8'));
  if (now === undefined) rmSync(path);
  else writeFileSync(path, now);
  const answer = await readVisits(path, 4);
  expect(answer.ok ? 'read' : answer.why).toMatch(why);
});

test('a record of a newer version is reported as such', async () => {
  await using it = await temp();
  await written(it.at('v.jsonl'), [start]);
  appendFileSync(it.at('v.jsonl'), '{"schema_version":2,"type":"Visit","run_id":"R","seq":2,"epoch":1}\n');
  expect(await readVisits(it.at('v.jsonl'))).toMatchObject({
    ok: false,
    why: expect.stringMatching(/has the form 2 .*: line 2; use the newer version of factory/),
  });
});

test('a line that does not end is not held in memory', async () => {
  await using it = await temp();
  writeFileSync(it.at('v.jsonl'), '{');
  truncateSync(it.at('v.jsonl'), 300 * 1024 * 1024);
  await expect(readVisits(it.at('v.jsonl'))).rejects.toThrow('which no run writes');
});

test.for<[string, Partial<Visited>]>([
  ['node', { node: '../../home' }],
  ['after', { after: '../x' }],
  ['artifacts', { artifacts: { '../x': 'a' } }],
  ['artifacts', { artifacts: { x: '../../x' } }],
])('a record whose %s would lead out of the run is none', async ([word, more]) => {
  await using it = await temp();
  await written(it.at('v.jsonl'), [start, visit('a', more)]);
  const answer = await readVisits(it.at('v.jsonl'));
  expect(answer).toMatchObject({ ok: false, why: expect.stringContaining(`(${word}`) });
});
