/** What the API serves of a run with a holdout while the run is unfinished. */
import { cpSync, renameSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/web/client.ts';
import { house } from '../support/house.ts';
import { base, done, judge, script } from '../support/sealed-run.ts';
import { type Served, served } from './served.ts';

const canary = 'kittiwake berthed at quay 4821';
const pipeline = `digraph g {
  holdout="scripts/scenarios/"
  agent_script="agent.json"
  start [shape=Mdiamond] exit [shape=Msquare]
  work [shape=box, agent.backend=scripted, prompt="Do it", max_retries=0]
  judge [shape=parallelogram, max_retries=0, tool_command="cat scripts/scenarios/judge.sh >&2; echo seen > seen.txt; exit 1"]
  rest [shape=parallelogram, access="run", tool_command="echo resting > own.txt; sleep 60"]
  start -> work -> judge
  judge -> rest [condition="outcome=fail"]
  judge -> exit [condition="outcome=success"]
  rest -> exit
}`;
/** A judge that quotes the scenario: without an edge for its failure, or in a loop that makes no progress. */
const quoting = (edges: string) => `digraph g {
  holdout="scripts/scenarios/"
  agent_script="agent.json"
  start [shape=Mdiamond] exit [shape=Msquare]
  work [shape=box, agent.backend=scripted, prompt="Do it", max_retries=0]
  judge [shape=parallelogram, max_retries=0, rerun=false, tool_command="cat scripts/scenarios/judge.sh; python3 quote.py; exit 1"]
  start -> work -> judge
  judge -> exit [condition="outcome=success"]
  ${edges}
}`;
const quote = `import json, os
text = open('scripts/scenarios/judge.sh').read()
json.dump({'failure_reason': text}, open(os.environ['FACTORY_OUTPUT'], 'w'))
`;
let place: Awaited<ReturnType<typeof house>>;
let server: Served;
let client: ReturnType<typeof createClient>;
const run = { params: { id: 'r' } };

beforeAll(async () => {
  place = await house({
    ...base,
    'p.dot': pipeline,
    'plain.dot': 'digraph g { workdir="none"; start; exit; start -> exit }',
    'no-edge.dot': quoting(''),
    'loop.dot': quoting('judge -> work [condition="outcome=fail"]'),
    'w/quote.py': quote,
    'agent.json': script(
      done({}, [{ path: 'out.txt', content: 'made by the agent\n' }]),
      ...[done(), done(), done()],
    ),
  });
  await place.run('p.dot', { runId: 'r', workdir: 'w' }, (line) => /node started.* node=rest/.test(line));
  server = await served(place.path);
  client = createClient({ url: server.url.href });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test('the run is unfinished, and its records have text of the holdout', async () => {
  expect(await client.run(run)).toMatchObject({ status: 'interrupted', at_node: 'rest' });
  expect(place.read('.factory/runs/r/judge/tool.stderr.txt')).toBe(judge);
});

test('no answer has text of the holdout', async () => {
  const node = '/api/v1/runs/r/nodes';
  const paths = [
    ...['', '/changes', '/changes?at=judge', '/changes?path=seen.txt', '/events'].map(
      (end) => `/api/v1/runs/r${end}`,
    ),
    ...[`${node}/judge/1`, `${node}/work/1`, '/api/v1/runs', '/api/v1/runs/r/graph.svg'],
  ];
  for (const path of paths) {
    const { status, text } = await server.ask(path);
    expect(status, path).toBe(200);
    expect(text, path).not.toContain(canary);
  }
  for await (const message of client.stream(run)) {
    expect(JSON.stringify(message)).not.toContain(canary);
    if (message.event === 'ready') break;
  }
});

test('files of the node are refused, and what others made is shown', async () => {
  const { files, withheld } = await client.execution({ params: { id: 'r', node: 'judge', visit: 1 } });
  expect(withheld).toBe(true);
  expect(files.length).toBeGreaterThan(2);
  for (const { name } of files) {
    const { status, text } = await server.ask(`/api/v1/runs/r/nodes/judge/1/files/${name}`);
    expect([status, JSON.parse(text).code], name).toEqual([403, 'withheld']);
  }
  const changes = await client.changes(run);
  expect(changes.withheld).toBe(true);
  expect(changes.files.map(({ path, patch, why_not }) => [path, patch !== '', why_not])).toEqual([
    ['out.txt', true, ''],
    ['seen.txt', false, 'withheld'],
  ]);
});

test.for([
  ['no-edge', /^no route from node judge/],
  ['loop', /^loop_stopped: /],
] as const)(
  'the reason of an end that a resume continues has no line of the holdout: %s',
  async ([name, reason]) => {
    await place.run(`${name}.dot`, { runId: name, workdir: 'w' });
    const view = await client.run({ params: { id: name } });
    expect(view).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) });
    expect(view.cause?.lines.join()).toContain('node judge');
    expect(place.read(`.factory/runs/${name}/result.json`)).not.toContain(canary);
    for (const path of ['/api/v1/runs', `/api/v1/runs/${name}`, `/api/v1/runs/${name}/events`])
      expect((await server.ask(path)).text, path).not.toContain(canary);
  },
);

test('a run in the place of another that is watched shows the stream of that one nothing', async () => {
  await place.run('plain.dot', { runId: 'plain' });
  const runs = `${place.path}/.factory/runs`;
  cpSync(`${runs}/no-edge`, `${runs}/other`, { recursive: true });
  cpSync(`${runs}/plain`, `${runs}/place`, { recursive: true });
  let all = '';
  for await (const message of client.stream({ params: { id: 'place' } })) {
    all += JSON.stringify(message);
    if (message.event === 'gone') break;
    if (message.event !== 'ready') continue;
    renameSync(`${runs}/place`, `${runs}/before`);
    renameSync(`${runs}/other`, `${runs}/place`);
  }
  expect(all).not.toContain(canary);
  expect(all).not.toContain('"judge"');
});
