/** A model that works with tools: a server scripted call by call, real files, real programs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { OpenaiOptions } from '../../../src/agents/openai.ts';
import type { Clock } from '../../../src/core/contracts/clock.ts';
import { Superseded } from '../../../src/platform/files/fence.ts';
import { handClock } from '../../support/clock.ts';
import {
  type ModelRequest,
  type Reaction,
  type SpokenApi,
  startModelServer,
} from '../../support/model-server.ts';
import { keepsTheAgentContract, settingsOf, wellFormed } from '../contract.ts';
import { programTask } from '../program-task.ts';
import { agentAt, apiKey, never } from './tell.ts';

type Call = { readonly name: string; readonly arguments: object | string };
const call = (name: string, args: object | string = {}): Call => ({ name, arguments: args });
const calls = (...all: readonly Call[]): Reaction => ({ calls: all });
/** Arguments that are nested too deeply. */
const deep = `{"path": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
const done = (more: object = {}) => call('finish', { outcome: 'success', notes: 'did it', ...more });

type More = {
  readonly files?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly options?: Partial<OpenaiOptions>;
  readonly speaks?: readonly SpokenApi[];
  readonly clock?: Clock;
  readonly task?: Parameters<Awaited<ReturnType<typeof programTask>>['task']>[0];
};

async function job(reactions: Parameters<typeof startModelServer>[0], more: More = {}) {
  const server = await startModelServer(reactions, more.speaks);
  const it = await programTask(more.files ?? {});
  const agent = agentAt(server, more.clock ?? handClock(), more.options);
  const work = async (signal = never()) => {
    const attributes = { 'agent.mode': 'agent', ...more.attributes };
    const report = wellFormed(await agent.work(it.task({ attributes, ...more.task }, signal), signal));
    await server.idle();
    expect(JSON.stringify(report)).not.toContain(apiKey);
    return report;
  };
  return {
    ...it,
    server,
    work,
    at: (path: string) => join(it.workspace, path),
    text: (path: string) => readFileSync(join(it.workspace, path), 'utf8'),
    record: () =>
      it.lines('openai.transcript.jsonl').map((line) => JSON.parse(line) as Record<string, unknown>),
    /** The results of its calls that the model received, in order. */
    told: () => toldIn(server.requests.at(-1)),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

function toldIn(request: ModelRequest | undefined): string[] {
  const items = (request?.body?.['input'] ?? request?.body?.['messages']) as readonly Record<
    string,
    unknown
  >[];
  // Of the Messages API the results of a turn are the blocks of one message.
  const blocks = items.flatMap((item) =>
    item['role'] === 'user' && Array.isArray(item['content'])
      ? (item['content'] as readonly Record<string, unknown>[])
      : [item],
  );
  return blocks.flatMap((item) =>
    item['type'] === 'tool_result'
      ? [String(item['content'])]
      : item['type'] === 'function_call_output'
        ? [String(item['output'])]
        : item['role'] === 'tool'
          ? [String(item['content'])]
          : [],
  );
}

keepsTheAgentContract('openai', async () => {
  const fine = await startModelServer((request) =>
    toldIn(request).length === 0 ? calls(call('list')) : calls(done()),
  );
  const refusing = await startModelServer(() => ({ status: 401 }));
  const silent = await startModelServer(() => ({ hang: true, text: 'first words' }));
  const servers = [fine, refusing, silent];
  const at = (server: (typeof servers)[number]) => {
    const agent = agentAt(server);
    const settings = settingsOf({ 'openai.tools': 'read,list' });
    return {
      ...agent,
      work: (task: Parameters<typeof agent.work>[0], signal: AbortSignal) =>
        agent.work({ ...task, settings }, signal),
    };
  };
  return {
    agent: at(fine),
    broken: { agent: at(refusing) },
    endless: { agent: at(silent), begun: () => silent.arrived(1) },
    async quiet() {
      for (const server of servers) await server.idle();
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.close();
    },
  };
});

const fixing: readonly Reaction[] = [
  {
    calls: [call('list'), call('read', { path: 'sum.js' })],
    usage: { input_tokens: 100, output_tokens: 10 },
  },
  calls(
    call('patch', { path: 'sum.js', edits: [{ find: 'a - b', replace: 'a + b' }] }),
    call('write', { path: 'docs/note.md', content: 'fixed\n' }),
  ),
  calls(call('run', { command: 'node check.js' })),
  calls(
    done({
      preferred_next_label: 'ship',
      suggested_next_ids: ['next'],
      context_updates: { 'work.done': true },
      verification_plan: { files: ['sum.js'], commands: ['node check.js'] },
    }),
  ),
];
const broken = {
  'sum.js': 'module.exports = (a, b) => a - b;\n',
  'check.js': "if (require('./sum.js')(1, 2) !== 3) process.exit(1); console.log('fine');\n",
};

const apis = [
  ['the Responses API', ['responses'], {}, 4],
  ['chat completions, found out by itself', ['chat'], {}, 5],
  ['chat completions, asked for', ['responses', 'chat'], { 'openai.api': 'chat' }, 4],
  ['the Messages API', ['anthropic'], { 'openai.api': 'anthropic' }, 4],
] as const;

test.for(apis)(
  'over %s a file is found, fixed and checked, and the model reports how it went',
  async ([, speaks, attributes, requests]) => {
    await using it = await job(fixing, { files: broken, speaks, attributes });
    expect(await it.work()).toEqual({
      kind: 'finished',
      outcome: 'success',
      label: 'ship',
      suggested: ['next'],
      notes: 'did it',
      reason: '',
      updates: { 'work.done': true },
      verificationPlan: { files: ['sum.js'], commands: ['node check.js'] },
      response: expect.stringContaining('"outcome": "success"'),
      usage: { model: 'gpt-test', input_tokens: 133, output_tokens: 31, cost_usd: null },
    });
    expect(it.text('sum.js')).toBe('module.exports = (a, b) => a + b;\n');
    expect(it.text('docs/note.md')).toBe('fixed\n');
    expect(it.told()).toEqual([
      expect.stringContaining('check.js 75'),
      expect.stringContaining('a - b'),
      expect.stringMatching(/^sum.js: written/),
      expect.stringMatching(/^docs\/note.md: written, 6 bytes \(a new file\)/),
      'exit code 0\nstdout (5 bytes):\nfine\nstderr: nothing',
    ]);
    expect(it.actions).toMatchObject([
      { action: 'tool_call', detail: 'list .', status: 'completed' },
      { action: 'tool_call', detail: 'read sum.js', status: 'completed' },
      { action: 'file_change', detail: 'sum.js', status: 'completed' },
      { action: 'file_change', detail: 'docs/note.md', status: 'completed' },
      { action: 'command', detail: 'node check.js', status: 'completed' },
    ]);
    expect(it.server.requests).toHaveLength(requests);
  },
);

test.for(apis)(
  'over %s a refused call is a result for the model, which continues',
  async ([, speaks, attributes]) => {
    await using it = await job(
      [
        calls(
          call('read', '{"path": "a.t'),
          call('read', deep),
          call('reed', { path: 'a.txt' }),
          call('read', { file: 'a.txt' }),
          call('read', '["a.txt"]'),
          call('write', { path: 'a.txt', content: 7 }),
          call('patch', { path: 'a.txt', edits: [{ find: 'nowhere', replace: '' }] }),
          call('run', { command: 'false' }),
          done(),
        ),
        calls(call('finish', { outcome: 'great' })),
        calls(call('finish', '{"outcome": ')),
        calls(call('finish', deep)),
        calls(call('finish', { outcome: 'fail', notes: 'no luck', context_updates: { outcome: 'success' } })),
        calls(call('finish', { outcome: 'fail', notes: 'no luck' })),
      ],
      { files: { 'a.txt': 'a\n' }, speaks, attributes },
    );
    expect(await it.work()).toMatchObject({
      kind: 'finished',
      outcome: 'fail',
      reason: 'no luck',
      notes: 'no luck',
    });
    expect(it.told()).toEqual([
      expect.stringMatching(/^error: the arguments are no JSON .*call the tool again/),
      expect.stringMatching(/^error: the arguments are no JSON .*more than 900 levels/),
      'error: there is no tool "reed": did you mean "read"?',
      expect.stringMatching(/^error: the arguments of read do not fit: .*path/),
      expect.stringMatching(/^error: the arguments of read do not fit: .*object/),
      expect.stringMatching(/^error: the arguments of write do not fit: .*content/),
      expect.stringMatching(/^error: a.txt is unchanged: edit 1 of 1 does not apply/),
      'exit code 1\nstdout: nothing\nstderr: nothing',
      expect.stringMatching(/^error: other calls of this turn failed/),
      expect.stringMatching(/^error: the answer has the outcome "great"/),
      expect.stringMatching(/^error: the answer is not valid JSON/),
      expect.stringMatching(/^error: the answer is not valid JSON: .*nested deeper than/),
      expect.stringMatching(/^error: context_updates may not set "outcome"/),
    ]);
    expect(it.text('a.txt')).toBe('a\n');
  },
);

test.for(apis)('over %s a message without calls ends the session', async ([, speaks, attributes]) => {
  await using it = await job([{ text: 'nothing to do here', reasoning: ['hm'] }], { speaks, attributes });
  expect(await it.work()).toMatchObject({ kind: 'answered', text: 'nothing to do here', reasoning: 'hm' });
  expect(it.shown.join('')).toContain('nothing to do here');
});

test('each request has all that was said before, and the server stores nothing', async () => {
  const sealed = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed' };
  const bare = { id: 'rs_2', type: 'reasoning', summary: [{ type: 'summary_text', text: 'so' }] };
  const asked = (id: string) => ({
    id: `fc_${id}`,
    type: 'function_call',
    call_id: `call_${id}`,
    name: 'list',
    arguments: `{"depth":${id}}`,
  });
  const ended = (output: readonly object[]): Reaction => ({
    events: [{ type: 'response.completed', response: { id: 'r', status: 'completed', output } }],
  });
  await using it = await job([ended([sealed, asked('1')]), ended([bare, asked('2')]), calls(done())], {
    attributes: { 'openai.tools': 'list', reasoning_effort: 'low' },
  });
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  const bodies = it.server.requests.map(({ body }) => body);
  expect(bodies[0]).toMatchObject({
    model: 'gpt-test',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low' },
    input: [{ role: 'user', content: 'do it' }],
    tools: [
      { type: 'function', name: 'list', strict: false },
      { type: 'function', name: 'finish' },
    ],
  });
  const withoutId = ({ id: _, ...item }: { id: string }) => item;
  const result = (id: string) => ({
    type: 'function_call_output',
    call_id: `call_${id}`,
    output: '"." has nothing in it',
  });
  expect(bodies[2]?.['input']).toEqual([
    { role: 'user', content: 'do it' },
    sealed,
    withoutId(asked('1')),
    result('1'),
    // Of this reasoning the server has nothing, and the request only a summary.
    withoutId(asked('2')),
    result('2'),
  ]);
});

test('only the tools that the node names are offered and carried out', async () => {
  await using it = await job([calls(call('write', { path: 'a', content: 'a' })), calls(done())], {
    attributes: { 'agent.mode': '', 'openai.tools': 'read, search' },
  });
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  const offered = it.server.requests[0]?.body?.['tools'] as readonly { name: string }[];
  expect(offered.map(({ name }) => name)).toEqual(['read', 'search', 'finish']);
  expect(it.told()).toEqual([expect.stringContaining('there is no tool "write"')]);
  expect(it.inWorkspace()).toEqual([]);
});

test('a node that keeps the answer in a file gets the last text, and no finish is offered', async () => {
  await using it = await job([calls(call('list')), { text: '{"outcome":"fail"}' }], {
    attributes: { response_file: 'answer.md', 'openai.tools': 'list' },
  });
  expect(await it.work()).toMatchObject({ kind: 'answered', text: '{"outcome":"fail"}' });
  const offered = it.server.requests[0]?.body?.['tools'] as readonly { name: string }[];
  expect(offered.map(({ name }) => name)).toEqual(['list']);
});

test('a schema is asked for, over chat completions too, also of one single answer', async () => {
  const schema = { type: 'object' };
  await using it = await job([{ json: { a: 1 } }], {
    speaks: ['chat'],
    attributes: { 'agent.mode': 'single', 'openai.api': 'chat' },
    task: { schema: { name: 'plan', schema } },
  });
  expect(await it.work()).toMatchObject({ kind: 'answered', text: '{"a":1}' });
  expect(it.server.requests).toHaveLength(1);
  expect(it.server.requests[0]?.body).toEqual({
    model: 'gpt-test',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'do it' }],
    response_format: { type: 'json_schema', json_schema: { name: 'plan', schema, strict: false } },
  });
});

test('an outcome in a code fence is kept unchanged', async () => {
  const text = '```json\n{"outcome": "success"}\n```';
  await using it = await job([{ text }]);
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success', response: `${text}\n` });
});

test('an outcome in JSON counts, and an invalid one is asked for again', async () => {
  await using it = await job([
    { text: '```json\n{"outcome": "perfect"}\n```' },
    { text: '{"outcome": "retry", "failure_reason": "later"}' },
  ]);
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'retry', reason: 'later' });
  expect(JSON.stringify(it.server.requests[1]?.body?.['input'])).toContain('Call finish instead');
});

test('after three empty answers the node fails', async () => {
  await using it = await job([calls(), calls(), calls(), calls(done())]);
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: expect.stringContaining('its answer was empty'),
  });
  expect(it.server.requests).toHaveLength(3);
});

test('a refused finish is a call like others: one repeated without end is a stalled agent', async () => {
  await using it = await job([calls(call('finish', 'no json')), calls(done())]);
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.actions).toMatchObject([{ detail: 'finish', identity: 'finish no json', status: 'failed' }]);
});

test('calls are distinguished by their arguments, refused ones too', async () => {
  await using it = await job([
    calls(
      call('read', { path: 'a.txt', from: 1 }),
      call('read', { path: 'a.txt', from: 2 }),
      call('reed', { path: 'a' }),
    ),
    calls(done()),
  ]);
  await it.work();
  expect(it.actions.map(({ identity, status }) => [identity, status])).toEqual([
    ['read {"path":"a.txt","from":1}', 'failed'],
    ['read {"path":"a.txt","from":2}', 'failed'],
    ['reed {"path":"a"}', 'failed'],
  ]);
});

test('the work fails at the limit of turns, and the model is warned before', async () => {
  let n = 0;
  await using it = await job(() => calls(call('write', { path: 'n', content: String(n++) })), {
    attributes: { max_turns: '5' },
  });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: 'the work was not done within 5 turns (max_turns)',
    usage: { input_tokens: 55, output_tokens: 35 },
  });
  expect(it.server.requests).toHaveLength(5);
  const notes = it.told().map((text) => /\[note: (.*); call/.exec(text)?.[1]);
  expect(notes).toEqual([undefined, 'turns left: 3', 'turns left: 2', 'turns left: 1']);
});

test('at the limit of tokens no further call is made, and no answer may exceed the rest', async () => {
  await using it = await job(
    [
      { calls: [call('list')], usage: { input_tokens: 30, output_tokens: 820 } },
      { calls: [call('list', { depth: 2 })], usage: { input_tokens: 120, output_tokens: 30 } },
    ],
    { attributes: { max_tokens: '1000' } },
  );
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: 'the work was not done within 1000 tokens (max_tokens; 1000 were used)',
  });
  expect(it.server.requests.map(({ body }) => body?.['max_output_tokens'])).toEqual([1000, 150]);
  expect(it.told()).toEqual([expect.stringContaining('[note: tokens left: 150; call finish soon]')]);
});

test('a call that would send more tokens than are left is not made', async () => {
  await using it = await job(
    [{ calls: [call('list')], usage: { input_tokens: 400, output_tokens: 250 } }, calls(done())],
    { attributes: { max_tokens: '1000' }, files: { ['x'.repeat(200)]: '' } },
  );
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: expect.stringMatching(
      /1000 tokens \(max_tokens; 650 were used, and the next call would send about 400\)/,
    ),
  });
  expect(it.server.requests).toHaveLength(1);
});

test.for(['half way', ''])(
  'the last text of the model is kept when a limit ends the session: %j',
  async (text) => {
    const message = { type: 'message', content: [{ type: 'output_text', text }] };
    const list = { type: 'function_call', call_id: 'c', name: 'list', arguments: '{}' };
    const response = { id: 'r', status: 'completed', output: [message, list] };
    await using it = await job([{ events: [{ type: 'response.completed', response }] }], {
      attributes: { max_turns: '1' },
    });
    const report = await it.work();
    expect(report).toMatchObject({ kind: 'failed', reason: expect.stringContaining('max_turns') });
    expect(report).toEqual(
      text === ''
        ? expect.not.objectContaining({ response: text })
        : expect.objectContaining({ response: text }),
    );
  },
);

test('the limits of the run apply between turns', async () => {
  const asked: (readonly [number | null | undefined, number])[] = [];
  await using it = await job([calls(call('list')), calls(call('list', { depth: 2 })), calls(done())], {
    task: {
      async budget(used, sends) {
        asked.push([used?.input_tokens, sends]);
        return asked.length < 3
          ? { tokens: 500 - asked.length }
          : { empty: 'max_tokens: the run has spent it' };
      },
    },
  });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'budget',
    reason: 'max_tokens: the run has spent it',
    usage: { input_tokens: 22, output_tokens: 14 },
  });
  expect(asked.map(([input]) => input)).toEqual([undefined, 11, 22]);
  expect(it.server.requests.map(({ body }) => body?.['max_output_tokens'])).toEqual([499, 498]);
});

test.for([
  ['at all', null],
  ['what it is sent', { input_tokens: -1 }],
  ['what it answers', { output_tokens: -1 }],
] as const)(
  'a cap of tokens stops a server that does not count %s, unless the node allows that',
  async ([, usage]) => {
    const silent: Reaction = { calls: [call('list')], usage };
    await using it = await job([silent, calls(done())], { attributes: { max_tokens: '1000' } });
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('unknown_cost=allow'),
    });
    await using free = await job([silent, calls(done())], {
      attributes: { max_tokens: '1000' },
      task: { uncounted: true },
    });
    expect(await free.work()).toMatchObject({ kind: 'finished' });
  },
);

test('the work ends at the timeout of the node', async () => {
  const clock = handClock(1000);
  await using it = await job((_, index) => (index === 0 ? calls(call('list')) : { hang: true }), {
    clock,
    task: { timeoutMs: 100_000 },
  });
  const work = it.work();
  await it.server.arrived(2);
  clock.advance(100_000);
  expect(await work).toMatchObject({
    kind: 'failed',
    class: 'timeout',
    reason: expect.stringContaining("within 100 s (the node's timeout)"),
  });
});

test('half a call of a broken stream is not carried out: the request is repeated', async () => {
  const item = { type: 'function_call', id: 'fc', call_id: 'c', name: 'write', arguments: '' };
  const half: Reaction = {
    events: [
      { type: 'response.output_item.added', output_index: 0, item },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'fc',
        output_index: 0,
        delta: '{"path":"a"',
      },
    ],
  };
  const refused: Reaction = { status: 400, body: { error: { message: 'what is background?' } } };
  await using it = await job([half, refused, calls(done())]);
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.inWorkspace()).toEqual([]);
  const background = it.server.requests[1]?.body;
  expect(background).toMatchObject({ background: true, store: true });
});

type Piece = { readonly index?: number; readonly id?: string; readonly name?: string; readonly said: string };
const wholeA = JSON.stringify({ path: 'a', content: 'x' });
const wholeB = JSON.stringify({ path: 'b', content: 'y' });

test.for<[string, readonly Piece[]]>([
  [
    'whole, all under the number 0',
    [
      { index: 0, id: 'x', name: 'write', said: wholeA },
      { index: 0, id: 'y', name: 'write', said: wholeB },
    ],
  ],
  [
    'with their arguments as objects',
    [
      { index: 0, id: 'x', name: 'write', said: JSON.parse(wholeA) },
      { index: 1, id: 'y', name: 'write', said: JSON.parse(wholeB) },
    ],
  ],
  [
    'in pieces without a number, each with the name',
    [
      { id: 'x', name: 'write', said: wholeA.slice(0, 6) },
      { id: 'x', name: 'write', said: wholeA.slice(6) },
      { id: 'y', name: 'write', said: wholeB.slice(0, 6) },
      { id: 'y', name: 'write', said: wholeB.slice(6) },
    ],
  ],
])('calls that a server sends %s are separate calls', async ([, pieces]) => {
  const events = pieces.map(({ said, name, ...rest }) => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ ...rest, function: { name, arguments: said } }] },
        finish_reason: null,
      },
    ],
  }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  await using it = await job([{ events: [...events, end] }, calls(done())], {
    speaks: ['chat'],
    attributes: { 'openai.api': 'chat' },
  });
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect([it.text('a'), it.text('b')]).toEqual(['x', 'y']);
});

test.for([
  [
    { status: 404, body: { error: { message: 'no such model', code: 'model_not_found' } } },
    ['responses'],
    'config',
    /model "gpt-test" was not found/,
    1,
  ],
  [{ status: 401, body: { error: { message: 'bad key' } } }, ['responses'], 'config', /key was refused/, 1],
  [{ status: 500 }, ['responses'], 'infra', /in trouble.*after 3 tries/, 3],
  [{ status: 500 }, ['chat'], 'infra', /in trouble.*after 3 tries/, 4],
  [{ refusal: 'I will not' }, ['responses'], 'agent', /refused: I will not/, 1],
  [{ incomplete: true }, ['chat'], 'agent', /does not fit into the tokens/, 2],
] as const)(
  'when the server answers %j over %j the report is of class %s',
  async ([reaction, speaks, failureClass, words, requests]) => {
    await using it = await job(() => reaction, { speaks });
    const report = await it.work();
    expect(report).toMatchObject({ kind: 'failed', class: failureClass });
    expect(report.kind === 'failed' && report.reason).toMatch(words);
    expect(it.server.requests).toHaveLength(requests);
    expect(it.record().at(-1)).toMatchObject({ type: 'end', kind: 'failed', class: failureClass });
  },
);

test('a server that refuses encrypted reasoning is asked without it', async () => {
  const message = 'Encrypted content is not supported with this model.';
  await using it = await job([
    { status: 400, body: { error: { message } } },
    calls(call('list')),
    calls(done()),
  ]);
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.server.requests.map(({ body }) => body?.['include'])).toEqual([
    ['reasoning.encrypted_content'],
    undefined,
    undefined,
  ]);
});

test('chat completions get max_tokens only under a limit', async () => {
  await using it = await job([calls(done())], { speaks: ['chat'], attributes: { max_tokens: '1000' } });
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.server.requests.at(-1)?.body).toMatchObject({ max_tokens: 1000 });
});

test('a model may give up in the turn in which a call failed', async () => {
  await using it = await job([
    calls(call('read', { path: 'no' }), call('finish', { outcome: 'fail', notes: 'gone' })),
  ]);
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'fail', reason: 'gone' });
});

test('results of one turn share a size limit: later ones are shortened', async () => {
  const files = { 'long.txt': `${'x'.repeat(60_000)}\n` };
  const many = Array.from({ length: 52 }, () => call('read', { path: 'long.txt' }));
  await using it = await job([calls(...many), calls(done())], { files });
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  const told = it.told();
  expect(told.map(({ length }) => length > 40_000).lastIndexOf(true)).toBe(3);
  expect(told.join('').length).toBeLessThan(320_000);
  expect(told.at(-1)).toBe('error: more than 50 calls at once');
});

test('a cancelled session ends the running program and reports no success', async () => {
  const stop = new AbortController();
  await using it = await job([calls(call('run', { command: "sh -c 'echo $$ > pid; exec sleep 1000'" }))]);
  const work = it.work(stop.signal);
  await vi.waitFor(() => expect(it.text('pid')).toMatch(/\n$/), { timeout: 20_000, interval: 5 });
  stop.abort();
  expect(await work).toEqual({
    kind: 'cancelled',
    usage: { model: 'gpt-test', input_tokens: 11, output_tokens: 7, cost_usd: null },
  });
  expect(existsSync(`/proc/${it.text('pid').trim()}`)).toBe(false);
});

test('the transcript has the prompt, answers, calls and the end, without the key', async () => {
  await using it = await job([
    calls(call('write', { path: 'key.txt', content: `it is ${apiKey}` })),
    calls(done()),
  ]);
  await it.work();
  const record = it.record();
  expect(record).toMatchObject([
    { type: 'start', model: 'gpt-test', prompt: 'do it', limits: { maxTurns: 50 } },
    { type: 'answer', turn: 1, usage: { input_tokens: 11 } },
    {
      type: 'call',
      name: 'write',
      arguments: { path: 'key.txt', content: 'it is ***' },
      ok: true,
      result: expect.stringMatching(/^key.txt: written/),
    },
    { type: 'answer', turn: 2 },
    { type: 'end', kind: 'finished', outcome: 'success', usage: { input_tokens: 22 } },
  ]);
  expect(it.read('openai.transcript.jsonl')).not.toContain(apiKey);
});

test.for([
  ['a disk that is full', Object.assign(new Error('no space left'), { code: 'ENOSPC' })],
  ['a run that was taken over', new Superseded('taken over')],
])('%s rejects the call', async ([, trouble]) => {
  await using it = await job([calls(call('list'))], { task: { keep: () => Promise.reject(trouble) } });
  await expect(it.work()).rejects.toBe(trouble);
});

test('what was used before the agent broke is reported', async () => {
  const acted = () => {
    throw new Error('torn');
  };
  await using it = await job([calls(call('list'))], { task: { acted } });
  expect(await it.work()).toEqual({
    kind: 'failed',
    class: 'internal',
    reason: 'the openai agent broke: torn',
    usage: { model: 'gpt-test', input_tokens: 11, output_tokens: 7, cost_usd: null },
  });
});

test('a session waits for a provider that is down and continues; its first turn is left to the run', async () => {
  const busy: Reaction = { status: 503 };
  await using it = await job([calls(call('list')), ...Array.from({ length: 6 }, () => busy), calls(done())], {
    task: { outageMs: 120_000 },
  });
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
  expect(it.server.requests).toHaveLength(8);

  await using lost = await job([calls(call('list')), ...Array.from({ length: 12 }, () => busy)], {
    clock: handClock(120_000),
    task: { outageMs: 120_000 },
  });
  expect(await lost.work()).toMatchObject({ class: 'infra', park: { kind: 'outage', waitedMs: 120_000 } });

  await using first = await job([busy, calls(done())], { task: { outageMs: 120_000 } });
  expect(await first.work()).toMatchObject({ class: 'infra', park: { kind: 'outage' } });
  expect(first.server.requests).toHaveLength(1);
});

test('a word that an edge names is one of the outcomes of finish, and two ends of one turn count for nothing', async () => {
  await using it = await job(
    [
      calls(done(), call('finish', { outcome: 'fail', notes: 'no' })),
      calls(call('finish', { outcome: 'refused', notes: 'no' })),
      calls(call('finish', { outcome: 'rejected', notes: 'no' })),
    ],
    { task: { named: [{ test: '=', literal: 'rejected' }] } },
  );
  expect(await it.work()).toMatchObject({
    kind: 'finished',
    outcome: 'success',
    label: 'rejected',
    ownWord: true,
  });
  const offered = JSON.stringify(it.server.requests[0]?.body?.['tools']);
  expect(offered).toContain('"enum":["success","partial_success","retry","fail","rejected"]');
  expect(it.told()).toEqual([
    expect.stringContaining('two outcomes'),
    expect.stringContaining('two outcomes'),
    expect.stringContaining('"refused", which is none of'),
  ]);
});
