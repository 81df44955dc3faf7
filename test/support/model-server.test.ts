import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { startModelServer } from './model-server.ts';

const clientOf = (url: string) =>
  new OpenAI({ apiKey: 'sk-test', baseURL: url, maxRetries: 0, logLevel: 'off' });

test('the package reads a streamed answer of it from the first event to the last', async () => {
  await using server = await startModelServer([{ text: 'some words here', reasoning: ['hm'] }]);
  const stream = clientOf(server.url).responses.stream({ model: 'm', input: 'x' });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  const final = await stream.finalResponse();
  expect(types[0]).toBe('response.created');
  expect(types.at(-1)).toBe('response.completed');
  expect(types.filter((type) => type === 'response.output_text.delta')).toHaveLength(3);
  expect(final.output_text).toBe('some words here');
  expect(final.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
});

test('the package reads a whole answer of it', async () => {
  await using server = await startModelServer([{ json: { a: 1 } }, { incomplete: true, text: 'half' }]);
  const client = clientOf(server.url);
  expect((await client.responses.create({ model: 'm', input: 'x' })).output_text).toBe('{"a":1}');
  expect(await client.responses.create({ model: 'm', input: 'x' })).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  });
});

test('the package polls it for an answer in the background', async () => {
  await using server = await startModelServer([{ text: 'later', polls: 2 }]);
  const client = clientOf(server.url);
  const queued = await client.responses.create({ model: 'm', input: 'x', background: true });
  const states = [queued.status];
  for (let i = 0; i < 3; i += 1) states.push((await client.responses.retrieve(queued.id)).status);
  expect(states).toEqual(['queued', 'in_progress', 'in_progress', 'completed']);
  expect((await client.responses.retrieve(queued.id)).output_text).toBe('later');
  expect(server.requests.map((r) => `${r.method} ${r.path}`).slice(0, 2)).toEqual([
    'POST /v1/responses',
    `GET /v1/responses/${queued.id}`,
  ]);
});

test('a request without a reaction is refused, and so is a path that it does not have', async () => {
  await using server = await startModelServer([]);
  const client = clientOf(server.url);
  await expect(client.responses.create({ model: 'm', input: 'x' })).rejects.toMatchObject({ status: 400 });
  await expect(client.models.list()).rejects.toMatchObject({ status: 404 });
});
