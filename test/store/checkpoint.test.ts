import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Checkpoint } from '../../src/model/checkpoint.ts';
import { failed, succeeded } from '../../src/model/outcome.ts';
import { loadCheckpoint, saveCheckpoint } from '../../src/store/checkpoint.ts';
import { temp } from '../system/temp.ts';

const checkpoint = (more: Partial<Checkpoint> = {}): Checkpoint => ({
  schema_version: 1,
  run_id: 'R',
  epoch: 2,
  last_completed_node: 'b',
  completed_nodes: ['a', 'b'],
  retry_counts: { a: 1 },
  context: { 'tool.n': 1, text: 'ä', deep: { list: [1.5, null, true] } },
  origins: { 'tool.n': 'tool' },
  next_node: 'c',
  arrived: { from: 'b', conditional: false },
  steps: 3,
  visits: { a: 2, b: 1 },
  calls: {},
  outcomes: {},
  last_outcome: failed('no', 'infra', { retryAfterMs: 5 }),
  last_failure: null,
  snapshot: 'abc',
  elapsed_ms: 12.5,
  status: 'running',
  ended: null,
  at: '2026-01-01T00:00:00.000Z',
  ...more,
});

const ids = (count: number) => Array.from({ length: count }, (_, n) => `n${String(n).padStart(6, '0')}`);

async function reload(path: string): Promise<Checkpoint> {
  const loaded = await loadCheckpoint(path);
  if (!loaded.ok) throw new Error(loaded.why);
  return loaded.checkpoint;
}

test.for([
  { name: 'in the middle', more: {} },
  {
    name: 'at its beginning',
    more: { last_completed_node: '', completed_nodes: [], last_outcome: null, snapshot: null, arrived: null },
  },
  {
    name: 'at its end',
    more: {
      next_node: null,
      status: 'completed',
      ended: { exit_node: 'exit', ok: true, reason: '', code: 0 },
      last_outcome: succeeded(),
    },
  },
  { name: 'with 1,000 nodes', more: { completed_nodes: ids(1000) } },
  { name: 'with 1,001 nodes', more: { completed_nodes: ids(1001) } },
] satisfies { name: string; more: Partial<Checkpoint> }[])(
  'a checkpoint $name is loaded as it was saved',
  async ({ more }) => {
    await using it = await temp();
    await saveCheckpoint(it.at('checkpoint.json'), checkpoint(more));
    expect(await reload(it.at('checkpoint.json'))).toEqual(checkpoint(more));
  },
);

test('the context keeps the types of its values', async () => {
  await using it = await temp();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const kept = JSON.parse(JSON.stringify(value));
      await saveCheckpoint(it.at('c.json'), checkpoint({ context: { value: kept } }));
      expect((await reload(it.at('c.json'))).context['value']).toEqual(kept);
    }),
    { numRuns: 30 },
  );
});

test('completed nodes are written sorted and without repeats', async () => {
  await using it = await temp();
  await saveCheckpoint(it.at('c.json'), checkpoint({ completed_nodes: ['b', 'a', 'b', 'B'] }));
  const text = readFileSync(it.at('c.json'), 'utf8');
  expect(JSON.parse(text).completed_nodes).toEqual(['B', 'a', 'b']);
  expect(text.startsWith('{\n  "schema_version": 1,\n  "run_id": "R",\n')).toBe(true);
  expect(text.endsWith('}\n')).toBe(true);
  expect(readdirSync(it.dir)).toEqual(['c.json']);
});

test('more than 1,000 completed nodes live in a file that grows, which the checkpoint names', async () => {
  await using it = await temp();
  const path = it.at('checkpoint.json');
  // Nodes complete in no particular order.
  const order = ids(1003).toReversed();
  await saveCheckpoint(path, checkpoint({ completed_nodes: order.slice(0, 1001) }));
  const before = readFileSync(it.at('completed_nodes.txt'), 'utf8');
  await saveCheckpoint(path, checkpoint({ completed_nodes: order.toSorted() }));
  expect(readFileSync(it.at('completed_nodes.txt'), 'utf8').startsWith(before)).toBe(true);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    completed_nodes_file: 'completed_nodes.txt',
    completed_nodes_count: 1003,
  });
  expect(readFileSync(path, 'utf8')).not.toContain('"completed_nodes":');
  expect((await reload(path)).completed_nodes).toEqual(ids(1003));
});

test('a crash between the list of completed nodes and the checkpoint loses nothing and adds nothing', async () => {
  await using it = await temp();
  const path = it.at('checkpoint.json');
  await saveCheckpoint(path, checkpoint({ completed_nodes: ids(1100) }));
  for (const torn of ['z_never_saved\n', 'z_never_saved\nz_torn']) {
    appendFileSync(it.at('completed_nodes.txt'), torn);
    expect((await reload(path)).completed_nodes).toEqual(ids(1100));
  }
  const old = readFileSync(path);
  await saveCheckpoint(path, checkpoint({ completed_nodes: [...ids(1100), 'other'] }));
  expect((await reload(path)).completed_nodes).toEqual([...ids(1100), 'other']);
  // The checkpoint before would still be right, had the rename not come.
  writeFileSync(path, old);
  expect((await reload(path)).completed_nodes).toEqual(ids(1100));
});

test('a checkpoint that cannot be written rejects and leaves the one before', async () => {
  await using it = await temp();
  const path = it.at('c.json');
  await saveCheckpoint(path, checkpoint());
  await expect(saveCheckpoint(path, checkpoint({ elapsed_ms: Number.NaN }))).rejects.toThrow(/elapsed_ms/);
  expect(await reload(path)).toEqual(checkpoint());
  writeFileSync(it.at('file'), '');
  await expect(saveCheckpoint(it.at('file', 'c.json'), checkpoint())).rejects.toThrow();
});

test.for([
  { name: 'missing', text: undefined, missing: true, why: /there is no checkpoint .*c\.json.*--runsdir/ },
  { name: 'empty', text: '', missing: false, why: /c\.json is not JSON .*start a new run/ },
  { name: 'torn', text: '{"schema_version": 1, "run', missing: false, why: /c\.json is not JSON/ },
  {
    name: 'of another version',
    text: '{"schema_version": 2}',
    missing: false,
    why: /no checkpoint of this version \(schema_version: .*and \d+ more/,
  },
  { name: 'no object', text: '[]', missing: false, why: /no checkpoint of this version \(the whole: / },
])('a checkpoint that is $name is told with the file and what to do', async ({ text, missing, why }) => {
  await using it = await temp();
  if (text !== undefined) writeFileSync(it.at('c.json'), text);
  expect(await loadCheckpoint(it.at('c.json'))).toEqual({
    ok: false,
    missing,
    why: expect.stringMatching(why),
  });
});

test('a list of completed nodes that lacks lines is told', async () => {
  await using it = await temp();
  await saveCheckpoint(it.at('c.json'), checkpoint({ completed_nodes: ids(1001) }));
  expect(existsSync(it.at('completed_nodes.txt'))).toBe(true);
  writeFileSync(it.at('completed_nodes.txt'), 'a\nb\n');
  expect(await loadCheckpoint(it.at('c.json'))).toMatchObject({
    ok: false,
    why: expect.stringMatching(/counts 1001 .* has 2/),
  });
});
