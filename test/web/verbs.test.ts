/** A command and its endpoint answer with the same value. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  graph [label="Make things", vars="name", workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  make [shape=parallelogram, tool_command="echo one > a.txt; mkdir d; echo \${var.name} > d/b.txt"]
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

const printed = async (words: string): Promise<string> =>
  (await call(words.split(' '), { json: true }, { cwd: place.path, env: cleanEnv({ HOME: place.path }) }))
    .out;

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
