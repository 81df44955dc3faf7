/** A hold as users meet it: further runs of one folder, the queue that shows it, and its removal. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { startModelServer } from '../support/model-server.ts';

const dot = (command = 'true') => `digraph t { workdir=none; start [shape=Mdiamond]; work [prompt="do it"]
  check [shape=parallelogram, tool_command="${command}"]; done [shape=Msquare]; start -> work -> check -> done }`;

test('a new run of an account on hold is suspended without a call, in the words of the limit, until a person removes the hold', async () => {
  await using server = await startModelServer((_, index) =>
    index === 0 ? { status: 429, headers: { 'retry-after': '3600' } } : { text: 'ok' },
  );
  const env = { OPENAI_API_KEY: 'sk-holds-0123456789', OPENAI_BASE_URL: server.url };
  await using it = await house({ 'p.dot': dot() }, () => env);
  const start = (runId: string, more: object = {}) => it.run('p.dot', { runId, ...more });
  expect((await start('r1')).code).toBe(75);
  const parkedOf = (id: string) => it.json(`.factory/runs/${id}/checkpoint.json`).parked;
  const second = await start('r2');
  expect([second.code, server.requests.length], second.err).toEqual([75, 1]);
  const { since: _, ...why } = parkedOf('r1');
  expect(parkedOf('r2')).toMatchObject(why);
  // Nothing that calls no provider looks at it.
  expect((await start('r3', { agent: 'fake' })).code).toBe(0);
  expect((await it.replay('r3', {})).code).toBe(0);

  const { holds } = JSON.parse((await it.verb(['queue'], { json: true })).out);
  expect(holds).toMatchObject([{ agent: 'openai', endpoint: server.url, until: why.wake_at, runs: [] }]);
  const [{ id }] = holds;
  expect((await it.verb(['queue'])).out).toContain(`hold ${id} of openai`);
  const unknown = await it.verb(['queue', 'release', 'x']);
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining(`there are ${id}`)]);
  expect((await it.verb(['queue', 'release', id.slice(0, 6)])).code).toBe(0);
  const released = await start('r4');
  expect([released.code, server.requests.length], released.err).toEqual([0, 2]);
  expect((await it.resume('r2', { now: true })).code).toBe(0);
  expect(JSON.parse((await it.runs({ json: true })).out).runs).toHaveLength(5);
});
