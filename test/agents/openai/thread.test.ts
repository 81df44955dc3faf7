/** A model that continues a conversation: what the next task sends of the earlier ones. */
import { expect, test } from 'vitest';
import type { AgentThread } from '../../../src/core/contracts/agent.ts';
import {
  type ModelRequest,
  type Reaction,
  type SpokenApi,
  startModelServer,
} from '../../support/model-server.ts';
import { wellFormed } from '../contract.ts';
import { programTask } from '../program-task.ts';
import { agentAt, apiKey, never } from './tell.ts';

const finish = { name: 'finish', arguments: { outcome: 'success', notes: 'did it' } };
const list = { name: 'list', arguments: { path: '.' } };
const loop = { 'agent.mode': 'agent' };

type Asked = { readonly prompt: string; readonly attributes?: Readonly<Record<string, string>> };

/** Gives each task to the agent, with what it kept of the one before; `first` is what is there before the first. */
async function talks(
  reactions: readonly Reaction[],
  tasks: readonly Asked[],
  { api = 'responses', first }: { readonly api?: SpokenApi; readonly first?: string } = {},
) {
  await using server = await startModelServer(reactions, [api]);
  await using it = await programTask({ 'a.txt': 'a' });
  const agent = agentAt(server);
  let kept = first;
  const keep = (text: string) => {
    kept = text;
  };
  const reports = [];
  for (const { prompt, attributes = {} } of tasks) {
    const thread: AgentThread = { key: 't', before: kept, keep };
    const task = it.task({ prompt, attributes: { ...attributes, 'openai.api': api }, thread });
    reports.push(wellFormed(await agent.work(task, never())));
    await server.idle();
  }
  return { reports, kept, requests: server.requests };
}

/** A block of the Messages API in a line. */
function blockWords(role: unknown, { type, text, name, content }: Record<string, unknown>): string {
  if (type === 'tool_use') return `call ${name}`;
  return type === 'tool_result' ? `result ${String(content).split('\n')[0]}` : `${role}: ${text}`;
}

/** The conversation in a request, in a line for each item. */
const sentIn = ({ body = {} }: ModelRequest): string[] =>
  ((body['input'] ?? body['messages']) as readonly Record<string, unknown>[]).flatMap((item) => {
    const { role, content, type, name, output, tool_calls: calls = [] } = item;
    if (role === 'system') return [];
    if (Array.isArray(content))
      return (content as Record<string, unknown>[]).map((block) => blockWords(role, block));
    if (type === 'function_call') return [`call ${name}`];
    if (type === 'function_call_output') return [`result ${String(output).split('\n')[0]}`];
    const its = (calls as { function: { name: string } }[]).map((call) => `call ${call.function.name}`);
    return role === 'tool'
      ? [`result ${String(content).split('\n')[0]}`]
      : [...(content === '' ? [] : [`${role}: ${content}`]), ...its];
  });

test.for(['responses', 'chat', 'anthropic'] as const)(
  'with tools the next task sends prompts, calls and results: %s',
  async (api) => {
    const reactions: Reaction[] = [
      { calls: [list] },
      { calls: [list, finish] },
      { calls: [finish] },
      { text: 'Bye.' },
    ];
    const all = [{ prompt: 'one' }, { prompt: 'two' }, { prompt: 'three' }];
    const {
      requests,
      reports,
      kept = '',
    } = await talks(
      reactions,
      all.map((task) => ({ ...task, attributes: loop })),
      { api },
    );
    expect(reports.map(({ kind }) => kind)).toEqual(['finished', 'finished', 'answered']);
    const turns = [
      'user: one',
      'call list',
      'result .: 1 entry',
      'call list',
      'call finish',
      'result .: 1 entry',
      'result noted',
    ];
    expect(sentIn(requests[2] as ModelRequest)).toEqual([...turns, 'user: two']);
    expect(sentIn(requests[3] as ModelRequest)).toEqual([
      ...[...turns, 'user: two', 'call finish', 'result noted', 'user: three'],
    ]);
    expect(JSON.parse(kept).turns.at(-1)).toEqual({ by: 'model', text: 'Bye.', calls: [] });
  },
);

test('one prompt and one answer are a conversation too, and none without a thread', async () => {
  const reactions: Reaction[] = [{ text: 'One.' }, { text: `Two ${apiKey}.` }, { calls: [finish] }];
  const tasks: Asked[] = [{ prompt: 'one' }, { prompt: 'two' }, { prompt: 'three', attributes: loop }];
  const { requests, kept } = await talks(reactions, tasks);
  expect(requests[0]?.body?.['input']).toBe('one');
  expect(sentIn(requests[1] as ModelRequest)).toEqual(['user: one', 'assistant: One.', 'user: two']);
  expect(sentIn(requests[2] as ModelRequest)).toEqual([
    ...['user: one', 'assistant: One.', 'user: two', 'assistant: Two ***.', 'user: three'],
  ]);
  expect(kept).not.toContain(apiKey);
});

const session = (text: string) =>
  JSON.stringify({
    format: 'openai-thread/1',
    turns: [
      { by: 'user', text },
      { by: 'model', text: 'ok', calls: [] },
    ],
  });
const refusal: Reaction = {
  status: 400,
  body: {
    error: {
      code: 'context_length_exceeded',
      message: 'This model has a maximum context length of 8192 tokens',
    },
  },
};

test.for([
  ['it is longer than is sent again', session('x'.repeat(400_000)), [], {}, 'at most 400000 are sent again'],
  ['it is not one of this agent', '{"type":"session"}', [], {}, 'is no conversation of this agent'],
  [
    'the model has no room for it',
    session('x'),
    [refusal],
    {},
    'it is longer than the context of "gpt-test"',
  ],
  [
    'a model with tools has no room for it',
    session('x'),
    [refusal],
    loop,
    'it is longer than the context of',
  ],
  [
    'max_tokens has no room for it',
    session('x'.repeat(9000)),
    [],
    { ...loop, max_tokens: '1000' },
    'max_tokens is 1000',
  ],
] as const)('where %s it is lost, and nothing was paid', async ([, first, reactions, attributes, why]) => {
  const { reports, kept } = await talks(reactions, [{ prompt: 'on', attributes }], { first });
  expect(reports).toMatchObject([{ kind: 'failed', threadLost: true, unbilled: true }]);
  expect(reports[0]).toHaveProperty('reason', expect.stringContaining(why));
  expect(reports[0]?.usage).toBeUndefined();
  if (attributes !== loop) expect(kept).toBe(first);
});

test('a prompt that is too long by itself stays the failure that it is', async () => {
  const { reports } = await talks([refusal], [{ prompt: 'on' }]);
  expect(reports).toMatchObject([{ kind: 'failed', class: 'config' }]);
  expect(reports[0]).not.toHaveProperty('threadLost');
});
