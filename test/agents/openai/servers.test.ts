/** Servers that speak an API in a way of their own. */
import { expect, test } from 'vitest';
import type { AgentReport, ExchangeItem } from '../../../src/agents/agent.ts';
import { type Reaction, startModelServer } from '../../support/model-server.ts';
import { agentClock } from '../clock.ts';
import { taskFor, wellFormed } from '../contract.ts';
import { agentAt, never, tell } from './tell.ts';

/** One call over chat completions. */
async function chat(reactions: readonly Reaction[]) {
  await using server = await startModelServer(reactions, ['chat']);
  const task = taskFor({ attributes: { 'openai.api': 'chat' } });
  const report = wellFormed(await agentAt(server).work(task, never()));
  return { report, requests: server.requests };
}

const chunk = (delta: object, finish_reason: string | null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});

test('the query of a base URL stands behind the path of each request', async () => {
  await using server = await startModelServer([]);
  const baseURL = `${server.url}/?api-version=preview&a=b%26c`;
  await agentAt(server, agentClock(), { baseURL }).work(taskFor(), never());
  expect(server.requests[0]?.path).toBe('/v1/responses?api-version=preview&a=b%26c');
});

const leads = (status: number, location: string): Reaction => ({ status, headers: { location } });

test.for<[string, (index: number) => Reaction, number]>([
  ['to itself', () => leads(307, '/v1/responses'), 1],
  ['round in a circle', (n) => leads(308, n % 2 === 0 ? '/v1/responses?again' : '/v1/responses'), 2],
  ['on and on', (n) => leads(307, `/v1/responses?${n}`), 6],
  ['to what takes a name and a password', () => leads(307, 'http://me:hunter2@127.0.0.1:1/'), 1],
  ['to a page, with the prompt left behind', () => leads(302, '/v1/responses?login'), 1],
])('a server that leads %s is refused at once, with the place', async ([, reaction, asked]) => {
  await using server = await startModelServer((_, index) => reaction(index));
  const report = wellFormed(await agentAt(server).work(taskFor(), never()));
  expect(report).toMatchObject({
    kind: 'failed',
    class: 'config',
    unbilled: true,
    reason: expect.stringMatching(/^http.*\/v1 (leads|takes) .*30\d to http.*set OPENAI_BASE_URL/),
  });
  expect(server.requests).toHaveLength(asked);
});

test('a server that has moved the API is followed, and another one gets no key', async () => {
  await using other = await startModelServer([{ text: 'from the other' }]);
  await using server = await startModelServer([
    leads(307, '/v1/responses?here'),
    leads(308, `${other.url}/responses`),
  ]);
  const report = await agentAt(server).work(taskFor({ prompt: 'carry me' }), never());
  expect(report).toMatchObject({ kind: 'answered', text: 'from the other' });
  const keys = [...server.requests, ...other.requests].map(({ headers }) => headers.authorization);
  expect(keys).toEqual([expect.stringMatching(/^Bearer /), expect.stringMatching(/^Bearer /), undefined]);
  expect(other.requests[0]?.body).toMatchObject({ input: 'carry me' });
});

test('an empty reason to end is none: half an answer is not taken for a whole one', async () => {
  const { report, requests } = await chat([
    { events: [chunk({ content: 'half' }, '')] },
    { events: [chunk({ content: 'all of ' }, ''), chunk({ content: 'it' }, 'stop'), chunk({}, '')] },
  ]);
  expect(report).toMatchObject({ kind: 'answered', text: 'all of it' });
  expect(requests).toHaveLength(2);
});

test.for([
  ['with what it has cost', [{ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }], 3],
  ['without it', [], undefined],
] as const)('a server that has ended its answer and does not go is left, %s', async ([, after, input]) => {
  const events = [chunk({ content: 'whole' }, 'stop'), ...after];
  await using server = await startModelServer([{ events, after: 'hang' }], ['chat']);
  const clock = agentClock(0);
  let working: Promise<AgentReport> | undefined;
  await new Promise<void>((resolve) => {
    let left = events.length;
    const record = ({ kind }: ExchangeItem) => {
      if (kind === 'event' && --left === 0) resolve();
    };
    const task = taskFor({ attributes: { 'openai.api': 'chat' }, record });
    working = agentAt(server, clock, { lullMs: 50 }).work(task, never());
  });
  clock.advance(50);
  const report = await working;
  expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
  expect(report?.kind === 'answered' ? report.usage?.input_tokens : null).toBe(input);
  await server.idle();
});

test('a server that gives a reason to end in every piece may pause for as long as others', async () => {
  let goOn: (event: object) => void = () => {};
  const last = new Promise<object>((resolve) => {
    goOn = resolve;
  });
  const events = [chunk({ content: 'all ' }, 'stop'), chunk({ content: 'of ' }, 'stop'), last];
  await using server = await startModelServer([{ events }], ['chat']);
  const clock = agentClock(0);
  let working: Promise<AgentReport> | undefined;
  await new Promise<void>((resolve) => {
    let heard = 0;
    const record = ({ kind }: ExchangeItem) => {
      if (kind === 'event' && ++heard === 2) resolve();
    };
    const task = taskFor({ attributes: { 'openai.api': 'chat' }, record });
    working = agentAt(server, clock, { lullMs: 50 }).work(task, never());
  });
  clock.advance(50);
  goOn(chunk({ content: 'it' }, 'stop'));
  expect(await working).toMatchObject({ kind: 'answered', text: 'all of it' });
});

const cost = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } };
const call = { index: 0, id: 'c1', function: { name: 'look', arguments: '{"a"' } };

test.for<[string, readonly object[], 'tear' | undefined]>([
  [
    'text, with one of its own',
    [chunk({ content: 'half' }, 'stop'), chunk({ content: ' of' }, 'stop')],
    'tear',
  ],
  ['text', [chunk({ reasoning: 'hm' }, 'stop'), chunk({ content: 'half' }, null)], 'tear'],
  ['text, and the end', [chunk({ content: 'half' }, 'stop'), chunk({ content: ' of' }, null)], undefined],
  ['calls', [chunk({ content: 'I look' }, 'stop'), chunk({ tool_calls: [call] }, null)], 'tear'],
  ['nothing, nor before it', [chunk({ role: 'assistant', content: '' }, 'stop')], 'tear'],
  ['nothing, and thoughts before it', [chunk({ reasoning: 'hm' }, 'stop')], 'tear'],
])('an answer that is cut after an early reason to end is asked for again: %s', async ([, events, after]) => {
  const { report, requests } = await chat([{ events, ...(after && { after }) }, { text: 'whole' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
  expect(requests).toHaveLength(2);
});

test.for<[string, readonly unknown[], 'tear' | undefined]>([
  ['the end', [chunk({ content: 'it' }, 'stop'), chunk({ content: ' is' }, 'stop')], undefined],
  ['its cost', [chunk({ content: 'it' }, 'stop'), chunk({ content: ' is' }, 'stop'), cost], 'tear'],
  [
    'a word of it',
    [chunk({ content: 'it' }, 'stop'), chunk({ content: ' is' }, null), 'data: [DONE]'],
    undefined,
  ],
  [
    'a late one',
    [
      chunk({ reasoning: 'hm' }, 'stop'),
      chunk({ content: 'it' }, null),
      chunk({ content: ' is' }, null),
      chunk({}, 'stop'),
    ],
    'tear',
  ],
  ['a second one', [chunk({ content: 'it is' }, 'stop'), chunk({}, 'stop')], 'tear'],
  [
    'a choice without a piece',
    [chunk({ content: 'it is' }, null), { choices: [{ finish_reason: 'stop' }] }],
    'tear',
  ],
])('an answer is whole, whatever reasons to end came in it, after %s', async ([, events, after]) => {
  const { report, requests } = await chat([{ events, ...(after && { after }) }, { text: 'asked again' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'it is' });
  expect(requests).toHaveLength(1);
});

test('what of an answer was cached, and thought, is told over chat completions, too', async () => {
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

test('that an answer has no room for a word is told, though the server goes without one', async () => {
  const { report, requests } = await chat([{ events: [chunk({}, 'length')], after: 'tear' }]);
  expect(report).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/does not fit/) });
  expect(requests).toHaveLength(1);
});

test('an error without a word is none', async () => {
  const events = [{ ...chunk({ content: 'fine' }, 'stop'), error: '' }];
  expect((await chat([{ events }])).report).toMatchObject({ kind: 'answered', text: 'fine' });
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
  ['refused', chunk({ refusal: 'not that' }, 'stop'), 'agent', /refused: not that/],
  ['empty', chunk({ content: ' ' }, 'stop'), 'agent', /answered nothing/],
  ['an error in mere words', { error: 'no such model' }, 'agent', /as failed: no such model/],
])('an answer that is %s is told in words, and asked for once', async ([, event, failureClass, reason]) => {
  const { report, requests } = await chat([{ events: [event] }, { text: 'asked again' }]);
  expect(report).toMatchObject({
    kind: 'failed',
    class: failureClass,
    reason: expect.stringMatching(reason),
  });
  expect(requests).toHaveLength(1);
});

test('what a broken answer has cost is not known, however well the next one is counted', async () => {
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
  'a status that stands for a code in the midst of an answer is understood: %s',
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

const wholeAnswers = {
  responses: {
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'all\nof it' }] }],
  },
  chat: { choices: [{ index: 0, message: { content: 'all\nof it' }, finish_reason: 'stop' }] },
} as const;
const eventsOf = {
  responses: [{ type: 'response.completed', response: wholeAnswers.responses }],
  chat: [chunk({ content: 'all\nof ' }, null), chunk({ content: 'it' }, 'stop')],
} as const;

test.for(
  (['responses', 'chat'] as const).flatMap((api) =>
    (['text/plain', '', 'text/event-stream'] as const)
      .flatMap((type) => [
        { api, type, what: 'one JSON', body: JSON.stringify(wholeAnswers[api]) },
        { api, type, what: 'one JSON on lines', body: `\n${JSON.stringify(wholeAnswers[api], null, 2)}\n` },
      ])
      .concat({
        api,
        type: 'application/json' as 'text/plain',
        what: 'events',
        body: eventsOf[api].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
      }),
  ),
)('an answer over $api is asked for once, whatever the server calls it: $what as "$type"', async (row) => {
  const reaction = { status: 200, body: row.body, headers: { 'content-type': row.type } };
  await using server = await startModelServer([reaction, { text: 'once more' }], [row.api]);
  const kept: string[] = [];
  const record = ({ kind }: ExchangeItem) => void kept.push(kind);
  const task = taskFor({ attributes: { 'openai.api': row.api }, record });
  const report = wellFormed(await agentAt(server).work(task, never()));
  expect(report).toMatchObject({ kind: 'answered', text: 'all\nof it' });
  expect(server.requests).toHaveLength(1);
  if (row.what !== 'events') expect(kept).toEqual(['request', 'response']);
});

test('a server that knows no stream_options is asked for the whole answer', async () => {
  const error = { message: 'body.stream_options: extra fields are not permitted' };
  const { report, requests } = await chat([{ status: 422, body: { error } }, { text: 'fine' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine', usage: { input_tokens: 11 } });
  expect(requests[1]?.body).not.toHaveProperty('stream_options');
});

test('who is told no summaries of thoughts is answered without them, from then on', async () => {
  const message = 'Your organization must be verified to generate reasoning summaries.';
  const refusal = { status: 400, body: { error: { message, param: 'reasoning.summary' } } };
  await using server = await startModelServer([refusal, { text: 'fine' }, { text: 'fine' }]);
  const agent = agentAt(server, agentClock(), { effort: 'high' });
  for (let call = 1; call <= 2; call += 1)
    expect(await agent.work(taskFor(), never())).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(server.requests.map(({ body }) => body?.['reasoning'])).toEqual([
    { effort: 'high', summary: 'auto' },
    { effort: 'high' },
    { effort: 'high' },
  ]);
});

test('a key of digits, as local servers take any, spoils no record of what has numbers in it', async () => {
  const recorded: unknown[] = [];
  const text = { type: 'response.output_text.delta', delta: 'it is 123456', created: 1_712_345_678 };
  const done = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } };
  const record = (item: unknown) => recorded.push(item);
  const { report } = await tell([{ events: [text, done] }], { apiKey: '123456' }, { record });
  expect(report).toMatchObject({ kind: 'answered', text: 'it is 123456' });
  expect(recorded[1]).toMatchObject({ kind: 'event', event: { ...text, delta: 'it is ***' } });
});
