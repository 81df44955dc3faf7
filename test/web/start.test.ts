/** What a request may start a run with: only folders and files below the roots, never a holdout that another request has named. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepHoldout, knownHoldouts, releaseHoldout } from '../../src/app/named-holdouts.ts';
import { git } from '../builder/support.ts';
import { house } from '../support/house.ts';
import { home } from '../support/in-process.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  graph [label="Print the spec", vars="spec=@spec.md"]
  start [shape=Mdiamond] exit [shape=Msquare]
  look [shape=parallelogram, tool_command="cat \${var.spec}; ls -a"]
  start -> look -> exit
}`;
const emptyOne = pipeline.replace('vars=', 'workdir="none", vars=');

const asking = `digraph g { workdir="none"; start [shape=Mdiamond] exit [shape=Msquare]
  ask [prompt="Do it."]; start -> ask -> exit }`;

const ownProvider = asking.replace('prompt=', 'llm_provider=acme, prompt=');
const ownServer = { base_url: 'http://127.0.0.1:9/v1', models: ['m'] };

const ownType = `digraph g { workdir="none"; start [shape=Mdiamond] exit [shape=Msquare]
  own [type="own.type"]; start -> own -> exit }`;
const ownModule = `import { writeFileSync } from 'node:fs';
writeFileSync(new URL('executed', import.meta.url), String(process.pid));
export default { type: 'own.type', does: 'Nothing.', run: async () => ({ status: 'success' }) };`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
const runsDir = () => join(place.path, '.factory/runs');
beforeAll(async () => {
  place = await house({
    ...{ 'work/app/p.dot': pipeline, 'work/app/empty.dot': emptyOne, 'work/app/spec.md': '# The app\n' },
    ...{ 'work/app/.env': 'SECRET=1\n', 'work/app/hidden/check.sh': 'echo the hidden scenario\n' },
    ...{
      'work/app/bad.dot': 'digraph { a -> b }',
      'work/app/asks.dot': asking,
      'work/app/acme.dot': ownProvider,
      '.config/factory/factory.json': JSON.stringify({ providers: { acme: ownServer } }),
      'work/app/src/x.txt': 'x',
      'work/.keys/k.txt': 'key',
    },
    ...{ 'outside/spec.md': '# Outside\n', 'outside/p.dot': pipeline },
    ...{ 'own/factory.json': '{ "nodes": ["./own.mjs"] }', 'own/p.dot': ownType, 'own/own.mjs': ownModule },
  });
  symlinkSync('../../outside', join(place.path, 'work/app/way'));
  symlinkSync('.env', join(place.path, 'work/app/env.txt'));
  symlinkSync('../../outside/p.dot', join(place.path, 'work/app/linked.dot'));
  git(join(place.path, 'work/app'), 'init', '-q');
  server = await served(place.path, { root: ['work'] });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const app = () => join(place.path, 'work/app');
const post = async (path: string, body: object) => {
  const { status, text } = await server.post(`/api/v1/${path}`, {
    project: app(),
    pipeline: 'p.dot',
    ...body,
  });
  return { ...JSON.parse(text), status };
};
/** Starts a run and waits for its end. */
async function ran(body: object): Promise<string> {
  const { status, run_id, message } = await post('runs', body);
  expect([status, message]).toEqual([202, undefined]);
  await place.called(['wait', run_id]);
  return run_id;
}
const outputOf = async (run: string) =>
  (await server.ask(`/api/v1/runs/${run}/nodes/look/1/files/tool.stdout.txt`)).text;

test('without a request for a folder the first root is the project, and folders below the roots are listed', async () => {
  const { roots, folder } = await server.json('/api/v1/server');
  expect([roots, folder]).toEqual([[join(place.path, 'work')], place.path]);
  const { folders, more } = await server.json('/api/v1/folders');
  const work = join(place.path, 'work');
  expect([folders, more]).toEqual([['', '/app', '/app/hidden', '/app/src'].map((end) => work + end), false]);
  const { pipelines } = await server.json(`/api/v1/pipelines?project=${app()}`);
  const own = pipelines.filter(({ from }: { from: string }) => from === 'folder');
  expect(own.map(({ name, workdir, valid }: Record<string, unknown>) => [name, workdir, valid])).toEqual([
    ['acme.dot', null, true],
    ['asks.dot', null, true],
    ['bad.dot', null, false],
    ['empty.dot', null, true],
    ['p.dot', app(), true],
  ]);
  const { files } = await server.json(`/api/v1/files?project=${app()}`);
  expect(files.map(({ path }: { path: string }) => path)).toEqual([
    ...['acme.dot', 'asks.dot', 'bad.dot', 'empty.dot', 'hidden/check.sh', 'p.dot', 'spec.md', 'src/x.txt'],
  ]);
});

test.for([
  ['a project outside of the roots', { project: '../outside' }],
  ['one above the roots', { project: '.' }],
  ['one behind a link', { project: 'work/app/way' }],
  ['one with a dot', { project: 'work/.keys' }],
  ['the runs directory', { project: '.factory/runs' }],
  ['a file', { project: 'work/app/spec.md' }],
  ['a missing one', { project: 'work/none' }],
  ['a file outside', { vars: { spec: '../../outside/spec.md' } }],
  ['an absolute one', { vars: { spec: '/etc/passwd' } }],
  ['a file behind a link', { vars: { spec: 'way/spec.md' } }],
  ['a link to a file with a dot', { vars: { spec: 'env.txt' } }],
  ['a file with a dot', { vars: { spec: '@.env' } }],
  ['a value and a text', { vars: { spec: 'spec.md' }, texts: { spec: 'x' } }],
  ['a file of its holdout', { vars: { spec: 'hidden/check.sh' }, holdout_from: 'hidden' }],
  ['a holdout outside', { holdout_from: '../../outside' }],
  ['a linked pipeline', { pipeline: 'linked.dot' }],
  ['a pipeline elsewhere', { pipeline: 'way/p.dot' }],
] as const)('%s is refused, at the check, the start and the queue', async ([, body]) => {
  for (const path of ['check', 'runs', 'queue']) {
    const answer = await post(path, body);
    expect([answer.status, answer.code]).toEqual([400, 'bad-request']);
  }
});

test('a check answers with the command, the findings with their places, and what is missing', async () => {
  expect(await post('check', { vars: { spec: 'spec.md' } })).toMatchObject({
    ...{ status: 200, missing: [], findings: [] },
    command: `cd ${app()} && factory run p.dot --var spec=spec.md --runsdir ${runsDir()}`,
  });
  const bad = await post('check', { pipeline: 'bad.dot' });
  const severities = bad.findings.map(({ severity }: { severity: string }) => severity);
  expect(severities).toContain('error');
  expect(bad.findings[0].place).toMatchObject({ file: 'bad.dot', line: 1 });
  const agent = await post('check', { pipeline: 'compile-and-build', agent: 'nobody' });
  expect(agent.findings).toMatchObject([{ message: expect.stringContaining('nobody') }]);
  const keyless = await post('check', { pipeline: 'asks.dot' });
  expect(keyless.findings).toMatchObject([
    { severity: 'warning', message: expect.stringContaining('no agent is chosen') },
  ]);
  const own = await post('check', { pipeline: 'acme.dot' });
  expect(own.findings).toEqual([]);
  expect((await post('check', { holdout_from: 'src/../src' })).findings).toEqual([]);
  expect((await post('check', { holdout_from: 'none' })).message).toContain('is no folder');
  expect(readdirSync(place.path)).not.toContain('.factory');
});

test('a run of a pipeline that begins with an empty folder builds on the project where that is asked', async () => {
  expect(await outputOf(await ran({ pipeline: 'empty.dot' }))).not.toContain('src');
  expect(await outputOf(await ran({ pipeline: 'empty.dot', on_project: true }))).toContain('src');
});

test('a spec given as text is a file of the runs directory for its owner, as long as the run', async () => {
  const text = '# From the page\n\nWith "quotes" and é.\n';
  const { run_id, command } = await post('runs', { texts: { spec: text } });
  await place.called(['wait', run_id]);
  const file = join(runsDir(), '.given', run_id, 'spec.md');
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([text, 0o600]);
  expect(command).toContain(`--var spec=@${file}`);
  expect(await outputOf(run_id)).toContain(text);
  expect((await server.json('/api/v1/runs')).runs[0]).toMatchObject({ run_id, title: 'Print the spec' });
  expect(git(app(), 'status', '--porcelain', '--ignored')).not.toContain('.factory');
  expect(await post(`runs/${run_id}/remove`, { project: undefined, pipeline: undefined })).toMatchObject({
    status: 200,
    run_id,
  });
  expect(readdirSync(join(runsDir(), '.given'))).toEqual([]);
  const refused = await post('runs', {
    texts: { spec: text },
    sandbox: 'none',
    allow_dirty: true,
    pipeline: 'bad.dot',
  });
  expect(refused.status).toBe(409);
  expect(readdirSync(join(runsDir(), '.given'))).toEqual([]);
});

test('a holdout of a start that was refused stays an ordinary folder', async () => {
  for (const path of ['runs', 'queue']) {
    const { status } = await post(path, { pipeline: 'bad.dot', holdout_from: 'src' });
    expect(status).toBe(409);
  }
  expect(knownHoldouts(runsDir())).toEqual([]);
});

test('a holdout is known from before its run begins, and as long as one run has named it', async () => {
  await using it = await home();
  await keepHoldout(it.path, '/scenarios', 'r1');
  await keepHoldout(it.path, '/scenarios', 'r2');
  expect(knownHoldouts(it.path)).toEqual(['/scenarios']);
  releaseHoldout(it.path, '/scenarios', 'r1');
  expect(knownHoldouts(it.path)).toEqual(['/scenarios']);
  releaseHoldout(it.path, '/scenarios', 'r2');
  expect(knownHoldouts(it.path)).toEqual([]);
});

test('a holdout that a request has named can be read through no later one', async () => {
  writeFileSync(join(app(), 'shows.dot'), emptyOne.replace('@spec.md', '@hidden/check.sh'));
  const run = await ran({ holdout_from: 'hidden' });
  expect(await outputOf(run)).not.toContain('hidden');
  const hidden = 'the hidden scenario';
  for (const body of [
    { vars: { spec: 'hidden/check.sh' } },
    { vars: { spec: `@${app()}/hidden/check.sh` } },
    { project: join(app(), 'hidden') },
    { pipeline: 'shows.dot' },
    // Agents of a run on the project would see it.
    {},
    { pipeline: 'empty.dot', on_project: true },
  ])
    for (const path of ['check', 'runs', 'queue']) {
      const answer = await post(path, body);
      expect([answer.status, answer.message]).toEqual([400, expect.stringMatching(/holdout/)]);
    }
  for (const under of ['', 'hidden'])
    expect((await server.ask(`/api/v1/files?project=${app()}&under=${under}`)).text).not.toContain(
      'check.sh',
    );
  expect((await server.ask(`/api/v1/pipelines?project=${app()}/hidden`)).status).toBe(400);
  expect((await server.json('/api/v1/folders')).folders).not.toContain(join(app(), 'hidden'));
  // Also after a restart of the server.
  await using again = await served(place.path, { root: ['work'] });
  const asked = { project: app(), pipeline: 'p.dot', vars: { spec: 'hidden/check.sh' } };
  expect((await again.post('/api/v1/runs', asked)).status).toBe(400);
  // Its own run, the next one with the same holdout and one that begins with an empty folder go.
  await ran({ holdout_from: 'hidden' });
  await ran({ pipeline: 'empty.dot' });
  writeFileSync(join(app(), '.factoryignore'), 'hidden/\n');
  const { run_id } = await post('runs', {});
  await place.called(['wait', run_id]);
  for (const path of ['', '/changes', '/events', '/nodes/look/1', '/graph.svg'])
    expect((await server.ask(`/api/v1/runs/${run_id}${path}`)).text).not.toContain(hidden);
});

test('a workdir that a pipeline names outside of the roots is not built on', async () => {
  writeFileSync(join(app(), 'far.dot'), pipeline.replace('vars=', 'workdir="../../outside", vars='));
  const answer = await post('runs', { pipeline: 'far.dot', holdout_from: 'hidden' });
  expect([answer.status, answer.message]).toEqual([400, expect.stringContaining('not below a folder')]);
});

test('what earlier runs of the pipeline cost is estimated for its project alone', async () => {
  const known = await server.json(`/api/v1/estimate?project=${app()}&pipeline=empty.dot`);
  expect(known).toMatchObject({
    runs: 3,
    others: 0,
    cost_usd: { median: 0 },
    elapsed_ms: { least: expect.any(Number) },
  });
  mkdirSync(join(place.path, 'work/other'));
  writeFileSync(join(place.path, 'work/other/empty.dot'), emptyOne);
  const other = await server.json(`/api/v1/estimate?project=${place.path}/work/other&pipeline=empty.dot`);
  expect(other).toMatchObject({ runs: 0, cost_usd: null, elapsed_ms: null });
});

test('a run is replayed; a run that runs or is queued is not removed', async () => {
  const { runs } = await server.json('/api/v1/runs');
  const [{ run_id }] = runs;
  const act = (run: string, what: string) => server.post(`/api/v1/runs/${run}/${what}`, {});
  const replayed = JSON.parse((await act(run_id, 'replay')).text);
  await place.called(['wait', replayed.run_id]);
  expect(await server.json(`/api/v1/runs/${replayed.run_id}`)).toMatchObject({ replay_of: run_id });
  const queued = await post('queue', { pipeline: 'empty.dot', not_before: '2h', texts: { spec: 'Later' } });
  const [job] = queued.runs;
  expect(readdirSync(join(runsDir(), '.given'))).toEqual([job.run_id]);
  const slow = pipeline.replace('cat', 'sleep 60; cat').replace('vars=', 'workdir="none", vars=');
  writeFileSync(join(app(), 'slow.dot'), slow);
  const running = await post('runs', { pipeline: 'slow.dot' });
  const refused = await act(running.run_id, 'remove');
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('is running')]);
  await place.called(['stop', running.run_id]);
  expect((await act(running.run_id, 'remove')).status).toBe(200);
  expect((await act(running.run_id, 'remove')).status).toBe(404);
});

test('code of a project is executed by its runs, not where its folder is looked at', async () => {
  const root = join(place.path, 'own');
  await using readOnly = await served(place.path, { root: ['own'], readOnly: true });
  await using other = await served(place.path, { root: ['own'] });
  const { pipelines } = await readOnly.json('/api/v1/pipelines');
  expect(pipelines[0]).toMatchObject({ name: 'p.dot', valid: true });
  const check = await other.post('/api/v1/check', { pipeline: 'p.dot' });
  expect(JSON.parse(check.text)).toMatchObject({ missing: [], findings: [] });
  expect(readdirSync(root)).not.toContain('executed');
  const { run_id } = JSON.parse((await other.post('/api/v1/runs', { pipeline: 'p.dot' })).text);
  await place.called(['wait', run_id]);
  expect(readFileSync(join(root, 'executed'), 'utf8')).not.toBe(String(process.pid));
});

test('a read-only server refuses all of it', async () => {
  await using readOnly = await served(place.path, { root: ['work'], readOnly: true });
  const [{ run_id }] = (await server.json('/api/v1/runs')).runs;
  for (const path of ['check', 'runs', 'queue', `runs/${run_id}/replay`, `runs/${run_id}/remove`])
    expect((await readOnly.post(`/api/v1/${path}`, { pipeline: 'p.dot' })).status, path).toBe(405);
});

test('a root that is no folder is refused before the server listens', async () => {
  const told = await place.called(['serve'], { port: 0, root: ['work/none'] });
  expect([told.code, told.err]).toEqual([2, expect.stringContaining('work/none is no folder')]);
});
