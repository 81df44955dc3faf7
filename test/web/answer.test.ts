/** A question of a run is answered over HTTP: by the page, by programs, and with the token of a notice. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  graph [label="Release", workdir="none", vars="say=hello"]
  start [shape=Mdiamond] exit [shape=Msquare]
  gate [shape=hexagon, prompt="Say \${var.say}?"]
  start -> gate
  gate -> exit [label="[A] Approve"]
  gate -> gate [label="[O] Once more"]
}`;
/** Its agent needs a key after the gate. */
const keyed = `digraph g {
  graph [workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  gate [shape=hexagon, label="Ask the model?"]
  model [prompt="Say hello."]
  start -> gate
  gate -> model [label="Yes"]
  gate -> exit [label="No"]
  model -> exit
}`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
beforeAll(async () => {
  place = await house({ 'p.dot': pipeline, 'keyed.dot': keyed });
  server = await served(place.path, { notify: 'cat >> notices.jsonl' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const factory = (words: string, flags: Flags = {}, env: Readonly<Record<string, string>> = {}) =>
  call(words.split(' '), flags, { cwd: place.path, env: cleanEnv({ HOME: place.path, ...env }) });

/** Starts a run in the background, and waits until it asks. */
async function asking(runId: string, flags: Flags = {}, env: Readonly<Record<string, string>> = {}) {
  await factory('run p.dot', { runId, detach: true, ...flags }, env);
  expect((await factory(`wait ${runId}`)).code).toBe(75);
  return { run: runId, path: `/api/v1/runs/${runId}/answer` };
}

const answers = (run: string) =>
  place
    .records(`.factory/runs/${run}/journal.jsonl`)
    .flatMap(({ answer, visit }) => (answer === undefined ? [] : [{ visit, ...(answer as object) }]));

test('an answer is checked, counts once, and resumes the run in the background', async () => {
  const { run, path } = await asking('one');
  const { question } = await server.json(`/api/v1/runs/${run}`);
  expect(question).toMatchObject({
    ...{ id: 'gate@1', text: 'Say hello?', text_to: null, answer: null },
    options: [
      { key: 'A', label: 'Approve', to: 'exit', command: 'factory answer one gate@1 --choice A' },
      { key: 'O', label: 'Once more', to: 'gate' },
    ],
  });
  const refusals = [
    [{ choice: 'z' }, 400, 'answer-option'],
    [{}, 400, 'answer-option'],
    [{ text: 'yes' }, 400, 'answer-text'],
    [{ question: 'gate@2', choice: 'A' }, 409, 'answer-question'],
    [{ choice: 'A', more: 1 }, 400, 'bad-request'],
  ] as const;
  for (const [body, status, code] of refusals) {
    const answer = await server.post(path, body);
    expect([answer.status, JSON.parse(answer.text).code], JSON.stringify(body)).toEqual([status, code]);
  }
  const first = await server.post(path, { choice: 'approve', by: 'ada' });
  expect(JSON.parse(first.text)).toMatchObject({
    ...{ run_id: 'one', question: 'gate@1', resumed: 'background', why: '' },
    given: { words: 'Approve', choice: 'exit', by: 'ada', from: 'api' },
    command: 'factory answer one gate@1 --choice approve --by ada',
  });
  const second = await server.post(path, { question: 'gate@1', choice: 'O', by: 'bob' });
  expect([second.status, JSON.parse(second.text)]).toMatchObject([
    409,
    { code: 'answer-taken', message: expect.stringMatching(/answered already by ada at .*: Approve/) },
  ]);
  expect((await factory(`wait ${run}`)).code).toBe(0);
  expect(answers(run)).toMatchObject([{ visit: 1, choice: 'exit', by: 'ada', from: 'api' }]);
  const acts = place.records(`.factory/runs/${run}/acts.jsonl`);
  expect(acts).toMatchObject([
    { what: 'answer', who: 'page', question: 'gate@1', choice: 'exit', by: 'ada' },
  ]);
  const shown = await server.json(`/api/v1/runs/${run}/nodes/gate/1`);
  expect(shown).toMatchObject({
    question: { text: 'Say hello?' },
    human_answer: { words: 'Approve', by: 'ada' },
  });
});

test('the token of a notice answers its question once, and opens nothing else', async () => {
  const { run, path } = await asking('two', { notify: 'cat > notice.json' });
  await expect.poll(() => place.json('notice.json').status).toBe('paused_answer');
  const { question, answer } = place.json('notice.json');
  expect(question).toMatchObject({ id: 'gate@1', text: 'Say hello?', options: [{ key: 'A' }, { key: 'O' }] });
  expect(answer.path).toBe(path);
  const withToken = (token: string, to = path, body: object = { choice: 'O' }) =>
    server.post(to, body, { authorization: '', 'x-factory-answer-token': token });
  await asking('three');
  for (const [token, to] of [
    [`${answer.token}x`, path],
    ['gate@1', path],
    [answer.token, '/api/v1/runs/three/answer'],
    [answer.token, `/api/v1/runs/${run}/stop`],
    [answer.token, '/api/v1/runs/none/answer'],
  ] as const)
    expect((await withToken(token, to)).status, `${token} ${to}`).toBe(401);
  expect((await withToken(answer.token, path, { question: 'gate@2', choice: 'O' })).status).toBe(403);
  const other = await server.post(
    path,
    { choice: 'O' },
    { ...{ authorization: '', origin: 'http://x.org' }, 'x-factory-answer-token': answer.token },
  );
  expect(other.status).toBe(403);
  const first = await withToken(answer.token);
  expect(JSON.parse(first.text)).toMatchObject({ given: { by: 'api', from: 'api' }, resumed: 'background' });
  expect((await factory(`wait ${run}`)).code).toBe(75);
  // The run asks again: the token was for its first question.
  expect(JSON.parse((await withToken(answer.token)).text)).toMatchObject({ code: 'answer-taken' });
  expect(answers(run)).toMatchObject([{ visit: 1, choice: 'gate' }]);
  expect((await server.json(`/api/v1/runs/${run}`)).question.id).toBe('gate@2');
  const sent = () => place.records('notices.jsonl').filter(({ run_id }) => run_id === run);
  await expect.poll(sent).toMatchObject([{ question: { id: 'gate@2' }, answer: { path } }]);
});

test('a read-only server takes no answer', async () => {
  const { path } = await asking('four');
  await using other = await served(place.path, { readOnly: true });
  expect((await other.post(path, { choice: 'A' })).status).toBe(405);
});

test('an answer that another process has given resumes the run, unless it is of earlier', async () => {
  const { run } = await asking('five');
  expect((await factory(`answer ${run} --choice A`, { noResume: true })).code).toBe(0);
  await expect
    .poll(() => server.json(`/api/v1/runs/${run}`), { timeout: 20_000 })
    .toMatchObject({ status: 'completed' });
  expect(answers(run)).toMatchObject([{ from: 'command' }]);
});

test('without the key of its agent the answer is kept, and the run is not resumed', async () => {
  const flags = { agent: 'openai', model: 'gpt-5.2' };
  await factory('run keyed.dot', { runId: 'six', detach: true, ...flags }, { OPENAI_API_KEY: 'sk-test' });
  expect((await factory('wait six')).code).toBe(75);
  const { text } = await server.post('/api/v1/runs/six/answer', { choice: 'no' });
  expect(JSON.parse(text)).toMatchObject({
    ...{ resumed: 'no', next: 'factory resume six', given: { choice: 'exit' } },
    why: expect.stringContaining('OPENAI_API_KEY'),
  });
  expect((await server.json('/api/v1/runs/six')).question.answer).toMatchObject({ words: 'No' });
  expect((await factory('resume six', {}, { OPENAI_API_KEY: 'sk-test' })).code).toBe(0);
});
