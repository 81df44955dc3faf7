/** Answers that lack something, come from a gateway, or are cut: read for what they are before anything is asked again. */
import { expect, test } from 'vitest';
import { type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor } from '../contract.ts';
import { agentAt, never, tell } from './tell.ts';

const message = (text: string, more: object = {}) => ({
  type: 'message',
  ...more,
  content: [{ type: 'output_text', text }],
});
const call = { type: 'function_call', call_id: 'c', name: 'x', arguments: '{}' };

test.for<[string, object]>([
  ['output', { id: 'r', output: [message('fine')] }],
  ['output and no id', { output: [message('fine')] }],
  ['a status that is null', { id: 'r', status: null, output: [message('fine')] }],
  ['a text alone', { output_text: 'fine' }],
  ['an item that is completed', { output: [message('fine', { status: 'completed' })] }],
])('an answer without a status is complete with %s, whole or as the end of a stream', async ([, body]) => {
  const end: Reaction = { events: [{ type: 'response.completed', response: body }] };
  for (const reaction of [{ status: 200, body }, end]) {
    const { report, requests } = await tell([reaction, { text: 'bought again' }]);
    expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
    expect(requests).toHaveLength(1);
  }
});

test.for<[string, object, RegExp]>([
  ['no text', { id: 'r', output: [] }, /incomplete: no reason given/],
  ['reasoning only', { output: [{ type: 'reasoning', summary: [] }] }, /incomplete/],
  ['an item that is not finished', { output: [message('hal', { status: 'in_progress' })] }, /incomplete/],
  [
    'a reason to be incomplete',
    { output: [message('x')], incomplete_details: { reason: 'filter' } },
    /filter/,
  ],
  ['an error', { id: 'r', error: { message: 'boom' } }, /boom/],
  ['nothing of a response', { hello: 1 }, /no response/],
  ['nothing at all', {}, /no response/],
])('an answer without a status and with %s fails, and is asked for once', async ([, body, reason]) => {
  const { report, requests } = await tell([{ status: 200, body }, { text: 'bought again' }]);
  expect(report).toMatchObject({ kind: 'failed', class: 'agent', model: 'api' });
  expect(report.kind === 'failed' && report.reason).toMatch(reason);
  expect(requests).toHaveLength(1);
});

test('a response in the making that names its status is polled, as before', async () => {
  const { report } = await tell([
    { status: 200, body: { id: 'r', status: 'queued' } },
    { status: 200, body: { id: 'r', status: 'completed', output: [message('fine')] } },
  ]);
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
});

test.for<[object, string]>([
  [{ hello: 1 }, 'failed'],
  [{ object: 'error', message: 'no' }, 'failed'],
  [{ choices: [{ index: 0, message: { content: 'fine' } }] }, 'answered'],
])('a chat answer of JSON is read for what it is, once: %j is %s', async ([body, kind]) => {
  await using server = await startModelServer([{ status: 200, body }, { text: 'bought again' }], ['chat']);
  const task = taskFor({ attributes: { 'openai.api': 'chat' } });
  expect(await agentAt(server).work(task, never())).toMatchObject({ kind });
  expect(server.requests).toHaveLength(1);
});

const page = (title: string) =>
  `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body>x</body></html>`;

test.for<[number, string]>([
  [200, page('Sign in to the proxy')],
  [200, '<h1>Sign in to the proxy</h1>'],
  [500, page('Sign in to the proxy')],
  [502, page('Sign in to the proxy')],
  [530, page('Sign in to the proxy')],
])(
  'a web page with status %i is an outage of the gateway, asked for once where the run waits',
  async ([status, body]) => {
    const headers = { 'content-type': 'text/html' };
    const reactions = Array.from({ length: 12 }, () => ({ status, body, headers }));
    const { report, requests } = await tell(reactions, {}, { outageMs: 120_000 });
    expect(report).toMatchObject({ kind: 'failed', class: 'infra', park: { kind: 'outage' } });
    expect(report.kind === 'failed' && report.reason).toContain('a web page, "Sign in to the proxy"');
    expect(requests).toHaveLength(1);
  },
);

test.for([400, 401, 403, 404])('a web page with status %i is no outage', async (status) => {
  const { report, requests } = await tell([{ status, body: page('Not here') }], {}, { outageMs: 120_000 });
  expect(report).toMatchObject({
    kind: 'failed',
    class: 'config',
    reason: expect.stringContaining('Not here'),
  });
  expect(report).not.toHaveProperty('park.kind', 'outage');
  // A server without the Responses API may answer its path with a page.
  expect(requests).toHaveLength(status === 404 ? 2 : 1);
});

const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text });
const done = (item: object) => ({ type: 'response.output_item.done', item });

test.for<[string, readonly object[]]>([
  ['a whole message', [delta('fine'), done(message('fine', { status: 'completed' }))]],
  ['thoughts and a whole message', [done({ type: 'reasoning', summary: [] }), done(message('fine'))]],
])('a stream that is cut after %s is not bought again', async ([, events]) => {
  for (const after of ['tear', undefined] as const) {
    const { report, requests } = await tell([
      { events, ...(after === undefined ? {} : { after }) },
      { text: 'bought again' },
    ]);
    expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
    expect(requests).toHaveLength(1);
  }
});

test.for<[string, readonly object[]]>([
  ['half a message', [delta('fi')]],
  ['a message that is incomplete', [done(message('fi', { status: 'incomplete' }))]],
  ['a comment on the work', [done(message('I begin', { phase: 'commentary' }))]],
  [
    'another message that has begun',
    [done(message('fi')), { type: 'response.output_item.added', item: call }],
  ],
])('a stream that is cut after %s is asked for again', async ([, events]) => {
  const { report } = await tell([{ events, after: 'tear' }, { text: 'whole' }]);
  expect(report).toMatchObject({ kind: 'answered', text: 'whole' });
});

test('an answer in the making is polled through an outage, and not bought again', async () => {
  const busy: Reaction = { status: 503, body: {} };
  const { report, requests } = await tell(
    [
      { drop: true },
      { status: 200, body: { id: 'r', status: 'queued' } },
      ...Array.from({ length: 6 }, () => busy),
      { status: 200, body: { id: 'r', status: 'completed', output: [message('fine')] } },
    ],
    {},
    { outageMs: 120_000 },
  );
  expect(report).toMatchObject({ kind: 'answered', text: 'fine' });
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
});
