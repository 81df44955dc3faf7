/** Conversations in whole runs: kept, resumed, forked, replayed, checked. */
import { expect, test } from 'vitest';
import { openRun } from '../../src/run/open-run.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';
import { type ModelRequest, type Reaction, startModelServer } from '../support/model-server.ts';
import { damageContent } from '../support/run-texts.ts';

const pipeline = `digraph t {
  default_thread=t; default_fidelity=full
  start [shape=Mdiamond]; done [shape=Msquare]
  a [prompt="Say A."]; b [prompt="Say B."]; c [prompt="Say C."]
  start -> a -> b -> c -> done
}`;
const long = 'A, at length. '.repeat(400);
const answers: readonly Reaction[] = [{ text: long }, { text: 'B.' }, { text: 'C.' }];

/** The run r1 of the pipeline, whose model has these answers. */
async function ran(reactions: readonly Reaction[], env: Readonly<Record<string, string>> = {}) {
  const server = await startModelServer(reactions);
  const key = { OPENAI_API_KEY: 'sk-threads-0123456789', OPENAI_BASE_URL: server.url };
  const it = await house({ 'p.dot': pipeline, 'work/x.txt': 'x' }, () => ({ ...key, ...env }));
  const told = await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'openai' });
  it.environment(key);
  return {
    ...{ it, told, server, dir: `${it.path}/.factory/runs/r1` },
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const inputsOf = (requests: readonly ModelRequest[]) => requests.map(({ body }) => body?.['input']);
const said = (role: 'user' | 'assistant', content: string) => ({ role, content });
const whole = [
  ...['Say A.', [said('user', 'Say A.'), said('assistant', long), said('user', 'Say B.')]],
  [
    ...[said('user', 'Say A.'), said('assistant', long), said('user', 'Say B.'), said('assistant', 'B.')],
    said('user', 'Say C.'),
  ],
];

/** What the journal says of the conversation after each node. */
function threadsIn(dir: string) {
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  return history.records.flatMap((one) =>
    one.type === 'Visit' && one.thread ? [[one.node, one.thread]] : [],
  );
}

test('a run that is stopped and resumed continues the conversation, and so do its fork and its replay', async () => {
  await using one = await ran([...answers, { text: 'C.' }], { ATTRACTION_TEST_STOP_AFTER_NODE: 'b' });
  const { it, server, dir } = one;
  expect((await it.resume('r1')).code).toBe(0);
  expect(inputsOf(server.requests)).toEqual(whole);
  expect(threadsIn(dir)).toEqual([
    ['a', { key: 't', agent: 'openai', session: { sha256: expect.any(String), bytes: expect.any(Number) } }],
    ['b', expect.objectContaining({ key: 't' })],
    ['c', expect.objectContaining({ key: 't' })],
  ]);
  const forked = await it.fork('r1', { at: 'b', runId: 'r2' });
  expect(forked.code, forked.err).toBe(0);
  expect(inputsOf(server.requests.slice(3))).toEqual(whole.slice(2));
  const replayed = await it.replay('r1', { runId: 'r3' });
  expect(replayed.code, replayed.err).toBe(0);
  expect(server.requests).toHaveLength(4);
  expect(threadsIn(`${it.path}/.factory/runs/r3`)).toEqual(threadsIn(dir));
});

test('a kept text that was damaged is found by verify, and costs the next node its conversation', async () => {
  await using one = await ran(answers, { ATTRACTION_TEST_STOP_AFTER_NODE: 'a' });
  const { it, server, dir } = one;
  const [[, thread] = []] = threadsIn(dir) as [string, { session: { sha256: string } }][];
  damageContent(dir, thread?.session.sha256 ?? '');
  const checked = await verifyRun({ runDir: dir, env: {} });
  expect(JSON.stringify(checked)).toContain('the conversation \\"t\\" of node \\"a\\"');
  const resumed = await it.resume('r1');
  expect(resumed.code, resumed.err).toBe(0);
  expect(resumed.err).toContain('the conversation cannot be continued');
  expect(server.requests[1]?.body?.['input']).toMatch(
    /^<run_so_far>\n[\s\S]*- a@1 \(codergen\): success\n {2}answer: A, at/,
  );
  expect(inputsOf(server.requests)[2]).toHaveLength(3);
});
