/** `factory test`: the ways that an author has written down, against the router of real runs. */
import { expect, test } from 'vitest';
import { fixLoop } from '../support/authors.ts';
import { home } from '../support/in-process.ts';

type Row = { name: string; outcomes?: Record<string, string>; way: string; ends?: string };
const routes = (...rows: readonly Row[]): string =>
  JSON.stringify({ format: 'factory-routes/1', routes: rows }, null, 2);
const green = { name: 'green at once', way: 'start -> test -> done', ends: 'success' };
const red = {
  name: 'red, then fixed',
  outcomes: { test: 'fail,fail,fail,success' },
  way: 'start -> test -> fix -> test -> done',
};

async function tested(files: Record<string, string>, ...words: readonly string[]) {
  await using it = await home(files);
  const { code, stdout, stderr } = await it.factory(['test', ...words]);
  return { code, out: stdout, err: stderr };
}

test('ways that are taken pass, and edges that no way walks are named with their line', async () => {
  const row = { ...red, outcomes: { test: 'fail,success' } };
  const { code, out } = await tested({ 'fix.dot': fixLoop, 'fix.routes.json': routes(green, row) });
  expect(out).toBe(
    [
      'fix.dot: 2 of 2 ways, 4 of 5 edges walked',
      '  ✓ green at once',
      '  ✓ red, then fixed',
      '  never walked: fix -> bad [outcome=fail] (fix.dot:13)\n',
    ].join('\n'),
  );
  expect(code).toBe(0);
});

test('another way fails the check: where it parts, and how the run ends', async () => {
  const row = { ...red, outcomes: { test: 'fail', fix: 'fail' } };
  const { code, out } = await tested({ 'fix.dot': fixLoop, 'fix.routes.json': routes(row) }, 'fix.dot');
  expect(code).toBe(1);
  expect(out).toContain('✗ red, then fixed (fix.routes.json:4)');
  expect(out).toContain('expected  start -> test -> fix -> test -> done');
  expect(out).toContain('went      start -> test -> fix -> bad');
  expect(out).toContain('after fix: test expected, bad came');
});

test('--every-edge fails for an edge that is never walked; three dots stand for any steps', async () => {
  const ways = [
    green,
    { name: 'repaired', outcomes: { test: 'fail,success' }, way: 'start -> ... -> done' },
    { name: 'given up', outcomes: { test: 'fail', fix: 'fail' }, way: '… -> bad', ends: 'fail' },
  ];
  const files = { 'fix.dot': fixLoop, 'fix.routes.json': routes(...ways) };
  expect(await tested(files, '--every-edge')).toMatchObject({ code: 0 });
  const fewer = { ...files, 'fix.routes.json': routes(green) };
  expect(await tested(fewer, '--every-edge')).toMatchObject({ code: 1 });
  const { out } = await tested(fewer, '--json');
  expect(JSON.parse(out)).toMatchObject({
    ok: true,
    pipelines: [
      { edges: 5, routes: [{ name: 'green at once', ok: true, ends: 'success' }], unwalked: [{}, {}, {}] },
    ],
  });
});

test.for([
  ['...', true],
  ['start -> ... -> done -> ...', true],
  ['... -> test -> done', true],
  ['start -> ... -> fix -> ... -> test -> ... -> done', true],
  ['start -> ... -> fix -> ... -> fix -> ... -> done', false],
  ['... -> fix -> done', false],
  ['start -> ... -> fix', false],
] as const)('start -> test -> fix -> test -> done is the way %s: %s', async ([way, ok]) => {
  const row = { name: 'repaired', outcomes: { test: 'fail,success' }, way };
  const { code } = await tested({ 'fix.dot': fixLoop, 'fix.routes.json': routes(row) });
  expect(code).toBe(ok ? 0 : 1);
});

test('a way that ends otherwise than it should is a failure', async () => {
  const row = { ...green, ends: 'fail' };
  const { code, out } = await tested({ 'fix.dot': fixLoop, 'fix.routes.json': routes(row) });
  expect(code).toBe(1);
  expect(out).toContain('the run succeeds');
});

test('edges to branches are walked when the branches begin', async () => {
  const forked =
    'digraph g { start [shape=Mdiamond] f [shape=component] a [prompt=a] b [prompt=b] j [shape=tripleoctagon] exit [shape=Msquare] start -> f f -> a -> j f -> b -> j j -> exit }';
  const row = { name: 'both', way: 'start -> f -> a -> b -> j -> exit' };
  const { code, out } = await tested({ 'g.dot': forked, 'g.routes.json': routes(row) }, '--every-edge');
  expect(out).toContain('1 of 1 way, 6 of 6 edges walked');
  expect(code).toBe(0);
});

test.for([
  ['{ "routes": [', 'fix.routes.json:1:14'],
  ['{ "format": "factory-routes/1", "routes": [{ "name": "a", "wey": "start" }] }', 'routes.0'],
  [routes({ ...green, way: 'start -> tset -> done' }), 'the way names "tset", and there is no such node'],
  [routes({ ...green, outcomes: { tset: 'fail' } }), 'did you mean test?'],
  [routes({ ...green, outcomes: { test: 'sucess' } }), '"sucess" is no outcome'],
  [routes({ ...green, outcomes: { done: 'fail' } }), 'always succeeds'],
] as const)('what is wrong with a file of ways is said with its place: %s', async ([text, said]) => {
  const { code, err } = await tested({ 'fix.dot': fixLoop, 'fix.routes.json': text }, 'fix.dot');
  expect(code).toBe(2);
  expect(err).toContain(said);
  expect(err).toContain('fix.routes.json:');
});

test('without a file of ways an example is printed; a pipeline with errors is not tried', async () => {
  const { code, err } = await tested({ 'fix.dot': fixLoop }, 'fix.dot');
  expect(code).toBe(2);
  expect(err).toContain('there is no fix.routes.json');
  expect(err).toContain('start -> test -> done');
  expect(await tested({ 'fix.dot': fixLoop })).toMatchObject({ code: 2 });
  const bad = { 'fix.dot': fixLoop.replace('start ->', 'start --'), 'fix.routes.json': routes(green) };
  expect((await tested(bad)).err).toContain('undirected-edge');
});
