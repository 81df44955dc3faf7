/** What the agent sends to the server of a provider, and what it does not. */
import { afterEach, expect, test, vi } from 'vitest';
import { openaiAgent } from '../../../src/agents/openai.ts';
import { accessTo, type ModelServer as Server } from '../../../src/core/model-server.ts';
import { handClock } from '../../support/clock.ts';
import { type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor, wellFormed } from '../contract.ts';
import { never } from './tell.ts';

afterEach(() => vi.unstubAllEnvs());

const env = { ACME_KEY: 'acme-0123456789', ACME_TEAM: 'team-0123456789' };

/** One call of a provider's server. */
async function asked(reactions: readonly Reaction[], more: Partial<Server>, variables: object = env) {
  await using http = await startModelServer(reactions, ['chat']);
  const server = {
    ...{ provider: 'acme', baseURL: http.url, api: 'chat' as const, keyVariable: 'ACME_KEY', headers: {} },
    ...more,
  };
  const access = accessTo(server, { ...variables });
  const agent = openaiAgent({ server, access, model: 'm', clock: handClock() });
  const report = wellFormed(await agent.work(taskFor(), never()));
  await http.idle();
  return { report, requests: http.requests, agent };
}

test('a provider is asked with its key and headers over its API, and gets nothing that is meant for OpenAI', async () => {
  vi.stubEnv('OPENAI_ORG_ID', 'org-secret');
  vi.stubEnv('OPENAI_PROJECT_ID', 'proj-secret');
  vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'X-Inner: inner-secret');
  const headers = { 'X-Team': 'a ${ACME_TEAM}', 'X-Plain': 'b' };
  const { report, requests, agent } = await asked([{ text: 'Hello' }], { headers });
  expect(report).toMatchObject({ kind: 'answered', text: 'Hello' });
  const [request] = requests;
  expect(request?.path).toBe('/v1/chat/completions');
  expect(request?.headers).toMatchObject({
    ...{ authorization: 'Bearer acme-0123456789', 'x-team': 'a team-0123456789', 'x-plain': 'b' },
  });
  expect(JSON.stringify(request?.headers)).not.toContain('-secret');
  expect(agent.describe).toMatch(/^openai m at http:\/\/127\.0\.0\.1:\d+\/v1 \(acme\)$/);
});

test('a server that asks for no key gets none', async () => {
  const { report, requests } = await asked([{ text: 'Hello' }], { keyVariable: undefined }, {});
  expect(report).toMatchObject({ kind: 'answered' });
  expect(requests[0]?.headers['authorization']).toBeUndefined();
});

test('a refused key is reported by the name of its variable, and values that the server repeats are masked', async () => {
  const message = `no: ${env.ACME_KEY} of ${env.ACME_TEAM}`;
  const headers = { 'X-Team': '${ACME_TEAM}' };
  const { report } = await asked([{ status: 401, body: { error: { message } } }], { headers });
  expect(report).toMatchObject({ class: 'config', reason: expect.stringContaining('set ACME_KEY to a key') });
  expect(JSON.stringify(report)).not.toMatch(/acme-0123|team-0123/);
});

test.for<[Partial<Server>, string]>([
  [{ keyVariable: undefined, headers: { 'X-Key': '${ACME_KEY}' } }, ': set ACME_KEY to a key that may use'],
  [{ keyVariable: undefined }, ': name the variable of its key in your factory.json'],
])('what a server of %j lacks is named where it refuses the key', async ([more, words]) => {
  const { report } = await asked([{ status: 401, body: { error: { message: 'no' } } }], more);
  expect(report).toMatchObject({ class: 'config', reason: expect.stringContaining(words) });
});

test.for<[string, Partial<Server>, object, RegExp]>([
  ['no key', {}, {}, /there is no key: set ACME_KEY/],
  ['an odd key', {}, { ACME_KEY: 'a b' }, /ACME_KEY has characters that no key has/],
  [
    'no value for a header',
    { headers: { 'X-Team': '${ACME_TEAM}' } },
    { ACME_KEY: 'k' },
    /X-Team .*set ACME_TEAM/,
  ],
  [
    'no value for a part of a header',
    { keyVariable: undefined, headers: { Authorization: 'Bearer ${ACME_TEAM}' } },
    {},
    /Authorization .*set ACME_TEAM/,
  ],
])('with %s nothing is sent', async ([, more, variables, words]) => {
  const { report, requests } = await asked([], more, variables);
  expect(report).toMatchObject({ kind: 'failed', class: 'config', reason: expect.stringMatching(words) });
  expect(requests).toEqual([]);
});
