/** Own node types of a project: `factory.json` names the modules that define them. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plainFlags, plainHost, resumeLocalRun, startLocalRun } from '../../src/app/embedded.ts';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import type { NodeTools } from '../../src/core/contracts/own-kind.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

const dot = `digraph t { workdir="none"
  start [shape=Mdiamond]; mine [type="my.kind", word="hello"]; done [shape=Msquare]
  start -> mine; mine -> done [condition="outcome=success"] }`;

/** A module whose node ends as `run` says. */
const module = (
  run: string,
  more = '',
) => `export default ({ kind, attr, types, succeeded, failed }) => kind({
  type: 'my.kind', does: 'Ends as the test says.', shapes: ['star'], ${more}
  attributes: { word: attr(types.text(), 'A word.') },
  async run({ word }, context) { ${run} } });`;

const project = (kind: string, nodes: unknown = ['./kind.mjs'], pipeline = dot) =>
  house({ 'p.dot': pipeline, 'kind.mjs': kind, 'factory.json': JSON.stringify({ nodes }) });

type House = Awaited<ReturnType<typeof house>>;
const of = (file: string) => `.factory/runs/r1/${file}`;
const start = (it: House) => it.run('p.dot', { runId: 'r1' });
const foundIn = async (it: Pick<House, 'path'>) =>
  (await readPipeline('p.dot', it.path)).found.filter(({ severity }) => severity === 'error');

const says = module(`await context.workspace.write('said.txt', word);
  return succeeded({ notes: word, updates: { 'my.word': word } });`);

test('a run executes a node of an own type like all others: outcome, workspace, artifacts, hash in the manifest', async () => {
  await using it = await project(says);
  const ended = await start(it);
  expect(ended.code, ended.err).toBe(0);
  expect(it.json(of('mine/status.json'))).toMatchObject({ outcome: 'success', notes: 'hello' });
  expect(it.read(of('workspace/said.txt'))).toBe('hello');
  expect(it.json(of('manifest.json')).node_types).toEqual({
    'my.kind': {
      path: join(it.path, 'kind.mjs'),
      sha256: expect.stringMatching(/^\w{64}$/),
      does: 'Ends as the test says.',
      shapes: ['star'],
      aliases: [],
    },
  });
  // What has read other texts, maybe, is trusted no more than an agent.
  expect(it.json(of('checkpoint.json')).context).toMatchObject({ 'my.word': 'hello' });
  rmSync(join(it.path, 'kind.mjs'));
  rmSync(join(it.path, 'factory.json'));
  expect((await verifyRun({ runDir: join(it.path, '.factory/runs/r1'), env: {} })).problems).toEqual([]);
  expect((await it.show('r1')).out).toMatch(/mine\s+my\.kind/);
});

test('a shape of an own type stands for it, and its attributes are typed', async () => {
  await using it = await project(
    says,
    ['./kind.mjs'],
    dot.replace('type="my.kind", word="hello"', 'shape=star, word=x, wrd=1'),
  );
  const { found, graph } = await readPipeline('p.dot', it.path);
  expect(graph?.nodes.get('mine')).toMatchObject({
    type: 'my.kind',
    settings: { word: 'x', timeout: 1_800_000 },
  });
  expect(found.map(({ code, message }) => [code, message])).toEqual([
    ['unknown-attribute', expect.stringContaining('wrd')],
  ]);
});

test('simulate walks a pipeline with a node of an own type', async () => {
  await using it = await project(says);
  const walked = await it.verb(['simulate', 'p.dot']);
  expect(walked.code, walked.err).toBe(0);
  expect(walked.out).toMatch(/mine/);
});

test.for([
  ['is no outcome', 'return "done"', 'a string instead of an object with a status'],
  ['has another status', 'return { status: "ok" }', 'its status is "ok", which is none of success'],
  ['has a class that is none', 'return failed("x", "bad")', 'its class is "bad"'],
  [
    'sets what only the engine sets',
    'return succeeded({ updates: { outcome: 1 } })',
    'its updates set "outcome"',
  ],
  ['has updates that are no JSON', 'return succeeded({ updates: { a: 1n } })', 'its updates are no JSON'],
  ['is an exception', 'throw new Error("oh")', 'the node type "my.kind" threw: oh'],
] as const)('an answer that %s is a failure of class config', async ([, run, reason]) => {
  await using it = await project(module(run));
  expect((await start(it)).code).toBe(1);
  const { outcome, failure_class, failure_reason } = it.json(of('mine/status.json'));
  expect({ outcome, failure_class }).toEqual({ outcome: 'fail', failure_class: 'config' });
  expect(failure_reason).toContain(reason);
});

test('code that does not end is ended by its timeout, and by an interruption', async () => {
  const endless = module('await new Promise(() => setInterval(() => {}, 1e6).unref())');
  await using it = await project(endless, ['./kind.mjs'], dot.replace('word=', 'timeout=50ms, word='));
  expect((await start(it)).code).toBe(1);
  expect(it.json(of('mine/status.json'))).toMatchObject({ failure_class: 'timeout' });
  await using other = await project(endless);
  expect((await other.run('p.dot', { runId: 'r1' }, (line) => /starting/.test(line))).code).toBe(130);
});

test('a question of an own type suspends the run, also where its code catches that', async () => {
  await using it = await project(
    module(`try { await context.ask({ mode: 'freeform', text: 'Which?', options: [], text_to: 'done', default: null,
      timeout_action: 'fail', timeoutMs: undefined }); } catch {} return succeeded();`),
  );
  expect((await start(it)).code).toBe(75);
  expect(it.json(of('checkpoint.json'))).toMatchObject({ status: 'paused_answer' });
});

test.for([
  ['is missing', undefined, ['./kind.mjs'], 'is missing'],
  ['throws when it is loaded', 'const a = 1;\nthrow new Error("oh")', ['./kind.mjs'], 'cannot be loaded: oh'],
  ['has no default export', 'export const a = 1', ['./kind.mjs'], 'has no default export'],
  [
    'has the type of another',
    says.replace('my.kind', 'tool'),
    ['./kind.mjs'],
    'has the type "tool", which is one of factory',
  ],
  [
    'is there twice',
    says,
    ['./kind.mjs', './kind.mjs'],
    'has the type "my.kind", which is that of "my.kind" already',
  ],
  ['lacks what it does', says.replace('does:', 'doing:'), ['./kind.mjs'], 'lacks `does`'],
  [
    'has an attribute of factory',
    says.replace('{ word: attr', '{ prompt: attr'),
    ['./kind.mjs'],
    'has the attribute "prompt", which factory itself reads',
  ],
  [
    'has an attribute without a type',
    says.replace(/word: attr\([^)]*\)[^)]*\)/, 'word: 1'),
    ['./kind.mjs'],
    'has the attribute "word", which is no attribute',
  ],
  ['is outside of the project', says, ['../kind.mjs'], 'is'],
  ['is an absolute path', says, ['/tmp/kind.mjs'], 'is an absolute path'],
] as const)('a module that %s is an error with its place', async ([, kind, nodes, message]) => {
  await using it = await project(kind ?? '', nodes);
  if (kind === undefined) rmSync(join(it.path, 'kind.mjs'));
  const [found] = await foundIn(it);
  expect(found).toMatchObject({ code: 'own-node-type', message: expect.stringContaining(message) });
  expect(found?.place).toBeDefined();
});

test('a link that leads out of the project is refused', async () => {
  await using it = await house({
    'p/p.dot': dot,
    'kind.mjs': says,
    'p/factory.json': '{ "nodes": ["./kind.mjs"] }',
  });
  symlinkSync('../kind.mjs', join(it.path, 'p/kind.mjs'));
  const [found] = (await readPipeline('p/p.dot', it.path)).found;
  expect(found?.message).toBe('kind.mjs is outside of the project');
});

test.for([
  ['{', 'is not JSON'],
  ['[]', 'is no JSON object'],
  ['{ "node": [] }', 'has an unknown key "node"'],
  ['{ "nodes": "./kind.mjs" }', '"nodes" is no list of files'],
  ['{ "nodes": [1] }', '"nodes" has an entry that is no path'],
] as const)('a factory.json with %s is an error with its place', async ([text, message]) => {
  await using it = await house({ 'p.dot': dot, 'factory.json': text });
  const [found] = await foundIn(it);
  expect(found).toMatchObject({ code: 'project-file', message: expect.stringContaining(message) });
  expect(found?.place?.file).toBe(join(it.path, 'factory.json'));
});

test('the project is that of the pipeline, up to the top of its repository', async () => {
  await using it = await house({
    'factory.json': '{ "nodes": ["./kind.mjs"] }',
    'kind.mjs': says,
    'a/b/p.dot': dot,
    'c/p.dot': dot,
  });
  mkdirSync(join(it.path, 'c/.git'));
  expect((await readPipeline('a/b/p.dot', '/')).graph).toBeUndefined();
  expect((await readPipeline(join(it.path, 'a/b/p.dot'), '/')).graph?.nodes.get('mine')?.type).toBe(
    'my.kind',
  );
  expect((await readPipeline(join(it.path, 'c/p.dot'), '/')).found[0]).toMatchObject({
    code: 'unknown-type',
  });
});

const suspending =
  module(`const { choice } = await context.ask({ mode: 'choice', text: 'Go?', text_to: null, default: null,
  options: [{ key: 'g', label: 'go', to: 'done' }], timeout_action: 'fail', timeoutMs: undefined });
  return succeeded({ notes: choice });`);

test('a resume with another file is refused as with another pipeline, and accepted with --accept-changes', async () => {
  await using it = await project(suspending);
  expect((await start(it)).code).toBe(75);
  const was = it.json(of('manifest.json')).node_types['my.kind'].sha256;
  writeFileSync(join(it.path, 'kind.mjs'), says);
  const refused = await it.resume('r1');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain(
    `the file ${join(it.path, 'kind.mjs')} of the node type "my.kind" has changed`,
  );
  expect((await it.resume('r1', { acceptChanges: true })).code).toBe(0);
  expect(it.json(of('mine/status.json'))).toMatchObject({ notes: 'hello' });
  expect(it.json(of('manifest.json')).node_types['my.kind'].sha256).not.toBe(was);
});

test('a resume without the file says so', async () => {
  await using it = await project(suspending);
  await start(it);
  rmSync(join(it.path, 'kind.mjs'));
  const refused = await it.resume('r1');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('of the node type "my.kind" cannot be read');
});

test('a replay takes the recorded execution while the file is the same, and else runs the node', async () => {
  await using it = await project(says);
  await start(it);
  expect((await it.replay('r1', { runId: 'r2' })).code).toBe(0);
  const visits = (run: string) =>
    it.records(`.factory/runs/${run}/journal.jsonl`).filter(({ node }) => node === 'mine');
  expect(visits('r2').at(-1)).toMatchObject({ replayed: expect.any(Number) });
  writeFileSync(join(it.path, 'kind.mjs'), says.replace('notes: word', 'notes: "new"'));
  expect((await it.replay('r1', { runId: 'r3' })).code).toBe(0);
  expect(visits('r3').at(-1)).not.toHaveProperty('replayed');
  expect(it.json('.factory/runs/r3/mine/status.json')).toMatchObject({ notes: 'new' });
});

test('a fork runs with the present file, and its manifest names the change', async () => {
  await using it = await project(says);
  await start(it);
  writeFileSync(join(it.path, 'kind.mjs'), says.replace('notes: word', 'notes: "new"'));
  expect((await it.fork('r1', { runId: 'r2', at: 'mine@1', before: true })).code).toBe(0);
  const { forked_from, node_types } = it.json('.factory/runs/r2/manifest.json');
  expect(forked_from.changed).toEqual(['node types']);
  expect(node_types['my.kind'].sha256).not.toBe(it.json(of('manifest.json')).node_types['my.kind'].sha256);
  expect(it.json('.factory/runs/r2/mine/status.json')).toMatchObject({ notes: 'new' });
});

test('a program hands in types, for the start and for the resume', async () => {
  await using it = await house({ 'p.dot': dot });
  const kinds = [
    ({ kind, attr, types, succeeded }: NodeTools) =>
      kind({
        type: 'my.kind',
        does: 'Asks whether to go on.',
        attributes: { word: attr(types.text(), 'A word.') },
        async run({ word }, context) {
          if (!(await context.wait(asked ? 0 : 1e9))) throw new Error('interrupted');
          return succeeded({ notes: word ?? '' });
        },
      }),
  ];
  let asked = false;
  const { graph } = await readPipeline('p.dot', it.path, { kinds });
  if (graph === undefined) throw new Error('no graph');
  const where = { runsDir: '.factory/runs', runId: 'r1' };
  const host = plainHost({ cwd: it.path, env: { PATH: process.env['PATH'], HOME: it.path } });
  const dir = join(it.path, '.factory/runs/r1');
  expect(await startLocalRun(graph, where, plainFlags(), host)).toMatchObject({ code: 75 });
  expect(it.json(of('manifest.json')).node_types['my.kind']).toMatchObject({ path: null, sha256: null });
  asked = true;
  const again = plainFlags({ now: true });
  const refused = await resumeLocalRun(dir, undefined, again, host);
  expect(refused).toMatchObject({ problems: [{ message: expect.stringContaining('has errors') }] });
  expect(await resumeLocalRun(dir, undefined, again, { ...host, kinds })).toMatchObject({ code: 0 });
});
