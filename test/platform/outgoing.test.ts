/** Requests of factory itself and the proxies of the environment. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { realPost, realSend } from '../../src/platform/http.ts';
import { proxyFor, proxyProblem } from '../../src/platform/outgoing.ts';
import { taskFor } from '../agents/contract.ts';
import { agentAt, never, openaiAt } from '../agents/openai/tell.ts';
import { handClock } from '../support/clock.ts';
import { httpProxy } from '../support/http-proxy.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
beforeEach(() => {
  for (const name of names) for (const one of [name, name.toLowerCase()]) vi.stubEnv(one, undefined);
});
afterEach(() => vi.unstubAllEnvs());

/** A model server that only the proxy can find, by a name that does not exist. */
async function behind(reactions: readonly Reaction[], refuses?: number) {
  const server = await startModelServer(reactions);
  const proxy = await httpProxy(Number(new URL(server.url).port), refuses);
  return {
    ...{ server, proxy },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

test.for(['HTTP_PROXY', 'http_proxy'])('a model is asked through the proxy of %s', async (name) => {
  await using it = await behind([{ text: 'by proxy', reasoning: ['hm'] }]);
  vi.stubEnv(name, `http://user:hunter2@127.0.0.1:${it.proxy.port}`);
  const agent = agentAt(it.server, handClock(), { baseURL: 'http://model.invalid/v1' });
  expect(await agent.work(taskFor(), never())).toMatchObject({ kind: 'answered', text: 'by proxy' });
  expect(it.proxy.asked).toEqual(['POST http://model.invalid/v1/responses']);
  expect(it.proxy.headers[0]?.['proxy-authorization']).toBe(`Basic ${btoa('user:hunter2')}`);
  expect(it.server.requests).toHaveLength(1);
});

test('requests over TLS are tunnelled, and other ones of factory take the same way', async () => {
  await using it = await behind([]);
  vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${it.proxy.port}`);
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${it.proxy.port}`);
  const plain = { headers: {}, timeoutMs: 5000 };
  // What is behind it speaks no TLS: the tunnel is made, and the handshake fails.
  expect(await realPost({ ...plain, url: 'https://hook.invalid/a', body: '' })).toHaveProperty('unreachable');
  expect(await realPost({ ...plain, url: 'http://hook.invalid/a', body: '' })).toEqual({ status: 404 });
  const sent = await realSend({ ...plain, method: 'GET', url: 'http://api.invalid/b', mostBytes: 1000 });
  expect(sent).toMatchObject({ status: 404 });
  expect(it.proxy.asked).toEqual([
    'CONNECT hook.invalid:443',
    'POST http://hook.invalid/a',
    'GET http://api.invalid/b',
  ]);
});

test('this machine is always asked directly, and so are the exceptions of NO_PROXY', async () => {
  await using it = await behind([{ text: 'direct' }, { text: 'direct' }]);
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${it.proxy.port}`);
  for (const baseURL of [it.server.url, it.server.url.replace('127.0.0.1', 'localhost')]) {
    const report = await agentAt(it.server, handClock(), { baseURL }).work(taskFor(), never());
    expect(report).toMatchObject({ kind: 'answered', text: 'direct' });
  }
  vi.stubEnv('NO_PROXY', 'other.invalid,.inner.invalid');
  const got = await realPost({ url: 'http://a.inner.invalid/', headers: {}, body: '', timeoutMs: 5000 });
  expect(got).toHaveProperty('unreachable');
  expect(it.proxy.asked).toEqual([]);
});

test.for([
  ['http', 407, /cannot be reached: the proxy of HTTP_PROXY asks for another user or password/, 'auth'],
  ['https', 407, /cannot be reached: the proxy of HTTP_PROXY asks for another user or password/, 'auth'],
  ['http', 403, /403/, 'auth'],
  ['https', 403, /cannot be reached: the proxy of HTTP_PROXY refuses the way to this server/, 'auth'],
  ['https', 502, /cannot be reached: the proxy of HTTP_PROXY answers 502/, 'outage'],
] as const)(
  'a proxy that answers a request over %s by %i is reported, without its password',
  async ([protocol, status, reason, kind]) => {
    await using it = await behind([], status);
    vi.stubEnv('HTTP_PROXY', `http://user:hunter2@127.0.0.1:${it.proxy.port}`);
    const baseURL = `${protocol}://model.invalid/v1`;
    const agent = agentAt(it.server, handClock(), { baseURL, maxRetries: 0 });
    const report = await agent.work(taskFor(), never());
    expect(report).toMatchObject({ kind: 'failed', reason: expect.stringMatching(reason), park: { kind } });
    expect(JSON.stringify(report)).not.toContain('hunter2');
  },
);

test('a variable that is no proxy is named, without its text', async () => {
  vi.stubEnv('https_proxy', 'user:hunter2@host');
  const got = await realPost({ url: 'https://hook.invalid/', headers: {}, body: '', timeoutMs: 5000 });
  expect(got).toEqual({ unreachable: expect.stringMatching(/^https_proxy is no address of a proxy/) });
  const agent = openaiAt({ clock: handClock(), baseURL: 'https://model.invalid/v1' });
  const said = expect.stringMatching(/cannot be reached: https_proxy is no address of a proxy/);
  expect(await agent.work(taskFor(), never())).toMatchObject({ class: 'config', reason: said });
});

test.for([
  ['http://localhost:11434/v1', {}, undefined],
  ['http://a.localhost/', {}, undefined],
  ['http://127.9.9.9/', {}, undefined],
  ['http://[::1]:8000/v1', {}, undefined],
  ['http://127.0.0.1.example/', {}, 'HTTP_PROXY'],
  ['http://h/', {}, 'HTTP_PROXY'],
  ['https://h/', {}, 'https_proxy'],
  ['https://h/', { https_proxy: ' ' }, 'HTTP_PROXY'],
  ['http://h/', { HTTP_PROXY: undefined }, undefined],
] as const)('%s with %j goes through %s', ([url, more, name]) => {
  const env = { HTTP_PROXY: 'http://p:1', https_proxy: 'http://p:2', ...more };
  expect(proxyFor(url, env)).toBe(name);
  expect(proxyProblem(env)).toBeUndefined();
});
