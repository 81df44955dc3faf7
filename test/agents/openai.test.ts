import { type AddressInfo, createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { realClock } from '../../src/platform/clock.ts';
import { handClock } from '../support/clock.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';
import { keepsTheAgentContract, taskFor, wellFormed } from './contract.ts';
import { agentAt, apiKey, never, openaiAt, tell } from './openai/tell.ts';

keepsTheAgentContract('openai', async () => {
  const fine = await startModelServer(() => ({ text: 'all done' }));
  const refusing = await startModelServer(() => ({ status: 401 }));
  const silent = await startModelServer(() => ({ hang: true, text: 'first words' }));
  const servers = [fine, refusing, silent];
  return {
    agent: agentAt(fine),
    broken: { agent: agentAt(refusing) },
    endless: { agent: agentAt(silent), begun: () => silent.arrived(1) },
    async quiet() {
      for (const server of servers) await server.idle();
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.close();
    },
  };
});

test('a temperature is sent when one is given', async () => {
  const { requests } = await tell([{ text: 'a' }], { temperature: 0.5 });
  expect(requests[0]?.body?.['temperature']).toBe(0.5);
  expect((await tell([{ text: 'a' }])).requests[0]?.body).not.toHaveProperty('temperature');
});

test('the prompt is sent as a streamed request, and the answer comes back unchanged', async () => {
  const { report, requests, heard } = await tell([
    { text: 'Half a {"json": ', reasoning: ['let me', ' see'] },
  ]);
  expect(report).toEqual({
    kind: 'answered',
    text: 'Half a {"json": ',
    reasoning: 'let me see',
    usage: { model: 'gpt-test', input_tokens: 11, output_tokens: 7, cost_usd: null },
  });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ method: 'POST', path: '/v1/responses' });
  expect(requests[0]?.headers['authorization']).toBe(`Bearer ${apiKey}`);
  expect(requests[0]?.body).toEqual({
    model: 'gpt-test',
    input: 'do it',
    stream: true,
    max_output_tokens: 64_000,
  });
  expect(heard.slice(0, 2)).toEqual(['reasoning:let me', 'reasoning: see']);
  expect(heard.slice(2).map((h) => h.replace('answer:', ''))).toHaveLength(3);
  expect(
    heard
      .slice(2)
      .map((h) => h.replace('answer:', ''))
      .join(''),
  ).toBe('Half a {"json": ');
});

test.for(['responses', 'chat'] as const)('impossible token counts are unknown ones: %s', async (api) => {
  const usage = { input_tokens: -1, output_tokens: 1e300 };
  await using server = await startModelServer([{ text: 'ok', usage }], [api]);
  const task = taskFor({ attributes: { 'openai.api': api } });
  const report = wellFormed(await agentAt(server).work(task, never()));
  expect(report).toMatchObject({ kind: 'answered', text: 'ok' });
  expect(report).toHaveProperty('usage.input_tokens', null);
  expect(report).toHaveProperty('usage.output_tokens', null);
});

test('model and effort of the node win over those of the agent', async () => {
  const { requests } = await tell(
    [{ text: 'ok' }],
    { effort: 'low' },
    { attributes: { llm_model: 'gpt-node', reasoning_effort: 'high' } },
  );
  expect(requests[0]?.body).toMatchObject({
    model: 'gpt-node',
    reasoning: { effort: 'high', summary: 'auto' },
  });
  const plain = await tell([{ text: 'ok' }], { effort: 'low' }, { attributes: { llm_model: ' ' } });
  expect(plain.requests[0]?.body).toMatchObject({
    model: 'gpt-test',
    reasoning: { effort: 'low', summary: 'auto' },
  });
});

test('a schema is sent under a name that the API takes', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const { requests } = await tell(
    [{ json: { a: 'x' } }],
    {},
    { schema: { name: '@schemas/my plan.json', schema } },
  );
  expect(requests[0]?.body?.['text']).toEqual({
    format: { type: 'json_schema', name: '_schemas_my_plan_json', schema, strict: false },
  });
});

test('the agent says which model answers where, without what a URL may hide', async () => {
  const clock = handClock();
  expect(openaiAt({ model: 'm', clock }).describe).toBe('openai m at https://api.openai.com/v1');
  const odd = openaiAt({ model: 'm', clock, baseURL: `http://u:secret@h:1/v1/?k=${apiKey}` });
  expect(odd.describe).toBe('openai m at http://h:1/v1');
});

test('values in the query of the base URL are masked in messages', async () => {
  // It has no such path, and answers with it.
  await using server = await startModelServer([], []);
  const baseURL = `${server.url}?api-key=hunter2%2Fhunter2&conversion=hunter2hunter2&api-version=2025-01-01`;
  const report = wellFormed(await agentAt(server, handClock(), { baseURL }).work(taskFor(), never()));
  expect(server.requests[0]?.path).toBe(
    '/v1/responses?api-key=hunter2%2Fhunter2&conversion=hunter2hunter2&api-version=2025-01-01',
  );
  expect(report).toMatchObject({
    reason: expect.stringContaining('api-key=***&conversion=***&api-version=2025-01-01'),
  });
  expect(JSON.stringify(report)).not.toContain('hunter2');
});

const busy: Reaction = { status: 503, body: { error: { message: 'overloaded' } } };

test.for([
  [
    401,
    { error: { message: `bad key ${apiKey}`, code: 'invalid_api_key' } },
    'config',
    1,
    /key was refused.*bad key \*\*\*.*set OPENAI_API_KEY/,
  ],
  [403, { error: { message: 'not for you' } }, 'config', 1, /key was refused.*not for you/],
  [
    404,
    { error: { message: 'no such model', code: 'model_not_found' } },
    'config',
    1,
    /model "gpt-test" was not found at http:\/\/127\.0\.0\.1/,
  ],
  // It may have chat completions.
  [404, { detail: 'Not Found' }, 'config', 2, /was not found .*\(404 \{"detail":"Not Found"\}\)/],
  [400, { error: { message: 'input too long' } }, 'config', 1, /does not accept the request.*input too long/],
  // As vLLM tells it, and Gemini.
  [400, { object: 'error', message: 'too long', code: 400 }, 'config', 1, /does not accept .*too long/],
  [
    429,
    [{ error: { code: 429, message: 'all used', status: 'EXHAUSTED' } }],
    'infra',
    3,
    /too many.*all used/,
  ],
  [422, {}, 'config', 1, /422/],
  [
    429,
    { error: { message: 'slow down', code: 'rate_limit_exceeded' } },
    'infra',
    3,
    /too many requests.*slow down/,
  ],
  [429, { error: { message: 'empty', code: 'insufficient_quota' } }, 'infra', 1, /quota.*empty/],
  [429, { error: { message: 'empty', type: 'insufficient_quota' } }, 'infra', 1, /quota.*empty/],
  [408, {}, 'infra', 3, /408/],
  [425, {}, 'infra', 3, /425/],
  [409, {}, 'infra', 3, /409/],
  [500, {}, 'infra', 3, /500/],
  [502, '<html>Bad\n\n gateway</html>', 'infra', 3, /in trouble \(502 a web page, "Bad gateway"\)/],
  [503, {}, 'infra', 3, /503/],
  [504, {}, 'infra', 3, /504/],
] as const)(
  'status %i has its class, retries and reason: %j',
  async ([status, body, failureClass, tries, words]) => {
    const { report, requests } = await tell(new Array<Reaction>(5).fill({ status, body }));
    expect(report).toMatchObject({ kind: 'failed', class: failureClass, model: 'api' });
    expect(report.kind === 'failed' && report.reason).toMatch(words);
    expect(requests).toHaveLength(tries);
  },
);

const inSevenSeconds = Date.UTC(2026, 0, 1) + 7000;

test.for([
  [401, {}, 'no', { kind: 'auth' }],
  [403, {}, 'no', { kind: 'auth' }],
  [402, {}, 'no', { kind: 'billing' }],
  [429, {}, 'no', { kind: 'quota', unsaid: true }],
  [429, { 'retry-after': '7' }, 'no', { kind: 'quota', wakeAtMs: inSevenSeconds }],
  [429, { 'retry-after': '7' }, 'insufficient_quota', { kind: 'billing' }],
  [429, {}, 'billing_not_active', { kind: 'billing' }],
  [400, {}, 'billing_hard_limit_reached', { kind: 'billing' }],
  [404, {}, 'no', undefined],
  [500, { 'retry-after': '7' }, 'no', undefined],
  ...([408, 425, 502, 503, 504, 529] as const).map(
    (status) => [status, {}, 'no', { kind: 'outage' }] as const,
  ),
] as const)(
  'a refused key, a missing payment and a quota can suspend the run, and cost nothing: %j',
  async ([status, headers, code, park]) => {
    const error = { message: 'x'.repeat(1000), code };
    const { report } = await tell([{ status, headers, body: { error } }], { maxRetries: 0 });
    expect(report).toMatchObject({ kind: 'failed', unbilled: true, ...(park === undefined ? {} : { park }) });
    expect('park' in report).toBe(park !== undefined);
    // Of words without end the first 500 characters are enough.
    expect(report.kind === 'failed' && report.reason).toMatch(/ x{490,500}…/);
  },
);

const failing = (code: string, message: string): Reaction => ({ failed: { code, message } });

test.for<Reaction>([
  { status: 429, body: { error: { message: 'Rate limit reached. Please try again in 0m7.5s. Visit x.' } } },
  failing('rate_limit_exceeded', 'Rate limit reached. Please try again in 0m7.5s. Visit x.'),
  failing('rate_limit_exceeded', 'The call rate limit is exceeded. Please retry after 7.5 seconds. Go to x.'),
])('a wait named only in the message is kept and reported: %j', async (limit) => {
  const { waits } = await tell([limit, { text: 'ok' }]);
  expect(waits).toEqual([7500]);
  const { report } = await tell([limit], { maxRetries: 0 });
  const wakeAtMs = Date.UTC(2026, 0, 1) + 7500;
  expect(report).toMatchObject({ retryAfterMs: 7500, park: { kind: 'quota', wakeAtMs } });
});

test('a wait that is longer than the run waits for is reported at once', async () => {
  const limits = [7, 8].map((wait): Reaction => ({ status: 429, headers: { 'retry-after': `${wait}` } }));
  const { report, requests, waits } = await tell([...limits, { text: 'ok' }], {}, { park_after: 7000 });
  expect([waits, requests.length]).toEqual([[7000], 2]);
  expect(report).toMatchObject({ kind: 'failed', retryAfterMs: 8000, park: { kind: 'quota' } });
});

test.for(['overloaded_error', 'overloaded', 'engine_overloaded', 'slow_down'])(
  'a server that says "%s" in its answer is asked again',
  async (code) => {
    const { report } = await tell([failing(code, 'later'), { text: 'at last' }]);
    expect(report).toMatchObject({ kind: 'answered', text: 'at last' });
  },
);

test('a temporary failure is retried with growing waits', async () => {
  const { report, requests, waits } = await tell([busy, busy, { text: 'at last' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'at last' });
  expect(requests).toHaveLength(3);
  expect(waits).toEqual([500, 1000]);
});

test.for([
  [{ 'retry-after': '7' }, 7000],
  [{ 'retry-after-ms': '120' }, 120],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT', date: 'soon' }, 9000],
  [{ 'retry-after': 'Wed, 01 Jan 2020 00:00:09 GMT', date: 'Wed, 01 Jan 2020 00:00:00 GMT' }, 9000],
  [{ 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT', date: '' }, 0],
  [{ 'retry-after': 'soon' }, 500],
  [{ 'x-ratelimit-reset-requests': '2s', 'x-ratelimit-reset-tokens': '0m7.5s' }, 7_500],
  [{ 'retry-after': '-5' }, 0],
  [{ 'retry-after-ms': '', 'retry-after': '' }, 500],
] as const)('the wait that the server asks for is kept: %j', async ([headers, wait]) => {
  const { report, waits } = await tell([{ status: 429, headers }, { text: 'ok' }]);
  expect(report.kind).toBe('answered');
  expect(waits).toEqual([wait]);
});

test('a server that wants a longer wait than a call may take is reported at once, with its wait', async () => {
  const { report, requests, waits } = await tell([{ status: 429, headers: { 'retry-after': '3600' } }]);
  expect(report).toMatchObject({ kind: 'failed', class: 'infra', model: 'api', retryAfterMs: 3_600_000 });
  expect(requests).toHaveLength(1);
  expect(waits).toEqual([]);
});

test('x-should-retry=false prevents retries', async () => {
  const { requests } = await tell([{ ...busy, headers: { 'x-should-retry': 'false' } }]);
  expect(requests).toHaveLength(1);
});

test.for<[string, Reaction]>([
  ['failed by the server', { failed: { code: 'server_error', message: 'boom' } }],
  ['failed for its rate', { failed: { message: 'Rate limit reached' } }],
  ['broken off by an error event', { events: [{ type: 'error', code: 'server_error', message: 'boom' }] }],
  ['broken off by a wrapped error', { events: [{ error: { message: 'boom', type: 'server_error' } }] }],
])('an answer that is %s is asked for again, and is infra when it stays so', async ([, reaction]) => {
  const mended = await tell([reaction, reaction, { text: 'whole' }]);
  expect(mended.report).toMatchObject({ kind: 'answered', text: 'whole' });
  const { report, requests } = await tell([reaction, reaction, reaction, { text: 'too late' }]);
  expect(report).toMatchObject({ kind: 'failed', class: 'infra', model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(/\(after 3 tries\)$/);
  expect(requests).toHaveLength(3);
});

test('what had arrived of a broken answer is in the report', async () => {
  const { report } = await tell([{ cutAfter: 2, clean: true, text: 'one two three' }, busy], {
    maxRetries: 0,
  });
  expect(report).toMatchObject({ kind: 'failed', response: 'one two ' });
});

test('an unreachable server is infra and names the address', async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const address = closed.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await new Promise((resolve) => closed.close(resolve));
  const clock = handClock();
  const agent = openaiAt({ model: 'm', clock, baseURL: `http://127.0.0.1:${port}/v1` });
  const report = wellFormed(await agent.work(taskFor(), never()));
  expect(report).toMatchObject({ kind: 'failed', class: 'infra', model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(
    /127\.0\.0\.1:\d+\/v1 cannot be reached: .*ECONNREFUSED/,
  );
  expect(report).toMatchObject({ park: { kind: 'outage' }, unbilled: true });
  expect(clock.waits).toHaveLength(2);
});

test('an address that no server can have is no outage', async () => {
  const clock = handClock();
  const agent = openaiAt({ model: 'm', clock, baseURL: 'http://127.0.0.1:9/v1' });
  const report = wellFormed(await agent.work(taskFor(), never()));
  expect(report).toMatchObject({ class: 'infra', reason: expect.stringContaining('bad port') });
  expect(report).not.toHaveProperty('park');
});

test.for([
  ['', 'set OPENAI_API_KEY'],
  ['  ', 'set OPENAI_API_KEY'],
  ['sk-a\nb', 'characters that no key has'],
  ['sk-\u00fcber', 'characters that no key has'],
])('an invalid key (%j) is reported without its value', async ([key = '', words = '']) => {
  await using server = await startModelServer([]);
  const report = wellFormed(await agentAt(server, handClock(), { apiKey: key }).work(taskFor(), never()));
  expect(report).toMatchObject({ kind: 'failed', class: 'config', reason: expect.stringContaining(words) });
  if (key.trim() !== '') expect(JSON.stringify(report)).not.toContain(key);
  expect(server.requests).toEqual([]);
});

test('an answer that does not fit gets one more try with the most room there is, and both are counted', async () => {
  const { report, requests } = await tell([{ incomplete: true, text: 'half' }, { text: 'the whole' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'the whole' });
  expect(report).toMatchObject({ usage: { input_tokens: 22, output_tokens: 14, cost_usd: null } });
  expect(requests.map((r) => r.body?.['max_output_tokens'])).toEqual([64_000, 65_000]);
});

test('an answer that never fits is a failure, and both halves are kept', async () => {
  const { report, requests } = await tell([
    { incomplete: true },
    { incomplete: true, text: 'half' },
    { text: 'no' },
  ]);
  expect(report).toMatchObject({ kind: 'failed', class: 'agent', model: 'api', response: 'half' });
  expect(artifactsOf(report)).toEqual([
    'raw_response_incomplete_attempt_0.json',
    'raw_response_incomplete_attempt_1.json',
  ]);
  expect(report.kind === 'failed' && report.reason).toContain('does not fit into 65000 tokens');
  expect(requests).toHaveLength(2);
});

test('a model that refuses the larger budget is reported for the answer that did not fit', async () => {
  const { report } = await tell([
    { incomplete: true },
    { status: 400, body: { error: { message: 'at most 64500' } } },
  ]);
  expect(report).toMatchObject({ kind: 'failed', class: 'agent', model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(
    /does not fit into 64000 tokens.*65000.*at most 64500/,
  );
});

const ending = (status: string, more: object = {}): Reaction => ({
  events: [{ type: `response.completed`, response: { id: 'r', status, output: [], ...more } }],
});

test.for<[string, Reaction, string, string, RegExp]>([
  ['a refusal', { refusal: 'I cannot help' }, 'agent', 'no_text_attempt', /refused: I cannot help/],
  ['an empty answer', { text: '' }, 'agent', 'no_text_attempt', /answered nothing/],
  ['a blank answer', { text: ' \n ' }, 'agent', 'no_text_attempt', /answered nothing/],
  ['an answer without output', ending('completed'), 'agent', 'no_text_attempt', /completed and has no text/],
  [
    'a filtered answer',
    { incomplete: true, reason: 'content_filter' },
    'agent',
    'incomplete_attempt',
    /incomplete: content_filter/,
  ],
  [
    'an incomplete answer without a reason',
    ending('incomplete'),
    'agent',
    'incomplete_attempt',
    /incomplete: no reason given/,
  ],
  [
    'a failure without a code',
    { failed: { message: 'boom' } },
    'agent',
    'unexpected_status',
    /as failed: boom/,
  ],
  ['a failure without a word', ending('failed'), 'agent', 'unexpected_status', /as failed: no reason given/],
  ['a used up quota', failing('insufficient_quota', 'empty'), 'infra', 'unexpected_status', /quota.*billing/],
  ['a wrong key', failing('invalid_api_key', 'no'), 'config', 'unexpected_status', /set OPENAI_API_KEY/],
  [
    'an unknown model',
    failing('model_not_found', 'no'),
    'config',
    'unexpected_status',
    /was not found.*--model/,
  ],
  [
    'a prompt that is not answered',
    failing('invalid_prompt', 'not this'),
    'config',
    'unexpected_status',
    /does not answer this prompt \(invalid_prompt\): not this/,
  ],
  ['a cancelled answer', ending('cancelled'), 'agent', 'unexpected_status', /was cancelled at http/],
  [
    'an error in mere words',
    { events: [{ error: 'no such model' }] },
    'agent',
    '',
    /as failed: "no such model"/,
  ],
  [
    'an unknown status',
    ending('asleep'),
    'agent',
    'unexpected_status',
    /status "asleep", which is no final one/,
  ],
])('%s is reported in words, asked for once, and kept as sent', async ([, reaction, kind, what, words]) => {
  const { report, requests } = await tell([reaction]);
  expect(report).toMatchObject({ kind: 'failed', class: kind, model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(words);
  expect(requests).toHaveLength(1);
  expect(artifactsOf(report)).toEqual(what === '' ? [] : [`raw_response_${what}_0.json`]);
});

test('an unusable response is kept as an artifact, without the key', async () => {
  const response = {
    id: 'r',
    status: 'failed',
    error: { message: `bad ${apiKey}` },
    odd: [1, { two: null }],
  };
  const { report } = await tell([{ events: [{ type: 'response.failed', response }] }]);
  const content = report.kind === 'failed' ? (report.artifacts?.[0]?.content ?? '') : '';
  expect(JSON.parse(content)).toEqual({ ...response, error: { message: 'bad ***' } });
});

test.for([
  ['in pieces', false],
  ['in one event', true],
] as const)('an answer that is too large is not read to its end: %s', async ([, inOneEvent]) => {
  const { report, requests } = await tell([{ huge: 5_000_000, inOneEvent }], { maxAnswerBytes: 1024 * 1024 });
  expect(report).toMatchObject({
    kind: 'failed',
    class: 'agent',
    model: 'output',
    reason: 'the answer is larger than 1 MiB',
  });
  expect(requests).toHaveLength(1);
});

test('an event without an end is a failure', async () => {
  const { report } = await tell([{ events: [`data: ${'x'.repeat(2_000_000)}`] }], { maxAnswerBytes: 1000 });
  expect(report).toMatchObject({ kind: 'failed', class: 'agent', model: 'output' });
});

test.for(['responses', 'chat'])(
  'a body that is not compressed as it claims ends at the timeout: %s',
  async (api) => {
    const body = 'data: {}\n\n';
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close';
    const server = createServer((socket) => {
      socket.once('data', () => socket.end(`${head}\r\n\r\n${body}`));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
    const baseURL = `http://127.0.0.1:${port}/v1`;
    const agent = openaiAt({ baseURL, model: 'gpt-test', clock: realClock });
    const report = await agent.work(taskFor({ timeoutMs: 300, attributes: { 'openai.api': api } }), never());
    expect(report).toMatchObject({ kind: 'failed', class: 'timeout' });
    server.close();
  },
);

test('a silent server is a timeout after the idle time', async () => {
  await using server = await startModelServer([{ hang: true, text: 'first words' }]);
  const clock = handClock();
  const words: string[] = [];
  let heard = () => {};
  const first = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const onText = (text: string) => {
    words.push(text);
    heard();
  };
  const work = agentAt(server, clock, { idleMs: 200_000 }).work(taskFor({ onText }), never());
  await clock.waiting(1);
  clock.advance(100_000);
  await first;
  // A piece came at 100 s, so 200 s is no time of silence yet.
  clock.advance(100_000);
  await clock.waiting(1);
  clock.advance(100_000);
  const report = wellFormed(await work);
  expect(report).toMatchObject({ kind: 'failed', class: 'timeout', model: 'api', response: 'first ' });
  expect(report.kind === 'failed' && report.reason).toMatch(/was silent for 200 s/);
  await server.idle();
});

test.for<[string, Reaction]>([
  ['never answers', { hang: true }],
  ['stops in the middle', { hang: true, text: 'first words' }],
])('the timeout of the node ends a call to a server that %s', async ([, reaction]) => {
  await using server = await startModelServer([reaction]);
  const clock = handClock();
  const work = agentAt(server, clock).work(taskFor({ timeoutMs: 90_000 }), never());
  await Promise.all([server.arrived(1), clock.waiting(2)]);
  clock.advance(90_000);
  const report = wellFormed(await work);
  expect(report).toMatchObject({ kind: 'failed', class: 'timeout', model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(/within 90 s/);
  await server.idle();
});

test('a call that is stopped while it waits for its next try does not try again', async () => {
  await using server = await startModelServer([
    { status: 429, headers: { 'retry-after': '30' } },
    { text: 'no' },
  ]);
  const clock = handClock(0);
  const stop = new AbortController();
  const work = agentAt(server, clock, { idleMs: 1_000 }).work(taskFor(), stop.signal);
  await server.arrived(1);
  await server.idle();
  await clock.waiting(1);
  stop.abort();
  expect(await work).toEqual({ kind: 'cancelled' });
  expect(server.requests).toHaveLength(1);
});

test('a call that is stopped before the server says anything is cancelled', async () => {
  await using server = await startModelServer([{ hang: true }]);
  const stop = new AbortController();
  const work = agentAt(server).work(taskFor(), stop.signal);
  await server.arrived(1);
  stop.abort();
  expect(await work).toEqual({ kind: 'cancelled' });
  await server.idle();
});

const artifactsOf = (report: AgentReport): readonly string[] =>
  'artifacts' in report ? (report.artifacts ?? []).map(({ name }) => name) : [];

const completed = (text: string, more: object = {}) => ({
  type: 'response.completed',
  response: {
    id: 'r',
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
    ...more,
  },
});

test('comments, names and values that are no events are ignored', async () => {
  const known = 'data: {"type":"response.in_progress","error":""}';
  const events = [': comment', '', 'event: x', 'data: 7', '', known, '', completed('fine')];
  const { report } = await tell([{ events: [...events, 'data: [DONE]', ''] }]);
  expect(report).toEqual({ kind: 'answered', text: 'fine' });
});

test('the last event may lack its empty line', async () => {
  const { report } = await tell([{ events: [`data:${JSON.stringify(completed('fine'))}\r`] }]);
  expect(report).toEqual({ kind: 'answered', text: 'fine' });
});

test('a server that does not stream is understood', async () => {
  const { report } = await tell([{ status: 200, body: completed('whole').response }]);
  expect(report).toEqual({ kind: 'answered', text: 'whole' });
});

test('only messages of the phase final_answer count, if there are any', async () => {
  const message = (phase: string, text: string) => ({
    type: 'message',
    phase,
    content: [{ type: 'output_text', text }],
  });
  const output = [
    { type: 'reasoning', summary: [] },
    message('commentary', 'hm'),
    message('final_answer', '{}'),
  ];
  const { report } = await tell([{ events: [completed('', { output })] }]);
  expect(report).toEqual({ kind: 'answered', text: '{}' });
});

test('the reasoning comes in paragraphs, live and at the end', async () => {
  const delta = (text: string) => ({ type: 'response.reasoning_summary_text.delta', delta: text });
  const done = { type: 'response.reasoning_summary_text.done' };
  const summary = [' step one ', 'step two'].map((text) => ({ type: 'summary_text', text }));
  const other = { type: 'other_text', text: 'of no concern' };
  const output = (more: object) => [
    { type: 'reasoning', ...more },
    { type: 'message', content: [{ type: 'output_text', text: 'fine' }] },
  ];
  const events = (more: object) => [
    delta('step'),
    delta(' 1'),
    done,
    { type: 'response.reasoning_summary_part.done' },
    delta('step 2'),
    completed('', { output: output(more) }),
  ];
  const told = await tell([{ events: events({ summary: [...summary, other] }) }]);
  expect(told.report).toEqual({ kind: 'answered', text: 'fine', reasoning: 'step one\n\nstep two' });
  expect(told.heard).toEqual(['reasoning:step', 'reasoning: 1', 'reasoning:\n\nstep 2']);
  const bare = await tell([{ events: events({ summary: [] }) }]);
  expect(bare.report).toMatchObject({ reasoning: 'step 1\n\nstep 2' });
  const content = [{ type: 'reasoning_text', text: 'all of it' }];
  const open = await tell([{ events: events({ summary: null, content }) }]);
  expect(open.report).toMatchObject({ reasoning: 'all of it' });
});

test('the time limits of fetch do not apply', async () => {
  await using server = await startModelServer([{ text: 'ok' }]);
  await fetch('data:,').then((loaded) => loaded.text());
  const dispatcher: { dispatch(options: object, handler: unknown): boolean } = Reflect.get(
    globalThis,
    Symbol.for('undici.globalDispatcher.1'),
  );
  const dispatch = vi.spyOn(dispatcher, 'dispatch');
  try {
    await agentAt(server).work(taskFor(), never());
    expect(dispatch.mock.calls.map(([options]) => options)).toMatchObject([
      { headersTimeout: 0, bodyTimeout: 0 },
    ]);
  } finally {
    dispatch.mockRestore();
  }
});

test.for([
  [{ status: 429, headers: { 'retry-after': '7' } }, 'rate_limit', 7000],
  [{ status: 500 }, 'retry', undefined],
] as const)('a call that waits for its next try says so: %j', async ([reaction, cause, delayMs]) => {
  const waits: unknown[] = [];
  const { report } = await tell(
    [{ body: { error: { message: 'busy' } }, ...reaction }, { text: 'ok' }],
    {},
    {
      waits: (wait) => waits.push(wait),
    },
  );
  expect(report).toMatchObject({ kind: 'answered' });
  expect(waits).toEqual([
    {
      attempt: 2,
      of: 3,
      cause,
      reason: expect.stringContaining('busy'),
      delayMs: delayMs ?? expect.any(Number),
      ...(cause === 'rate_limit' ? { resetMs: expect.any(Number) } : {}),
    },
  ]);
});
