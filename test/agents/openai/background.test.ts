/** Where no stream comes through, the answer is fetched from the background. */
import { expect, test } from 'vitest';
import type { AgentReport } from '../../../src/core/contracts/agent.ts';
import type { Clock } from '../../../src/core/contracts/clock.ts';
import { handClock } from '../../support/clock.ts';
import { type ModelRequest, type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor, wellFormed } from '../contract.ts';
import { agentAt, never, tell } from './tell.ts';

/** `stream`, `background`, `GET <id>`, `cancel <id>`: what was asked, in order. */
const asked = (requests: readonly ModelRequest[]): string[] =>
  requests.map(({ method, path, body }) => {
    const [, id, verb] = /^\/v1\/responses(?:\/([^/]+))?(?:\/(cancel))?$/.exec(path) ?? [];
    if (method === 'GET') return `GET ${id}`;
    if (verb !== undefined) return `${verb} ${id}`;
    return ['stream', 'background'].filter((way) => body?.[way] === true).join('+');
  });
const reasonOf = (report: AgentReport): string => (report.kind === 'failed' ? report.reason : report.kind);
const artifactsOf = (report: AgentReport) => ('artifacts' in report ? (report.artifacts ?? []) : []);

const drop: Reaction = { drop: true };
const is = (status: string, more: object = {}): Reaction => ({
  status: 200,
  body: { id: 'resp_7', status, ...more },
});
const done = is('completed', {
  output: [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'fine' }] },
  ],
  usage: { input_tokens: 3, output_tokens: 4 },
});
const busy: Reaction = { status: 503, body: {} };
const noStream: Reaction = {
  status: 400,
  body: { error: { message: 'You must be verified for this', param: 'stream', code: 'unsupported_value' } },
};

test('a connection that breaks after the whole answer causes no second request', async () => {
  const body = { id: 'resp_x', status: 'completed', output_text: 'fine', output: [] };
  const last = `data: ${JSON.stringify({ type: 'response.completed', response: body })}`;
  const { report, requests } = await tell([{ events: [last, ''], after: 'tear' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(requests).toHaveLength(1);
});

test.for<[string, Reaction]>([
  ['is torn in the middle', { cutAfter: 2 }],
  ['ends before the answer does', { cutAfter: 2, clean: true }],
  ['is empty', { events: [] }],
  ['is never begun', drop],
  ['is refused', noStream],
])('where a stream %s the answer comes from the background', async ([, reaction]) => {
  const { report, requests, waits } = await tell([reaction, is('queued'), is('in_progress'), done]);
  expect(report).toEqual({
    kind: 'answered',
    text: 'fine',
    reasoning: 'hm',
    usage: {
      model: 'gpt-test',
      input_tokens: 3,
      output_tokens: 4,
      cost_usd: null,
      // A model may have worked for a stream that was lost.
      ...(reaction === noStream ? {} : { incomplete: true }),
    },
  });
  expect(asked(requests)).toEqual(['stream', 'background', 'GET resp_7', 'GET resp_7']);
  expect(waits).toEqual([5_000, 5_000]);
  const [first, second] = requests.map(({ body }) => body);
  expect({ ...first, stream: undefined }).toEqual({ ...second, background: undefined });
});

test('a background response is polled until its status is final', async () => {
  const { report, requests } = await tell([
    drop,
    is('warming_up'),
    { status: 200, body: { status: 'in_progress' } },
    is('thinking'),
    done,
  ]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(asked(requests).slice(1)).toEqual(['background', ...new Array(3).fill('GET resp_7')]);
});

test('a server that answers a stream request with a background response is polled', async () => {
  const { report, requests } = await tell([is('in_progress'), done]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(asked(requests)).toEqual(['stream', 'GET resp_7']);
});

test.for([500, 502, 429, 404] as const)(
  'after status %i the request is retried as a stream',
  async (status) => {
    const { requests } = await tell(
      new Array<Reaction>(4).fill({ status, body: { error: { message: 'x' } } }),
    );
    expect(new Set(asked(requests))).toEqual(new Set(['stream']));
  },
);

test.for<[string, readonly Reaction[], RegExp, string, readonly string[]]>([
  [
    'without an id',
    [drop, { status: 200, body: { status: 'queued' } }],
    /status "queued", which is no final one/,
    'agent',
    ['raw_response_unexpected_status_0.json'],
  ],
  [
    'that is cancelled',
    [drop, is('queued'), is('cancelled')],
    /was cancelled/,
    'agent',
    ['raw_response_unexpected_status_0.json'],
  ],
  [
    'that fails',
    [drop, is('queued'), is('failed', { error: { code: 'invalid_prompt', message: 'no' } })],
    /invalid_prompt/,
    'config',
    ['raw_response_unexpected_status_0.json'],
  ],
  [
    'that is completed without text',
    [drop, is('queued'), is('completed', { output: [] })],
    /no text/,
    'agent',
    ['raw_response_no_text_attempt_0.json'],
  ],
  [
    'that is forgotten',
    [drop, is('queued'), { status: 404, body: {} }],
    /has lost the answer.*resp_7/,
    'agent',
    [],
  ],
  [
    'whose key is refused',
    [drop, is('queued'), { status: 401, body: {} }],
    /set OPENAI_API_KEY/,
    'config',
    [],
  ],
])('a background response %s ends the call', async ([, reactions, words, failureClass, artifacts]) => {
  const { report, requests } = await tell([...reactions, done]);
  expect(report).toMatchObject({ kind: 'failed', class: failureClass, model: 'api' });
  expect(reasonOf(report)).toMatch(words);
  expect(artifactsOf(report).map(({ name }) => name)).toEqual(artifacts);
  expect(asked(requests).filter((what) => !what.startsWith('cancel'))).toHaveLength(reactions.length);
});

test.for<[string, Reaction, number]>([
  ['a busy server', busy, 500],
  ['a server that wants a pause', { status: 429, headers: { 'retry-after': '7' }, body: {} }, 7_000],
  ['a server that wants a long one', { status: 429, headers: { 'retry-after': '45' }, body: {} }, 45_000],
  [
    'a server that names the time',
    { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT', date: 'soon' }, body: {} },
    9_000,
  ],
  [
    'a server that names a time gone by',
    { status: 429, headers: { 'retry-after': 'Wed, 21 Oct 2020 07:28:00 GMT' }, body: {} },
    0,
  ],
  ['a lost connection', drop, 500],
  ['a page of HTML', { status: 200, body: '<html>' }, 500],
])('%s is retried, for the request and for each poll', async ([, trouble, wait]) => {
  const { report, requests, waits } = await tell([
    drop,
    trouble,
    is('queued'),
    trouble,
    trouble,
    is('queued'),
    trouble,
    done,
  ]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(asked(requests)).toEqual(['stream', 'background', 'background', ...new Array(5).fill('GET resp_7')]);
  const again = wait === 500 ? 1_000 : wait;
  expect(waits).toEqual([wait, 5_000, wait, 5_000, again, 5_000, 5_000, wait, 5_000]);
});

test('a background request fails after three tries', async () => {
  const { report, requests } = await tell([drop, busy, busy, busy, done]);
  expect(report).toMatchObject({ kind: 'failed', class: 'infra', model: 'api' });
  expect(reasonOf(report)).toMatch(/\(in the background, after 3 tries\)$/);
  expect(asked(requests)).toEqual(['stream', 'background', 'background', 'background']);
});

test('polling fails after three tries, without a second request', async () => {
  const { report, requests } = await tell([drop, is('queued'), busy, busy, busy, done]);
  expect(report).toMatchObject({ kind: 'failed', class: 'infra', model: 'api' });
  expect(reasonOf(report)).toMatch(/\(polling for the answer in the background, after 3 tries\)$/);
  expect(asked(requests).slice(2)).toEqual([...new Array(3).fill('GET resp_7'), 'cancel resp_7']);
});

test.for<[string, Reaction]>([
  ['with the first words', { cutAfter: 1, text: 'one two' }],
  [
    'before the first word',
    { events: [{ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }] },
  ],
])(
  'after a stream lost %s, a server that refuses the background is asked for a stream again',
  async ([, torn]) => {
    const refused: Reaction = { status: 400, body: { error: { message: 'no' } } };
    const { report, requests } = await tell([torn, refused, { text: 'whole' }]);
    expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
    expect(asked(requests)).toEqual(['stream', 'background', 'stream']);
  },
);

test('the report has the text of a broken stream if the background has none', async () => {
  const { report } = await tell([{ cutAfter: 2, text: 'one two three' }, is('queued'), is('cancelled')]);
  expect(report).toMatchObject({ kind: 'failed', response: 'one two ' });
});

test('an answer that does not fit is asked for with more room, as a stream where the server streams', async () => {
  const short = is('incomplete', { incomplete_details: { reason: 'max_output_tokens' } });
  const lost = await tell([drop, short, { text: 'whole' }]);
  expect(lost.report).toMatchObject({ kind: 'answered', text: 'whole' });
  expect(asked(lost.requests)).toEqual(['stream', 'background', 'stream']);
  expect(artifactsOf(lost.report).map(({ name }) => name)).toEqual([
    'raw_response_incomplete_attempt_0.json',
  ]);
  const refused = await tell([noStream, short, noStream, is('queued'), done]);
  expect(refused.report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(asked(refused.requests)).toEqual(['stream', 'background', 'stream', 'background', 'GET resp_7']);
  expect(refused.requests.map(({ body }) => body?.['max_output_tokens'])).toEqual([
    64_000,
    64_000,
    65_000,
    65_000,
    undefined,
  ]);
});

test('a background response that takes 40 minutes is cancelled and kept as an artifact', async () => {
  const clock = handClock();
  await using server = await startModelServer(({ method }, index) => {
    if (index === 0) return drop;
    if (method === 'GET') clock.advance(600_000);
    return is(index === 1 ? 'queued' : 'in_progress', { look: index });
  });
  const report = wellFormed(await agentAt(server, clock).work(taskFor({ idleMs: 3_000_000 }), never()));
  expect(report).toMatchObject({ kind: 'failed', class: 'timeout', model: 'api' });
  expect(reasonOf(report)).toMatch(/no answer from .* within 2400 s \(resp_7\)/);
  expect(artifactsOf(report).map(({ name }) => name)).toEqual(['raw_response_poll_timeout.json']);
  expect(JSON.parse(artifactsOf(report)[0]?.content ?? '')).toEqual({
    id: 'resp_7',
    status: 'in_progress',
    look: 5,
  });
  expect(asked(server.requests).slice(2)).toEqual([...new Array(4).fill('GET resp_7'), 'cancel resp_7']);
  await server.idle();
});

test.for(['caller', 'node'] as const)(
  'a background response is cancelled with the call of the %s',
  async (who) => {
    const clock = handClock(0);
    let looksSoon = () => {};
    const waiting = new Promise<void>((resolve) => {
      looksSoon = resolve;
    });
    const told: Clock = {
      ...clock,
      sleep(ms, signal) {
        const slept = clock.sleep(ms, signal);
        if (ms === 5_000) looksSoon();
        return slept;
      },
    };
    await using server = await startModelServer([drop, is('queued'), done]);
    const stop = new AbortController();
    const work = agentAt(server, told).work(taskFor(who === 'node' ? { timeoutMs: 4_000 } : {}), stop.signal);
    await waiting;
    if (who === 'node') clock.advance(4_000);
    else stop.abort();
    const report = wellFormed(await work);
    if (who === 'node') expect(report).toMatchObject({ kind: 'failed', class: 'timeout', model: 'api' });
    else expect(report).toEqual({ kind: 'cancelled' });
    expect(asked(server.requests)).toEqual(['stream', 'background', 'cancel resp_7']);
    await server.idle();
  },
);
