/** A model call in a whole run: the request, the files in the node directory, and the end of the run. */
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const key = 'sk-e2e-0123456789abcdef';
const files = {
  'ask.dot':
    'digraph ask { start [shape=Mdiamond]; work [shape=box, prompt="do it"]; done [shape=Msquare]; start -> work -> done }',
};
const node = '.factory/runs/r1/work';

async function asking(reactions: readonly Reaction[]) {
  const it = await home(files);
  const server = await startModelServer(reactions);
  const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url };
  return {
    it,
    server,
    run: (args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) =>
      it.factory(['run', 'ask.dot', '--run-id', 'r1', ...args], { env: { ...env, ...more } }),
    resume: (more: Readonly<Record<string, string>>) =>
      it.factory(['resume', 'r1'], { env: { ...env, ...more } }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

test('an interrupted stream is repeated until there is an answer; reasoning, effort and request are recorded', async () => {
  await using at = await asking([{ cutAfter: 1 }, { text: 'all done', reasoning: ['step one'] }]);
  const ran = await at.run(['--effort', 'high'], { FACTORY_EFFORT: 'low' });
  expect(ran.code, ran.stderr).toBe(0);
  expect(at.server.requests.map(({ body }) => [body?.['stream'], body?.['background']])).toEqual([
    [true, undefined],
    [undefined, true],
  ]);
  expect(at.server.requests[1]?.body?.['reasoning']).toEqual({ effort: 'high', summary: 'auto' });
  expect(await at.it.read(`${node}/reasoning.md`)).toBe('step one');
  expect(await at.it.read(`${node}/response.md`)).toBe('all done');
  expect(await at.it.json('.factory/runs/r1/manifest.json')).toMatchObject({
    agent: { name: 'openai', effort: 'high', describe: expect.stringMatching(/, effort high$/) },
  });
});

test('a call without an answer ends the run with exit code 3 and evidence; a resume keeps the effort of the run', async () => {
  const events = [
    { type: 'response.failed', response: { status: 'failed', error: { code: 'odd', message: `no ${key}` } } },
  ];
  await using at = await asking([{ events }, { text: 'now' }]);
  const ran = await at.run([], { FACTORY_EFFORT: 'low' });
  expect(ran.code, ran.stderr).toBe(3);
  expect(ran.stdout).toMatch(/does not answer this prompt \(odd\): no \*\*\*/);
  expect(`${ran.stdout}${ran.stderr}`).not.toContain(key);
  expect(await at.it.json(`${node}/raw_response_unexpected_status_0.json`)).toEqual({
    status: 'failed',
    error: { code: 'odd', message: 'no ***' },
  });
  expect(await at.it.list(node)).not.toContain('reasoning.md');
  const resumed = await at.resume({ FACTORY_EFFORT: 'high' });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(at.server.requests.map(({ body }) => body?.['reasoning'])).toEqual(
    new Array(2).fill({ effort: 'low', summary: 'auto' }),
  );
});

test('an invalid effort is refused before any call', async () => {
  await using at = await asking([]);
  const ran = await at.run(['--effort', 'hihg']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/--effort asks for the effort "hihg".*\n.*did you mean "high"/s);
  expect(at.server.requests).toEqual([]);
});
