/** What a run learns about its server: which API it has, and which parts of a request it refuses. */
import { expect, test } from 'vitest';
import type { OpenaiOptions } from '../../../src/agents/openai.ts';
import type { AgentReport } from '../../../src/core/contracts/agent.ts';
import { handClock } from '../../support/clock.ts';
import { type ModelRequest, type Reaction, startModelServer } from '../../support/model-server.ts';
import { type TaskText, taskFor, wellFormed } from '../contract.ts';
import { agentAt, never } from './tell.ts';

type Server = Parameters<typeof startModelServer>;

/** Tasks in a row, as the nodes of a run give them to one agent. */
async function inARow(
  [reactions, speaks]: Server,
  tasks: readonly TaskText[],
  options: Partial<OpenaiOptions> = {},
) {
  await using server = await startModelServer(reactions, speaks);
  const agent = agentAt(server, handClock(), options);
  const reports: AgentReport[] = [];
  const warnings: string[] = [];
  const log = (level: string, message: string) => void (level === 'warn' && warnings.push(message));
  for (const task of tasks) reports.push(wellFormed(await agent.work(taskFor({ log, ...task }), never())));
  return { reports, warnings, requests: server.requests };
}

const paths = (requests: readonly ModelRequest[]) => requests.map(({ path }) => path);
const kinds = (reports: readonly AgentReport[]) => reports.map(({ kind }) => kind);

test.for([404, 405, 501])(
  'a single answer falls to chat completions after %i, once for the run',
  async (status) => {
    const { reports, requests } = await inARow(
      [({ path }) => (path === '/v1/responses' ? { status } : { text: 'fine' }), ['responses', 'chat']],
      [{}, {}, { attributes: { llm_model: 'other' } }],
    );
    expect(kinds(reports)).toEqual(['answered', 'answered', 'answered']);
    expect(paths(requests)).toEqual(['/v1/responses', ...Array(3).fill('/v1/chat/completions')]);
  },
);

test('a server that has chat completions and refuses the prompt there is not asked for responses again', async () => {
  const { reports, requests } = await inARow([() => ({ status: 401 }), ['chat']], [{}, {}]);
  expect(reports).toMatchObject([{ park: { kind: 'auth' } }, { park: { kind: 'auth' } }]);
  expect(paths(requests)).toEqual(['/v1/responses', ...Array(2).fill('/v1/chat/completions')]);
});

test('an unknown model is no reason to try another API, nor is a 404 of a server that has answered', async () => {
  const unknown: Reaction = { status: 404, body: { error: { message: 'no', code: 'model_not_found' } } };
  const one = await inARow([[unknown], ['responses', 'chat']], [{}]);
  expect(paths(one.requests)).toEqual(['/v1/responses']);
  const two = await inARow(
    [
      [{ text: 'fine' }, { status: 404 }],
      ['responses', 'chat'],
    ],
    [{}, {}],
  );
  expect(kinds(two.reports)).toEqual(['answered', 'failed']);
  expect(paths(two.requests)).toEqual(['/v1/responses', '/v1/responses']);
});

test('a node that names its API is not sent to another one', async () => {
  const attributes = { 'openai.api': 'responses' };
  const { reports, requests } = await inARow([[{ text: 'never' }], ['chat']], [{ attributes }]);
  expect(kinds(reports)).toEqual(['failed']);
  expect(paths(requests)).toEqual(['/v1/responses']);
});

const schema = { name: 'plan', schema: { type: 'object' } };
const asked: TaskText = { schema, attributes: { reasoning_effort: 'high' } };
const error = (message: string, param?: string) => ({ error: { message, param } });

/** A server that answers once the request lacks the field. */
const refusing =
  (field: string, body: unknown, status: number): Server[0] =>
  (request) =>
    request.body !== undefined && field in request.body ? { status, body } : { text: '{"a":1}' };

test.for<['responses' | 'chat', string, number, unknown, RegExp]>([
  [
    'chat',
    'response_format',
    400,
    error("'response_format.type' must be 'text'"),
    /does not accept a schema/,
  ],
  [
    'chat',
    'response_format',
    422,
    { detail: [{ loc: ['body', 'response_format'], msg: 'extra' }] },
    /a schema/,
  ],
  ['chat', 'response_format', 400, error('This model does not support structured outputs'), /a schema/],
  ['responses', 'text', 400, error('unsupported', 'text.format'), /a schema/],
  [
    'chat',
    'reasoning_effort',
    400,
    error('Unrecognized request argument supplied: reasoning_effort'),
    /an? .*effort/,
  ],
  ['chat', 'reasoning_effort', 400, { error: '"small" does not support thinking' }, /effort/],
  ['responses', 'reasoning', 400, error("Unsupported parameter: 'reasoning'", 'reasoning'), /effort/],
  [
    'responses',
    'temperature',
    400,
    error("Unsupported parameter: 'temperature'", 'temperature'),
    /a temperature/,
  ],
  ['chat', 'temperature', 400, error("'temperature' does not support 0.5 with this model"), /a temperature/],
])(
  'over %s a refused %s is left out for the rest of the run, and said once',
  async ([api, field, status, body, words]) => {
    const { reports, requests, warnings } = await inARow(
      [refusing(field, body, status), [api]],
      [asked, asked].map((task) => ({ ...task, attributes: { ...task.attributes, 'openai.api': api } })),
      { temperature: 0.5 },
    );
    expect(kinds(reports)).toEqual(['answered', 'answered']);
    // What it takes is still asked of it.
    const sent = requests.map((request) => Object.keys(request.body ?? {}));
    expect(sent.map((keys) => keys.includes(field))).toEqual([true, false, false]);
    expect(sent[2]).toEqual(sent[0]?.filter((key) => key !== field));
    expect(warnings).toEqual([expect.stringMatching(words)]);
  },
);

test('several refused parts are left out one after another', async () => {
  const fields = ['response_format', 'reasoning_effort', 'stream_options'];
  const { reports, requests, warnings } = await inARow(
    [
      ({ body = {} }) => {
        const field = fields.find((one) => one in body);
        return field === undefined
          ? { text: 'fine' }
          : { status: 400, body: error(`unknown field ${field}`) };
      },
      ['chat'],
    ],
    [asked, asked],
  );
  expect(kinds(reports)).toEqual(['answered', 'answered']);
  expect(requests).toHaveLength(1 + 4 + 1);
  expect(warnings).toHaveLength(2);
});

test('what one model refuses is still asked of another', async () => {
  const { requests } = await inARow(
    [
      ({ body = {} }) =>
        body['model'] === 'small' && 'text' in body
          ? { status: 400, body: error('no json_schema') }
          : { text: '{}' },
    ],
    [{ schema, attributes: { llm_model: 'small' } }, { schema }],
  );
  expect(requests.map(({ body = {} }) => 'text' in body)).toEqual([true, false, true]);
});

test('words in a refusal that leaving the part out does not cure are not remembered', async () => {
  const refusal: Reaction = { status: 400, body: error('the temperature of the room is too high') };
  const { reports, requests, warnings } = await inARow([[refusal, refusal, { text: 'fine' }]], [{}, {}], {
    temperature: 0.5,
  });
  expect(reports).toMatchObject([{ kind: 'failed', class: 'config' }, { kind: 'answered' }]);
  expect(requests.map(({ body = {} }) => 'temperature' in body)).toEqual([true, false, true]);
  expect(warnings).toEqual([]);
});

test('a refusal that names a part which was not sent is final', async () => {
  const { reports, requests } = await inARow(
    [() => ({ status: 400, body: error('no response_format, no effort') })],
    [{}],
  );
  expect(reports).toMatchObject([{ kind: 'failed', class: 'config' }]);
  expect(requests).toHaveLength(1);
});
