import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Checkpoint, RunState } from '../../src/model/checkpoint.ts';
import { failed, succeeded } from '../../src/model/outcome.ts';
import { type Ledger, loadCheckpoint, openLedger, saveCheckpoint } from '../../src/store/checkpoint.ts';
import { openVisits, type VisitFacts } from '../../src/store/visits.ts';
import { freshState } from '../support/graph.ts';
import { temp } from '../system/temp.ts';

const start: VisitFacts = {
  schema_version: 1,
  type: 'Start',
  at: '2026-01-01T00:00:00.000Z',
  next_node: 'start',
  context: {},
  origins: {},
  snapshot: 's0',
};
const at = '2026-01-01T00:00:01.000Z';
const fresh = (): RunState => freshState('start', { run_id: 'R', snapshot: 's0' });

/** The state after the first execution of `node` or, with `visit`, a later one. */
function after(before: RunState, node: string, more: Partial<RunState> = {}, visit = 1) {
  const outcome = more.last_outcome ?? succeeded();
  const state: RunState = {
    ...before,
    last_completed_node: node,
    steps: before.steps + 1,
    next_node: 'next',
    arrived: { from: node, conditional: false },
    last_outcome: outcome,
    at,
    ...more,
  };
  const line: VisitFacts = {
    schema_version: 1,
    type: 'Visit',
    at,
    node,
    node_type: 'tool',
    visit,
    before: 's0',
    after: state.snapshot ?? '',
    outcome,
    retries: 0,
    calls: 0,
    context: { set: {}, unset: [] },
    origins: { set: {} },
    next_node: state.next_node,
    arrived: state.arrived,
    steps: state.steps,
    elapsed_ms: state.elapsed_ms,
  };
  return { state, line };
}

/** Saves first executions of these nodes in sequence. */
async function visitAll(ledger: Ledger, from: RunState, nodes: readonly string[]): Promise<RunState> {
  let state = from;
  for (const node of nodes) {
    const next = after(state, node);
    state = next.state;
    await ledger.save(state, next.line);
  }
  return state;
}

async function begun(dir: string): Promise<Ledger> {
  const ledger = await openLedger(dir, { runId: 'R', epoch: 1 });
  await ledger.save(fresh(), start);
  return ledger;
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `n${String(n).padStart(6, '0')}`);

async function load(dir: string) {
  const loaded = await loadCheckpoint(`${dir}/checkpoint.json`);
  if (!loaded.ok) throw new Error(loaded.why);
  return loaded;
}
const reload = async (dir: string): Promise<Checkpoint> => (await load(dir)).checkpoint;
const inFile = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

test('the state of a new run is loaded as saved', async () => {
  await using it = await temp();
  await (await begun(it.dir)).close();
  expect(await reload(it.dir)).toEqual({ ...fresh(), completed_nodes: [] });
});

test.for([
  {
    name: 'in the middle',
    more: { last_outcome: failed('no', 'infra', { retryAfterMs: 5 }), elapsed_ms: 12.5 },
  },
  {
    name: 'at its end',
    more: {
      next_node: null,
      status: 'completed',
      ended: { exit_node: 'exit', ok: true, reason: '', code: 0 },
    },
  },
  {
    name: 'whose workspace was changed since',
    more: { snapshot: 'other', context: { x: [1.5, null, true] } },
  },
] satisfies { name: string; more: Partial<RunState> }[])(
  'the state of a run $name is loaded as saved',
  async ({ more }) => {
    await using it = await temp();
    const ledger = await begun(it.dir);
    const { state, line } = after(fresh(), 'a', more);
    await ledger.save(state, line);
    await ledger.close();
    const loaded = await reload(it.dir);
    expect(loaded).toMatchObject({ ...more, completed_nodes: ['a'], visits: { a: 1 }, steps: 1 });
    expect(Object.keys(loaded).sort()).toEqual(Object.keys({ ...state, completed_nodes: [] }).sort());
  },
);

test('a checkpoint waits for files that are flushed with it, and stays the previous one if that fails', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const { state, line } = after(fresh(), 'a');
  const put = ledger.put(state, line, () => Promise.reject(new Error('no such disk')));
  await expect(put).rejects.toThrow('no such disk');
  await ledger.close();
  expect((await reload(it.dir)).steps).toBe(0);
});

const hasNoProto = (value: unknown): boolean => !JSON.stringify(value).includes('__proto__');

test('the context keeps the types of its values', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  await fc.assert(
    // No context gets a key `__proto__`: output of nodes and agents is checked before.
    fc.asyncProperty(fc.jsonValue().filter(hasNoProto), async (value) => {
      const kept = JSON.parse(JSON.stringify(value));
      await ledger.save({ ...fresh(), context: { value: kept } });
      expect((await reload(it.dir)).context['value']).toEqual(kept);
    }),
    { numRuns: 30 },
  );
  await ledger.close();
});

test('completed nodes are written sorted and without repeats', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const state = await visitAll(ledger, fresh(), ['b', 'a', 'B']);
  const again = after(state, 'b', {}, 2);
  await ledger.save(again.state, again.line);
  await ledger.close();
  const text = readFileSync(it.at('checkpoint.json'), 'utf8');
  expect(inFile(it.at('checkpoint.json'))).toMatchObject({
    completed_nodes: ['B', 'a', 'b'],
    retry_counts: {},
    visits_file: 'visits.jsonl',
    visits_seq: 5,
  });
  expect(Object.keys(inFile(it.at('checkpoint.json'))).slice(0, 5)).toEqual([
    'schema_version',
    'run_id',
    'epoch',
    'last_completed_node',
    'completed_nodes',
  ]);
  expect(text.startsWith('{\n  "schema_version": 1,\n  "run_id": "R",\n')).toBe(true);
  expect(text.endsWith('}\n')).toBe(true);
  expect(readdirSync(it.dir).sort()).toEqual(['checkpoint.json', 'visits.jsonl']);
});

test('beyond 1,000 completed nodes they are in a journal that the checkpoint names, and the checkpoint stops growing', async () => {
  await using it = await temp();
  const nodes = ids(1003).toReversed();
  // The first 1,000 without a flush each.
  const journal = await openVisits(it.at('visits.jsonl'), 0, { runId: 'R', epoch: 1 });
  journal.append(start);
  let state = fresh();
  for (const node of nodes.slice(0, 1000)) {
    const next = after(state, node);
    state = next.state;
    journal.append(next.line);
  }
  await journal.close();
  const completed = nodes.slice(0, 1000).sort();
  await saveCheckpoint(it.at('checkpoint.json'), state, { seq: 1001, completed });
  expect(inFile(it.at('checkpoint.json')).completed_nodes).toEqual(ids(1003).slice(3));
  const sizes: number[] = [];
  const ledger = await openLedger(it.dir, { runId: 'R', epoch: 1 }, await load(it.dir));
  await visitAll(
    {
      async save(...given) {
        await ledger.save(...given);
        sizes.push(readFileSync(it.at('checkpoint.json')).length);
      },
      put: ledger.put,
      close: ledger.close,
    },
    state,
    nodes.slice(1000),
  );
  await ledger.close();
  expect(inFile(it.at('checkpoint.json'))).toMatchObject({
    completed_nodes_file: 'visits.jsonl',
    completed_nodes_count: 1003,
  });
  expect(Object.keys(inFile(it.at('checkpoint.json')))).not.toContain('completed_nodes');
  expect(new Set(sizes).size).toBe(1);
  expect(sizes[0]).toBeLessThan(1500);
  expect((await reload(it.dir)).completed_nodes).toEqual(ids(1003));
});

test('more than 1,000 retry counts are only in the journal', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const counts = (count: number) => Object.fromEntries(ids(count).map((id) => [id, 1]));
  await ledger.save({ ...fresh(), retry_counts: counts(1000) });
  expect(inFile(it.at('checkpoint.json')).retry_counts).toEqual(counts(1000));
  await ledger.save({ ...fresh(), retry_counts: counts(1001) });
  expect(Object.keys(inFile(it.at('checkpoint.json')))).not.toContain('retry_counts');
  await ledger.close();
});

test('a crash between the line of an execution and the checkpoint loses nothing and adds nothing', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const state = await visitAll(ledger, fresh(), ['a']);
  const old = readFileSync(it.at('checkpoint.json'));
  await visitAll(ledger, state, ['b']);
  await ledger.close();
  // The rename did not happen.
  writeFileSync(it.at('checkpoint.json'), old);
  const loaded = await load(it.dir);
  expect(loaded.checkpoint).toMatchObject({ completed_nodes: ['a'], steps: 1 });
  const next = await openLedger(it.dir, { runId: 'R', epoch: 2 }, loaded);
  await visitAll(next, { ...loaded.checkpoint, epoch: 2 }, ['c']);
  await next.close();
  expect(await reload(it.dir)).toMatchObject({ completed_nodes: ['a', 'c'], steps: 2, epoch: 2 });
});

test('a checkpoint that cannot be written rejects and leaves the previous one', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const { state, line } = after(fresh(), 'a', { elapsed_ms: Number.NaN });
  await expect(ledger.save(state, line)).rejects.toThrow(/elapsed_ms/);
  await ledger.close();
  expect(await reload(it.dir)).toEqual({ ...fresh(), completed_nodes: [] });
  writeFileSync(it.at('file'), '');
  await expect(saveCheckpoint(it.at('file', 'c.json'), fresh(), { seq: 1, completed: [] })).rejects.toThrow();
});

test('a folder instead of the checkpoint is not a checkpoint, and is replaced by the next one', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  rmSync(it.at('checkpoint.json'));
  mkdirSync(it.at('checkpoint.json', 'x'), { recursive: true });
  expect(await loadCheckpoint(it.at('checkpoint.json'))).toMatchObject({ ok: false, missing: true });
  const { state, line } = after(fresh(), 'a');
  await ledger.save(state, line);
  await ledger.close();
  expect(await reload(it.dir)).toMatchObject({ steps: 1 });
});

test('the checkpoint is renamed only after the lines that it counts are flushed', async () => {
  await using it = await temp();
  await (await begun(it.dir)).close();
  const flush = () => Promise.reject(new Error('the disk is gone'));
  const state = { ...fresh(), elapsed_ms: 99 };
  await expect(
    saveCheckpoint(it.at('checkpoint.json'), state, { seq: 1, completed: [], flush }),
  ).rejects.toThrow('the disk is gone');
  expect((await reload(it.dir)).elapsed_ms).toBe(0);
  expect(readdirSync(it.dir).sort()).toEqual(['checkpoint.json', 'visits.jsonl']);
});

test.for([
  { name: 'missing', text: undefined, missing: true, why: /there is no checkpoint .*c\.json.*--runsdir/ },
  { name: 'empty', text: '', missing: false, why: /c\.json is not JSON .*start a new run/ },
  { name: 'torn', text: '{"schema_version": 1, "run', missing: false, why: /c\.json is not JSON/ },
  {
    name: 'of another version',
    text: '{"schema_version": 2}',
    missing: false,
    why: /has the form 2 \(schema_version\), .*the newer version of factory/,
  },
  { name: 'no object', text: '[]', missing: false, why: /no checkpoint of this version \(the whole: / },
])('a checkpoint that is $name is reported with the file and a fix', async ({ text, missing, why }) => {
  await using it = await temp();
  if (text !== undefined) writeFileSync(it.at('c.json'), text);
  expect(await loadCheckpoint(it.at('c.json'))).toEqual({
    ok: false,
    missing,
    why: expect.stringMatching(why),
  });
});

test.for([
  {
    what: 'missing',
    harm: (dir: string) => rmSync(`${dir}/visits.jsonl`),
    why: /visits\.jsonl is missing or empty; put back a copy of the file/,
  },
  {
    what: 'cut short',
    harm: (dir: string) =>
      writeFileSync(
        `${dir}/visits.jsonl`,
        readFileSync(`${dir}/visits.jsonl`, 'utf8').split('\n').slice(0, 2).join('\n'),
      ),
    why: /visits\.jsonl has only 1 of the 3 records/,
  },
  {
    what: "another run's",
    harm: (dir: string) =>
      writeFileSync(
        `${dir}/visits.jsonl`,
        readFileSync(`${dir}/visits.jsonl`, 'utf8').replaceAll('"run_id":"R"', '"run_id":"Q"'),
      ),
    why: /is at run R after 2 stages \("b" was the last\), but the lines of visits\.jsonl .* end at run Q after 2/,
  },
  {
    what: 'of as many lines but not as many stages',
    harm: (dir: string) =>
      writeFileSync(
        `${dir}/visits.jsonl`,
        readFileSync(`${dir}/visits.jsonl`, 'utf8').replace('"steps":2', '"steps":3'),
      ),
    why: /is at run R after 2 stages .* end at run R after 3 stages/,
  },
])('a visits.jsonl that is $what is reported', async ({ harm, why }) => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  await visitAll(ledger, fresh(), ['a', 'b']);
  await ledger.close();
  harm(it.dir);
  expect(await loadCheckpoint(it.at('checkpoint.json'))).toMatchObject({
    ok: false,
    missing: false,
    why: expect.stringMatching(why),
  });
});

test('a checkpoint of a version without visits is reported', async () => {
  await using it = await temp();
  writeFileSync(it.at('checkpoint.json'), JSON.stringify({ ...fresh(), completed_nodes: [] }));
  expect(await loadCheckpoint(it.at('checkpoint.json'))).toMatchObject({
    ok: false,
    why: expect.stringMatching(/no checkpoint of this version \(visits_file: /),
  });
});

test('a checkpoint that counts the lines of another file is refused, because a resume would truncate its file by them', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  await visitAll(ledger, fresh(), ['a', 'b']);
  await ledger.close();
  copyFileSync(it.at('visits.jsonl'), it.at('other.jsonl'));
  const text = readFileSync(it.at('checkpoint.json'), 'utf8');
  writeFileSync(it.at('checkpoint.json'), text.replace('"visits.jsonl"', '"other.jsonl"'));
  expect(await loadCheckpoint(it.at('checkpoint.json'))).toMatchObject({
    ok: false,
    why: expect.stringMatching(/no checkpoint of this version \(visits_file: /),
  });
});

test.for([
  {
    what: 'the checkpoint',
    file: 'checkpoint.json',
    harm: (t: string) => t.replace('"elapsed_ms": 0', '"elapsed_ms": 1'),
  },
  {
    what: 'its hash',
    file: 'checkpoint.json',
    harm: (t: string) => t.replace(/,\n {2}"sha256": ".*"\n}/, '\n}'),
  },
  {
    what: 'a line that it counts',
    file: 'visits.jsonl',
    harm: (t: string) => t.replace('"calls":0', '"calls":1'),
  },
])('a change of $what is reported, although it can be read', async ({ file, harm }) => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  await visitAll(ledger, fresh(), ['a', 'b']);
  await ledger.close();
  expect((await load(it.dir)).changed).toBeUndefined();
  const text = readFileSync(it.at(file), 'utf8');
  expect(harm(text)).not.toBe(text);
  writeFileSync(it.at(file), harm(text));
  expect((await load(it.dir)).changed).toBe(it.at(file));
});

test('a checkpoint commits to the records at the time when it was saved', async () => {
  await using it = await temp();
  const ledger = await begun(it.dir);
  const { state, line } = after(fresh(), 'a');
  const cover = { manifest_sha256: 'm', journals: { 'events.jsonl': { records: 3, sha256: 'e' } } };
  await ledger.save(state, line, cover);
  await ledger.close();
  expect((await load(it.dir)).vouched).toMatchObject(cover);
});
