/** A command and its endpoint answer with the same value. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folder, git } from '../builder/support.ts';
import { run } from '../cli/delivered-run.ts';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  graph [label="Make things", vars="name", workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  make [shape=parallelogram, tool_command="echo one > a.txt; mkdir d; echo \${var.name} > d/b.txt; [ \${var.name} = Ada ] || sleep 60"]
  check [shape=parallelogram, tool_command="echo TWO > a.txt; echo it is broken >&2; exit 3"]
  start -> make -> check -> exit
}`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
beforeAll(async () => {
  place = await house({ 'p.dot': pipeline });
  await place.run('p.dot', { runId: 'r', var: 'name=Ada' });
  server = await served(place.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** What `factory WORDS --json` prints. */
async function printed(words: string, flags: Flags = { json: true }): Promise<string> {
  const doors = { cwd: place.path, env: cleanEnv({ HOME: place.path }) };
  return (await call(words.split(' '), flags, doors)).out;
}

/** With the same word for each run, process and moment that differs between two runs of the same. */
const alike = (text: string): object => ({
  ...JSON.parse(text.replace(/[0-9A-Z]{26}/g, 'RUN')),
  ...('pid' in JSON.parse(text) ? { pid: 1 } : {}),
});

test.for([
  ['runs', 'runs'],
  ['show r', 'runs/r'],
  ['show r make', 'runs/r/nodes/make/1'],
  ['show r check@1', 'runs/r/nodes/check/1'],
  ['why r', 'runs/r/why'],
  ['diff r', 'runs/r/changes'],
  ['diff r --at check', 'runs/r/changes?at=check'],
  ['diff r d', 'runs/r/changes?path=d'],
  ['diff r --from make --to check a.txt', 'runs/r/changes?from=make&to=check&path=a.txt'],
  ['pipelines', 'pipelines'],
] as const)('factory %s --json prints what /api/v1/%s serves', async ([words, path]) => {
  const { status, text } = await server.ask(`/api/v1/${path}`);
  expect(status).toBe(200);
  expect(JSON.parse(await printed(words))).toEqual(JSON.parse(text));
});

test('factory logs --json prints the events that are served, each as a line', async () => {
  const { events } = await server.json('/api/v1/runs/r/events');
  const lines = (await printed('logs r')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual(events);
});

test.for([
  ['graph r --output -', 'graph.svg'],
  ['graph r --timeline --output -', 'timeline.svg'],
] as const)('factory %s prints the picture that is served as %s', async ([words, path]) => {
  expect(await printed(words, {})).toBe((await server.ask(`/api/v1/runs/r/${path}`)).text);
});

/** Both answers: what the command prints, and what the endpoint does. */
async function both(words: string, path: string, body: object): Promise<readonly [string, string]> {
  const { status, text } = await server.post(`/api/v1/${path}`, body);
  expect([status, text]).toEqual([202, expect.any(String)]);
  return [await printed(words), text];
}

test('run, resume and fork in the background, and stop, answer as their endpoints', async () => {
  const same = async (answers: Promise<readonly [string, string]>): Promise<readonly [string, string]> => {
    const [one, other] = await answers;
    expect(alike(one)).toEqual(alike(other));
    return [JSON.parse(one).run_id, JSON.parse(other).run_id];
  };
  const body = { pipeline: 'p.dot', vars: { name: 'slow' } };
  const [one, other] = await same(both('run p.dot --var name=slow --detach', 'runs', body));
  const stop = () => both(`stop ${one}`, `runs/${other}/stop`, {});
  expect(alike((await stop())[0])).toMatchObject({ answer: 'stopped', next: 'factory resume RUN' });
  await same(both(`resume ${one} --detach`, `runs/${other}/resume`, {}));
  await same(stop());
  const fork = both(`fork ${one} --at start --before --detach`, `runs/${other}/fork`, { at: 'start' });
  for (const id of await same(fork)) await printed(`stop ${id}`);
});

test('factory deliver --json prints what its endpoint answers', async () => {
  using it = folder();
  const made = await run(it.path);
  await using other = await served(it.path, { runsdir: 'runs' });
  const flags = { json: true, branch: 'b' };
  expect(await made.asked(flags)).toBe(0);
  git(made.source, 'branch', '-qD', 'b');
  const { status, text } = await other.post('/api/v1/runs/RUN1/deliver', { branch: 'b' });
  expect(status).toBe(200);
  expect(JSON.parse(made.said())).toEqual(JSON.parse(text));
});
