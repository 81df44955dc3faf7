/** Servers that differ from OpenAI's own. */
import { expect, test } from 'vitest';
import type { AgentReport, ExchangeItem } from '../../../src/core/contracts/agent.ts';
import { handClock } from '../../support/clock.ts';
import { type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor, wellFormed } from '../contract.ts';
import { agentAt, never, tell } from './tell.ts';

/** One call over chat completions. */
async function chat(reactions: Parameters<typeof startModelServer>[0]) {
  await using server = await startModelServer(reactions, ['chat']);
  const task = taskFor({ attributes: { 'openai.api': 'chat' } });
  const report = wellFormed(await agentAt(server).work(task, never()));
  return { report, requests: server.requests };
}

const chunk = (delta: object, finish_reason: string | null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});

test('the query of a base URL follows the path of each request', async () => {
  await using server = await startModelServer([]);
  const baseURL = `${server.url}/?api-version=preview&a=b%26c`;
  await agentAt(server, handClock(), { baseURL }).work(taskFor(), never());
  expect(server.requests[0]?.path).toBe('/v1/responses?api-version=preview&a=b%26c');
});

test.for(
  [301, 302, 303, 307, 308].flatMap((status) =>
    (['chat', 'responses', 'anthropic'] as const).map((api) => [status, api] as const),
  ),
)('a redirect (%i, %s) to another server is not followed: it would get the key', async ([status, api]) => {
  await using other = await startModelServer([{ text: 'not asked' }], [api]);
  const location = `${other.url}/elsewhere?token=t`;
  await using server = await startModelServer([{ status, headers: { location } }], [api]);
  const report = await agentAt(server).work(taskFor({ attributes: { 'openai.api': api } }), never());
  expect(report).toMatchObject({ kind: 'failed', class: 'config' });
  expect(report).toHaveProperty('reason', expect.stringContaining(`redirects to ${other.url}/elsewhere (`));
  expect(other.requests).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

test('a redirect within the server keeps method and body, and ends', async () => {
  const moved = { status: 308, headers: { location: '/v1/responses?moved=1' } };
  await using server = await startModelServer([moved, { text: 'here' }]);
  expect(await agentAt(server).work(taskFor(), never())).toMatchObject({ kind: 'answered', text: 'here' });
  expect(server.requests[1]).toMatchObject({ method: 'POST', path: '/v1/responses?moved=1' });
  expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
  await using circle = await startModelServer(() => moved);
  expect(await agentAt(circle).work(taskFor(), never())).toMatchObject({ kind: 'failed', class: 'config' });
  expect(circle.requests).toHaveLength(6);
});

test('an empty finish_reason does not make half an answer whole', async () => {
  const { report, requests } = await chat([
    { events: [chunk({ content: 'half' }, '')] },
    { events: [chunk({ content: 'all of ' }, ''), chunk({ content: 'it' }, 'stop'), chunk({}, '')] },
  ]);
  expect(report).toMatchObject({ kind: 'answered', text: 'all of it' });
  expect(requests).toHaveLength(2);
});

test('a whole answer counts if its server then stays silent without closing', async () => {
  const events = [chunk({ content: 'whole' }, 'stop'), cost];
  await using server = await startModelServer([{ events, after: 'hang' }], ['chat']);
  const clock = handClock(0);
  let working: Promise<AgentReport> | undefined;
  await new Promise<void>((resolve) => {
    let left = events.length;
    const record = ({ kind }: ExchangeItem) => {
      if (kind === 'event' && --left === 0) resolve();
    };
    const task = taskFor({ attributes: { 'openai.api': 'chat' }, record });
    working = agentAt(server, clock, { idleMs: 50 }).work(task, never());
  });
  clock.advance(50);
  expect(await working).toMatchObject({ kind: 'answered', text: 'whole', usage: { input_tokens: 3 } });
  await server.idle();
});

const cost = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } };
const call = { index: 0, id: 'c1', function: { name: 'look', arguments: '{"a"' } };

test.for<[string, readonly object[], 'tear' | undefined]>([
  [
    'text, with another reason',
    [chunk({ content: 'half' }, 'stop'), chunk({ content: ' of' }, 'stop')],
    'tear',
  ],
  ['text', [chunk({ reasoning: 'hm' }, 'stop'), chunk({ content: 'half' }, null)], 'tear'],
  ['text, and the end', [chunk({ content: 'half' }, 'stop'), chunk({ content: ' of' }, null)], undefined],
  ['calls', [chunk({ content: 'I look' }, 'stop'), chunk({ tool_calls: [call] }, null)], 'tear'],
])(
  'an answer that breaks off after an early finish_reason is asked for again: %s',
  async ([, events, after]) => {
    const { report, requests } = await chat([{ events, ...(after && { after }) }, { text: 'whole' }]);
    expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
    expect(requests).toHaveLength(2);
  },
);

test.for<[string, readonly unknown[], 'tear' | undefined]>([
  ['the end', [chunk({ content: 'it' }, 'stop'), chunk({ content: ' is' }, 'stop')], undefined],
  ['a second one', [chunk({ content: 'it is' }, 'stop'), chunk({}, 'stop')], 'tear'],
  [
    'a choice without a piece',
    [chunk({ content: 'it is' }, null), { choices: [{ finish_reason: 'stop' }] }],
    'tear',
  ],
])('an answer with several finish_reasons is whole after %s', async ([, events, after]) => {
  const { report, requests } = await chat([{ events, ...(after && { after }) }, { text: 'asked again' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'it is' });
  expect(requests).toHaveLength(1);
});

test('cached and reasoning tokens are reported over chat completions, too', async () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 80 },
    completion_tokens_details: { reasoning_tokens: 4 },
  };
  const { report } = await chat([{ events: [chunk({ content: 'it' }, 'stop'), { choices: [], usage }] }]);
  const told = { input_tokens: 100, cached_input_tokens: 80, output_tokens: 9, reasoning_tokens: 4 };
  expect(report).toMatchObject({ kind: 'answered', usage: told });
});

test('finish_reason=length counts though the connection breaks', async () => {
  const { report, requests } = await chat([{ events: [chunk({}, 'length')], after: 'tear' }]);
  expect(report).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/does not fit/) });
  expect(requests).toHaveLength(1);
});

test('an answer in parts is put together from those that are text', async () => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] };
  const text = (words: string) => ({ type: 'text', text: words });
  const whole = { choices: [{ message: { content: [thinking, text('all '), text('of it')] } }] };
  expect((await chat([{ status: 200, body: whole }])).report).toMatchObject({ text: 'all of it' });
  const events = [chunk({ content: [thinking] }, null), chunk({ content: [text('all')] }, 'stop')];
  expect((await chat([{ events }])).report).toMatchObject({ text: 'all' });
});

test.for<[string, object, string, RegExp]>([
  ['filtered', chunk({ content: 'half' }, 'content_filter'), 'agent', /is incomplete: content_filter/],
  [
    'at the end of the context',
    chunk({ content: 'half' }, 'model_length'),
    'agent',
    /does not fit into the tokens/,
  ],
  [
    'too long, in other words',
    chunk({ content: 'half' }, 'MAX_TOKENS'),
    'agent',
    /does not fit into the tokens/,
  ],
  ['unsafe', chunk({ content: 'half' }, 'SAFETY'), 'agent', /is incomplete: SAFETY/],
  ['refused', chunk({ refusal: 'not that' }, 'stop'), 'agent', /refused: not that/],
  ['empty', chunk({ content: ' ' }, 'stop'), 'agent', /answered nothing/],
  ['an error in mere words', { error: 'no such model' }, 'agent', /as failed: "no such model"/],
])(
  'an answer that is %s is reported in words, and asked for once',
  async ([, event, failureClass, reason]) => {
    const { report, requests } = await chat([{ events: [event] }, { text: 'asked again' }]);
    expect(report).toMatchObject({
      kind: 'failed',
      class: failureClass,
      reason: expect.stringMatching(reason),
    });
    expect(requests).toHaveLength(1);
  },
);

test.for(['error', 'abort', 'insufficient_system_resource', 'network_error'])(
  'an answer that ends with finish_reason=%s is asked for again',
  async (finish) => {
    const half = { events: [chunk({ content: 'half' }, null), chunk({}, finish)] };
    const { report, requests } = await chat([half, { text: 'whole' }]);
    expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
    expect(requests).toHaveLength(2);
    const { report: broken } = await chat(() => half);
    const reason = expect.stringMatching(new RegExp(`was not finished.*${finish}.*after 3 tries`));
    expect(broken).toMatchObject({ kind: 'failed', class: 'infra', reason });
  },
);

test('the cost of a broken answer is unknown', async () => {
  const broken: Reaction = { events: [chunk({ content: 'half' }, null)], after: 'tear' };
  const { report } = await chat([broken, { text: 'whole' }]);
  expect(report).toMatchObject({
    kind: 'answered',
    text: 'whole',
    usage: { input_tokens: 11, output_tokens: 7, incomplete: true },
  });
});

const fault = (code: number | string, message: string) => ({ error: { code, message } });

test.for<[string, number | string, string, number, RegExp]>([
  ['a provider in trouble', 502, 'infra', 3, /is in trouble \(gone away\)/],
  ['a provider in trouble, in words', '503', 'infra', 3, /is in trouble \(gone away\)/],
  ['too many requests', 429, 'infra', 3, /too many requests.*gone away/],
  ['a wrong key', 401, 'config', 1, /the key was refused.*gone away/],
  ['a request that is not understood', 400, 'config', 1, /does not accept the request.*gone away/],
])(
  'an HTTP status as the code of an error event is read: %s',
  async ([, code, failureClass, asked, reason]) => {
    const wanted = { kind: 'failed', class: failureClass, reason: expect.stringMatching(reason) };
    const failed = { status: 'failed', error: fault(code, 'gone away').error };
    for (const event of [
      { type: 'error', ...fault(code, 'gone away') },
      { type: 'error', ...fault(code, 'gone away').error },
      { type: 'response.failed', response: failed },
    ]) {
      const { report, requests } = await tell(new Array<Reaction>(3).fill({ events: [event] }));
      expect(report).toMatchObject(wanted);
      expect(requests).toHaveLength(asked);
    }
    const event = { ...fault(code, 'gone away'), ...chunk({ content: '' }, 'error') };
    const { report, requests } = await chat(new Array<Reaction>(3).fill({ events: [event] }));
    expect(report).toMatchObject(wanted);
    expect(requests).toHaveLength(asked);
  },
);

test.for([
  [
    'responses',
    { status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 'it is' }] }] },
  ],
  ['chat', { choices: [{ index: 0, message: { content: 'it is' }, finish_reason: 'stop' }] }],
] as const)(
  'a server of the API %s that does not stream is asked once, whatever its content type',
  async ([api, body]) => {
    const typed = (type: string, before = '') => ({
      ...{ status: 200, body: `${before}${JSON.stringify(body)}`, headers: { 'content-type': type } },
    });
    for (const whole of [{ status: 200, body }, typed(''), typed('text/plain'), typed('text/plain', '\n ')]) {
      await using server = await startModelServer([whole, { text: 'asked again' }], [api]);
      const task = taskFor({ attributes: { 'openai.api': api } });
      const report = wellFormed(await agentAt(server).work(task, never()));
      expect(report).toMatchObject({ kind: 'answered', text: 'it is' });
      expect(server.requests).toHaveLength(1);
    }
  },
);

test('a server that knows no stream_options is asked without them, and what it costs is not known', async () => {
  const error = { message: 'body.stream_options: extra fields are not permitted' };
  const refusal: Reaction = { status: 422, body: { error } };
  const { report, requests } = await chat([refusal, { text: 'fine', usage: null }]);
  expect(report).toEqual({ kind: 'answered', text: 'fine' });
  expect(requests.map(({ body }) => body?.['stream'])).toEqual([true, true]);
  expect(requests[1]?.body).not.toHaveProperty('stream_options');
});

test('a server that gives no summaries of the reasoning is asked without them', async () => {
  const message = 'Your organization must be verified to generate reasoning summaries.';
  const refusal = { status: 400, body: { error: { message, param: 'reasoning.summary' } } };
  const { report, requests } = await tell([refusal, { text: 'fine' }], { effort: 'high' });
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(requests.map(({ body }) => body?.['reasoning'])).toEqual([
    { effort: 'high', summary: 'auto' },
    { effort: 'high' },
  ]);
});

test('a key of digits does not change numbers in records', async () => {
  const recorded: unknown[] = [];
  const text = { type: 'response.output_text.delta', delta: 'it is 123456', created: 1_712_345_678 };
  const done = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } };
  const record = (item: unknown) => recorded.push(item);
  const { report } = await tell([{ events: [text, done] }], { apiKey: '123456' }, { record });
  expect(report).toMatchObject({ kind: 'answered', text: 'it is 123456' });
  expect(recorded[1]).toMatchObject({ kind: 'event', event: { ...text, delta: 'it is ***' } });
});
