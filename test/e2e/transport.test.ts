/** A model call without an answer in a whole run: its exit code and evidence, and the effort of the resume. */
import { expect, test } from 'vitest';
import { httpProxy } from '../support/http-proxy.ts';
import { home } from '../support/in-process.ts';
import { startModelServer } from '../support/model-server.ts';

test('a call without an answer ends the run with exit code 3 and evidence; a resume keeps the effort of the run', async () => {
  const key = 'sk-e2e-0123456789abcdef';
  const node = '.factory/runs/r1/work';
  const response = { status: 'failed', error: { code: 'odd', message: `no ${key}` } };
  const failed = { events: [{ type: 'response.failed', response }] };
  await using server = await startModelServer([failed, { text: 'now' }]);
  await using it = await home({
    'ask.dot':
      'digraph ask { start [shape=Mdiamond]; work [prompt="do it"]; done [shape=Msquare]; start -> work -> done }',
  });
  const env = (effort: string) => ({
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: server.url,
    FACTORY_EFFORT: effort,
  });
  const ran = await it.factory(['run', 'ask.dot', '--run-id', 'r1'], { env: env('low') });
  expect(ran.code, ran.stderr).toBe(3);
  expect(ran.stdout).toMatch(/does not answer this prompt \(odd\): no \*\*\*/);
  expect(`${ran.stdout}${ran.stderr}`).not.toContain(key);
  expect(await it.json(`${node}/raw_response_unexpected_status_0.json`)).toEqual({
    status: 'failed',
    error: { code: 'odd', message: 'no ***' },
  });
  expect(await it.list(node)).not.toContain('reasoning.md');
  const resumed = await it.factory(['resume', 'r1'], { env: env('high') });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(server.requests.map(({ body }) => body?.['reasoning'])).toEqual(
    new Array(2).fill({ effort: 'low', summary: 'auto' }),
  );
});

test('the built command line tunnels a request over TLS through the proxy', async () => {
  await using server = await startModelServer([]);
  await using proxy = await httpProxy(Number(new URL(server.url).port));
  await using it = await home();
  const env = {
    OPENAI_API_KEY: 'sk-e2e-0123456789abcdef',
    OPENAI_BASE_URL: 'https://models.invalid/v1',
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  };
  const ran = await it.program(['doctor', '--probe', '--provider', 'openai'], { env });
  expect(proxy.asked).toEqual(['CONNECT models.invalid:443']);
  // The server behind it speaks no TLS, so the handshake is where it ends.
  expect(ran.stdout).toMatch(/models\.invalid\/v1 cannot be reached: .*(?:SSL|TLS)/);
});
