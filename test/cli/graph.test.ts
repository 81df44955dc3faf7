/** `factory graph` from the outside. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const good = 'digraph g { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';

test('without -o the picture is an SVG file named after the pipeline, and replaces only such a picture', async () => {
  await using it = await home({ 'a.dot': good, 'b.dot': good, 'b.svg': 'mine' });
  const first = await it.factory(['graph', 'a.dot']);
  expect(first).toMatchObject({ code: 0, stdout: 'a.svg: 2 nodes, 1 edge\n', stderr: '' });
  expect(await it.read('a.svg')).toContain('data-node="exit"');
  expect((await it.factory(['graph', 'a.dot'])).code).toBe(0);
  const refused = await it.factory(['graph', 'b.dot']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('b.svg exists');
  expect(await it.read('b.svg')).toBe('mine');
  expect((await it.factory(['graph', 'b.dot', '-o', 'b.svg'])).code).toBe(0);
});

test('the ending of the file or --format names the format', async () => {
  await using it = await home({ 'a.dot': good });
  expect((await it.factory(['graph', 'a.dot', '-o', 'out/a.gv'])).code).toBe(0);
  expect(await it.read('out/a.gv')).toContain('digraph "g"');
  const mermaid = await it.factory(['graph', 'a.dot', '-o', '-', '--format', 'mermaid']);
  expect(mermaid.stdout).toMatch(/^flowchart TB\n/);
  const pdf = await it.factory(['graph', 'a.dot', '-o', 'a.pdf']);
  expect(pdf).toMatchObject({ code: 2, stdout: '' });
  expect(pdf.stderr).toContain('.svg, .png, .dot or .mermaid');
});

test('a pipeline with findings is drawn, with its bad nodes marked; one that cannot be read is not', async () => {
  await using it = await home({ 'bad.dot': good.replace('start ->', 'a [shape=blob] start -> a ->') });
  const bad = await it.factory(['graph', 'bad.dot', '-o', '-']);
  expect(bad.code).toBe(0);
  expect(bad.stderr).toMatch(/bad\.dot has \d errors?; factory validate bad\.dot/);
  expect(bad.stdout).toContain('class="node kind-blob none problem"');
  await writeFile(join(it.path, 'torn.dot'), 'digraph g { a -> ');
  const torn = await it.factory(['graph', 'torn.dot']);
  expect(torn).toMatchObject({ code: 2, stdout: '' });
  expect(torn.stderr).toContain('error[unclosed-brace]');
  await expect(readFile(join(it.path, 'torn.svg'))).rejects.toThrow('ENOENT');
});

test('a run is drawn with its states and its route, and as a timeline', async () => {
  await using it = await home({
    'a.dot': good.replace('digraph g {', 'digraph g { workdir="none"; label="Ten";'),
  });
  await it.factory(['run', 'a.dot', '--run-id', 'r1']);
  expect((await it.factory(['graph', 'r1'])).stdout).toBe('r1.svg: 2 nodes, 1 edge\n');
  const graph = await it.read('r1.svg');
  expect(graph).toContain('class="node kind-exit success" data-node="exit"');
  expect(graph).toContain('class="edge taken"');
  expect(graph).toMatch(/>Ten<.*>r1 · completed · /s);
  expect((await it.factory(['graph', 'r1', '--timeline'])).stdout).toBe('r1-timeline.svg: 2 executions\n');
  expect(await it.read('r1-timeline.svg')).toContain('data-execution="exit@1"');
  await writeFile(
    join(it.path, 'f.dot'),
    (await it.read('a.dot')).replace('Msquare', 'Msquare, outcome=fail'),
  );
  await it.factory(['run', 'f.dot', '--run-id', 'r2']);
  expect((await it.factory(['graph', 'r2', '-o', '-'])).stdout).toContain(
    'class="node kind-exit fail ends-fail"',
  );
  const dot = await it.factory(['graph', 'r1', '--timeline', '-o', 'x.dot']);
  expect(dot).toMatchObject({ code: 2, stdout: '' });
  const pipeline = await it.factory(['graph', 'a.dot', '--timeline']);
  expect(pipeline.stderr).toContain('--timeline: a.dot is a pipeline');
  expect((await it.factory(['graph', 'nothing'])).stderr).toContain(
    'factory pipelines lists no "nothing", and there is no run "nothing"',
  );
});
