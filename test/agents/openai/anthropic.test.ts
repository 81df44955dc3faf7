/** The agent over the Messages API, Anthropic's own. */
import { afterEach, expect, test, vi } from 'vitest';
import { type OpenaiOptions, openaiAgent } from '../../../src/agents/openai.ts';
import { bundledPrices, costOf } from '../../../src/core/budget/prices.ts';
import type { AgentThread } from '../../../src/core/contracts/agent.ts';
import { accessTo, type ModelServer as Provider } from '../../../src/core/model-server.ts';
import { handClock } from '../../support/clock.ts';
import { type ModelServer, type Reaction, startModelServer } from '../../support/model-server.ts';
import { keepsTheAgentContract, type TaskText, taskFor, wellFormed } from '../contract.ts';
import { programTask } from '../program-task.ts';
import { never } from './tell.ts';

const key = 'sk-ant-0123456789abcdef';

afterEach(() => vi.unstubAllEnvs());

function agentAt(
  http: ModelServer,
  { provider, clock = handClock(), ...more }: Partial<OpenaiOptions> & { provider?: Partial<Provider> } = {},
) {
  const server: Provider = {
    ...{ provider: 'anthropic', baseURL: http.url.replace('/v1', ''), api: 'anthropic' },
    ...{ keyVariable: 'ANTHROPIC_API_KEY', headers: {}, ...provider },
  };
  const access = accessTo(server, { ANTHROPIC_API_KEY: key });
  return openaiAgent({ server, access, model: 'claude-haiku-4-5', clock, ...more });
}

/** One call against these reactions. */
async function tell(
  reactions: Parameters<typeof startModelServer>[0],
  options: Parameters<typeof agentAt>[1] = {},
  task: TaskText = {},
) {
  await using server = await startModelServer(reactions, ['anthropic']);
  const clock = handClock();
  const heard: string[] = [];
  const warnings: string[] = [];
  const onText = (text: string, channel: string) => heard.push(`${channel}:${text}`);
  const log = (level: string, message: string) => void (level === 'warn' && warnings.push(message));
  const agent = agentAt(server, { ...options, clock });
  const report = wellFormed(await agent.work(taskFor({ onText, log, ...task }), never()));
  await server.idle();
  expect(JSON.stringify(report)).not.toContain(key);
  const bodies = server.requests.map(({ body = {} }) => body);
  return { report, requests: server.requests, bodies, heard, warnings, waits: clock.waits };
}

keepsTheAgentContract('openai', async () => {
  const start = (reaction: () => Reaction) => startModelServer(reaction, ['anthropic']);
  const fine = await start(() => ({ text: 'all done' }));
  const refusing = await start(() => ({ status: 401 }));
  const silent = await start(() => ({ hang: true, text: 'first words' }));
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

test('a prompt is one streamed request with the key in x-api-key, and the answer comes back unchanged', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'another-key');
  vi.stubEnv('ANTHROPIC_AUTH_TOKEN', 'another-token');
  const { report, requests, heard } = await tell([
    { text: 'Half a {"json": ', reasoning: ['let me', ' see'] },
  ]);
  expect(report).toEqual({
    kind: 'answered',
    text: 'Half a {"json": ',
    reasoning: 'let me see',
    usage: { model: 'claude-haiku-4-5', input_tokens: 11, output_tokens: 7, cost_usd: null },
  });
  const [request, ...others] = requests;
  expect(others).toEqual([]);
  expect(request).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(request?.headers).toMatchObject({ 'x-api-key': key, 'anthropic-version': '2023-06-01' });
  expect(request?.headers).not.toHaveProperty('authorization');
  expect(request?.body).toEqual({
    model: 'claude-haiku-4-5',
    max_tokens: 64_000,
    stream: true,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'do it' }] }],
  });
  expect(heard.slice(0, 2)).toEqual(['reasoning:let me', 'reasoning: see']);
  expect(heard.length).toBeGreaterThan(3);
});

test('another server of the API gets its own headers and none that are meant for Anthropic, at any spelling of its address', async () => {
  vi.stubEnv('ANTHROPIC_CUSTOM_HEADERS', 'X-Inner: inner-secret');
  await using http = await startModelServer(() => ({ text: 'fine' }), ['anthropic']);
  for (const baseURL of [http.url, `${http.url}/`, http.url.replace('/v1', '/?a=b')]) {
    const provider = {
      provider: 'acme',
      baseURL,
      keyVariable: undefined,
      headers: { Authorization: 'Bearer t' },
    };
    const report = await agentAt(http, { provider }).work(taskFor(), never());
    expect(report).toMatchObject({ kind: 'answered' });
  }
  expect(http.requests.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages', '/v1/messages?a=b']);
  expect(http.requests[0]?.headers).toMatchObject({ authorization: 'Bearer t' });
  expect(http.requests[0]?.headers).not.toHaveProperty('x-api-key');
  expect(JSON.stringify(http.requests)).not.toContain('inner-secret');
});

const start = (usage: object) => ({
  type: 'message_start',
  message: { type: 'message', role: 'assistant', model: 'claude-haiku-4-5-20251001', content: [], usage },
});
const words = (text: string) => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
];
const end = (stop_reason: string, usage: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage,
});

test('what was read from the cache and written to it is counted, and has its price', async () => {
  const input = { input_tokens: 100, cache_creation_input_tokens: 2000, cache_read_input_tokens: 30_000 };
  const output = { output_tokens: 400, output_tokens_details: { thinking_tokens: 300 } };
  const events = [start({ ...input, output_tokens: 1 }), ...words('fine'), end('end_turn', output)];
  const { report } = await tell([{ events }]);
  const usage = {
    ...{ model: 'claude-haiku-4-5-20251001', input_tokens: 32_100, output_tokens: 400, cost_usd: null },
    ...{ cached_input_tokens: 30_000, cache_write_tokens: 2000, reasoning_tokens: 300 },
  };
  expect(report).toMatchObject({ kind: 'answered', text: 'fine', usage });
  // Per million: input 1, written 1.25, read 0.1, output 5.
  expect(costOf(usage, bundledPrices)).toBeCloseTo((100 + 2000 * 1.25 + 30_000 * 0.1 + 400 * 5) / 1e6, 10);
});

const schema = {
  type: 'object',
  properties: { a: { type: 'integer', minimum: 3 } },
  required: ['a'],
};

test('a schema is sent as the API takes it, with the rest of its rules in words', async () => {
  const { bodies } = await tell([{ json: { a: 5 } }], {}, { schema: { name: 'plan', schema } });
  expect(bodies[0]?.['output_config']).toEqual({
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { a: { type: 'integer', description: expect.stringContaining('minimum: 3') } },
        required: ['a'],
        additionalProperties: false,
      },
    },
  });
});

test.for([
  ['none', undefined, { type: 'disabled' }],
  ['minimal', { effort: 'low' }, { type: 'adaptive', display: 'summarized' }],
  ['xhigh', { effort: 'xhigh' }, { type: 'adaptive', display: 'summarized' }],
] as const)('the effort %s is sent as %j', async ([reasoning_effort, config, thinking]) => {
  const { bodies } = await tell([{ text: 'ok' }], {}, { attributes: { reasoning_effort } });
  expect(bodies[0]?.['output_config']).toEqual(config);
  expect(bodies[0]?.['thinking']).toEqual(thinking);
});

const refused = (message: string, type = 'invalid_request_error') => ({
  type: 'error',
  error: { type, message },
});

test.for([
  ['thinking', 'adaptive thinking is not supported on this model', []],
  ['output_config', 'This model does not support the effort parameter.', [/effort/]],
  ['output_config', 'output_config: Extra inputs are not permitted', [/a schema/, /effort/]],
  ['temperature', '`temperature` may only be set to 1 when thinking is enabled', [/a temperature/]],
] as const)('a refused %s is left out: %s', async ([field, message, lost]) => {
  const { report, bodies, warnings } = await tell(
    ({ body = {} }) => {
      const value = body[field] as { effort?: unknown } | undefined;
      const isSent = /effort parameter/.test(message) ? value?.effort !== undefined : value !== undefined;
      return isSent ? { status: 400, body: refused(message) } : { text: '{}' };
    },
    { temperature: 0.5 },
    { attributes: { reasoning_effort: 'high' }, schema: { name: 'plan', schema } },
  );
  expect(report).toMatchObject({ kind: 'answered' });
  expect(bodies).toHaveLength(Math.max(2, lost.length + 1));
  expect(warnings).toEqual(lost.map((one) => expect.stringMatching(one)));
});

test.for<[number, Reaction, string, object | undefined, RegExp]>([
  [
    1,
    { status: 401, body: refused('invalid x-api-key', 'authentication_error') },
    'config',
    { kind: 'auth' },
    /set ANTHROPIC_API_KEY to a key/,
  ],
  [
    1,
    { status: 403, body: refused('not yours', 'permission_error') },
    'config',
    { kind: 'auth' },
    /not yours/,
  ],
  [
    1,
    { status: 404, body: refused('model: claude-x', 'not_found_error') },
    'config',
    undefined,
    /model "claude-haiku-4-5" was not found .*base_url/,
  ],
  [
    1,
    { status: 400, body: refused('messages: at least one') },
    'config',
    undefined,
    /does not accept the request for .*\(?400 messages: at least one/,
  ],
  [
    1,
    { status: 400, body: refused('Your credit balance is too low to access the API') },
    'infra',
    { kind: 'billing' },
    /quota of the key/,
  ],
  [
    1,
    { status: 413, body: refused('Request exceeds the maximum size', 'request_too_large') },
    'config',
    undefined,
    /maximum size/,
  ],
  [
    3,
    { status: 429, body: refused('slow down', 'rate_limit_error'), headers: { 'retry-after': '7' } },
    'infra',
    { kind: 'quota' },
    /too many requests .*slow down/,
  ],
  [
    3,
    { status: 529, body: refused('Overloaded', 'overloaded_error') },
    'infra',
    { kind: 'outage' },
    /in trouble \(529 Overloaded\)/,
  ],
  [3, { status: 500, body: refused('oops', 'api_error') }, 'infra', undefined, /in trouble \(500 oops\)/],
  [
    3,
    { status: 200, body: '<html><title>Sign in</title></html>', headers: { 'content-type': 'text/html' } },
    'infra',
    { kind: 'outage' },
    /a web page, "Sign in"/,
  ],
  [1, { status: 200, body: { choices: [] } }, 'agent', undefined, /something that is no message/],
  [
    3,
    { status: 200, body: refused('Rate limit reached', 'rate_limit_error') },
    'infra',
    { kind: 'quota', unsaid: true },
    /too many requests/,
  ],
  [
    3,
    { failed: { code: 'overloaded_error', message: 'Overloaded' } },
    'infra',
    { kind: 'outage' },
    /in trouble \(Overloaded\)/,
  ],
  [3, { cutAfter: 1, text: 'one two three' }, 'infra', undefined, /was cut|before it was whole/],
  [1, { text: '' }, 'agent', undefined, /answered nothing/],
  [1, { refusal: 'not that' }, 'agent', undefined, /refused: not that/],
])('asked %i times: %j', async ([times, reaction, failureClass, park, reason]) => {
  const { report, requests } = await tell(() => reaction);
  expect(report).toMatchObject({
    kind: 'failed',
    class: failureClass,
    reason: expect.stringMatching(reason),
  });
  expect(requests).toHaveLength(times);
  if (park === undefined) expect(report).not.toHaveProperty('park');
  else expect(report).toMatchObject({ park });
});

test('the wait that the server asks for is kept', async () => {
  const busy = {
    status: 429,
    body: refused('slow down', 'rate_limit_error'),
    headers: { 'retry-after': '7' },
  };
  const { report, waits } = await tell([busy, { text: 'at last' }]);
  expect(report).toMatchObject({ kind: 'answered' });
  expect(waits).toEqual([7000]);
});

test('an answer that does not fit gets one more try with more room', async () => {
  const { report, bodies } = await tell([{ incomplete: true, text: 'half' }, { text: 'the whole' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'the whole', usage: { input_tokens: 22 } });
  expect(bodies.map((body) => body['max_tokens'])).toEqual([64_000, 65_000]);
});

test('an answer that was whole before its connection broke is not bought again', async () => {
  const events = [
    start({ input_tokens: 3, output_tokens: 1 }),
    ...words('fine'),
    end('end_turn', { output_tokens: 2 }),
  ];
  const { report, requests } = await tell([{ events, after: 'tear' }, { text: 'again' }]);
  expect(report).toMatchObject({ text: 'fine', usage: { input_tokens: 3, output_tokens: 2 } });
  expect(requests).toHaveLength(1);
});

test('a server that does not stream is understood', async () => {
  const body = {
    ...{ type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    content: [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'fine' },
    ],
    usage: { input_tokens: 3, output_tokens: 2 },
  };
  const { report } = await tell([{ status: 200, body }]);
  expect(report).toMatchObject({
    kind: 'answered',
    text: 'fine',
    reasoning: 'hm',
    usage: { model: 'm', input_tokens: 3 },
  });
});

/** Where a request has marks for the cache: of its system prompt, and of its messages. */
const marks = (body: { readonly [key: string]: unknown }) => {
  const isMarked = (block: object) => 'cache_control' in block;
  const { system = [], messages } = body as {
    system?: object[];
    messages: { content: object[] }[];
  };
  return [system.some(isMarked), ...messages.map(({ content }) => content.findIndex(isMarked))];
};

test('in a tool loop thoughts go back as they came, and each request is cached to its end', async () => {
  const list = { name: 'list', arguments: { path: '.' } };
  const finish = { name: 'finish', arguments: { outcome: 'success', notes: 'did it' } };
  const thinking = [
    start({ input_tokens: 3, output_tokens: 1 }),
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'first look' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'sealed' } },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    {
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'list', input: {} },
    },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"path":' } },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '"."}' } },
    end('tool_use', { output_tokens: 5 }),
  ];
  await using server = await startModelServer(
    [{ events: thinking }, { calls: [list, list] }, { calls: [finish] }],
    ['anthropic'],
  );
  await using it = await programTask({ 'a.txt': 'a' });
  const report = await agentAt(server).work(it.task({ attributes: { 'agent.mode': 'agent' } }), never());
  expect(report).toMatchObject({ kind: 'finished', outcome: 'success', reasoning: 'first look' });
  const bodies = server.requests.map(({ body = {} }) => body);
  expect((bodies[0]?.['tools'] as { name: string }[] | undefined)?.map(({ name }) => name)).toContain(
    'finish',
  );
  const [, answer, result] = (bodies[1]?.['messages'] ?? []) as { role: string; content: object[] }[];
  expect(answer).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'first look', signature: 'sig' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'tool_use', id: 'toolu_1', name: 'list', input: { path: '.' } },
    ],
  });
  expect(result).toMatchObject({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] });
  expect(bodies.map(marks)).toEqual([
    [true, 0],
    [true, 0, -1, 0],
    [true, -1, -1, 0, -1, 1],
  ]);
});

test('a conversation that had tools can be continued without any', async () => {
  const call = { id: 'c1', name: 'list', arguments: '{"path":"."}' };
  const turns = [
    { by: 'user', text: 'one' },
    { by: 'model', text: '', calls: [call, { ...call, id: 'c2', arguments: 'no json' }] },
    { by: 'tool', call, text: 'a.txt' },
    { by: 'tool', call: { ...call, id: 'c2' }, text: 'error: no JSON' },
    { by: 'model', text: 'a file', calls: [] },
  ];
  const before = JSON.stringify({ format: 'openai-thread/1', turns });
  const thread: AgentThread = { key: 't', before, keep: () => {} };
  const { report, bodies } = await tell([{ text: 'two' }], {}, { thread });
  expect(report).toMatchObject({ kind: 'answered', text: 'two' });
  expect(bodies[0]).toMatchObject({
    tools: [{ name: 'list', input_schema: { type: 'object' } }],
    tool_choice: { type: 'none' },
    messages: [
      { role: 'user', content: [{ text: 'one' }] },
      { role: 'assistant', content: [{ input: { path: '.' } }, { input: { not_json: 'no json' } }] },
      {
        role: 'user',
        content: [{ tool_use_id: 'c1' }, { tool_use_id: 'c2', cache_control: { type: 'ephemeral' } }],
      },
      { role: 'assistant', content: [{ text: 'a file' }] },
      { role: 'user', content: [{ text: 'do it', cache_control: { type: 'ephemeral' } }] },
    ],
  });
});
