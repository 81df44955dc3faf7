/** What agents record of their sessions, and what people see of it meanwhile: the same lines. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claudeAgent } from '../../src/agents/claude.ts';
import { claudeSession } from '../../src/agents/claude-session.ts';
import { codexAgent } from '../../src/agents/codex.ts';
import { codexSession } from '../../src/agents/codex-session.ts';
import { commandAgent } from '../../src/agents/command.ts';
import { recordedIn } from '../../src/app/inspect/session-records.ts';
import type { Agent } from '../../src/core/contracts/agent.ts';
import type { SessionLine } from '../../src/core/records/session.ts';
import { sessionOf } from '../../src/core/session.ts';
import { handClock } from '../support/clock.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';
import type { Words } from './contract.ts';
import { agentAt, never } from './openai/tell.ts';
import { programTask } from './program-task.ts';

const json = (lines: readonly object[]): string[] => lines.map((line) => JSON.stringify(line));

const codexPrints = json([
  { type: 'thread.started', thread_id: 't' },
  { type: 'turn.started' },
  { type: 'item.completed', item: { id: '0', type: 'reasoning', text: 'hm' } },
  { type: 'item.started', item: { id: '1', type: 'command_execution', command: 'npm test' } },
  {
    type: 'item.completed',
    item: {
      id: '1',
      type: 'command_execution',
      command: 'npm test',
      aggregated_output: 'red\n',
      exit_code: 1,
    },
  },
  {
    type: 'item.completed',
    item: { id: '2', type: 'file_change', changes: [{ path: 'a.js', kind: 'update' }], status: 'completed' },
  },
  {
    type: 'item.completed',
    item: {
      id: '3',
      type: 'mcp_tool_call',
      server: 'docs',
      tool: 'find',
      arguments: { query: 'x' },
      result: { content: [{ type: 'text', text: 'found' }] },
    },
  },
  { type: 'item.completed', item: { id: '4', type: 'todo_list', items: [{ text: 'fix', completed: true }] } },
  { type: 'error', message: 'Reconnecting... 1/5' },
  { type: 'item.completed', item: { id: '5', type: 'agent_message', text: 'Fixed.' } },
  { type: 'turn.completed', usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 3 } },
]);

test('the events of codex are turns, calls with their output and usage', () => {
  const steps = codexSession();
  expect([...codexPrints, 'no event', '{"type":"item.completed","item":7}'].flatMap(steps)).toEqual([
    { type: 'turn' },
    { type: 'reasoning', text: 'hm' },
    { type: 'call', id: '1', name: 'command', detail: 'npm test' },
    { type: 'result', id: '1', ok: false, output: 'red\nexit 1' },
    { type: 'call', id: '2', name: 'file change', detail: 'a.js' },
    { type: 'result', id: '2', ok: true, output: 'update a.js' },
    { type: 'call', id: '3', name: 'docs/find', detail: '', arguments: { query: 'x' } },
    { type: 'result', id: '3', ok: true, output: 'found' },
    { type: 'note', text: '[x] fix' },
    { type: 'note', text: 'Reconnecting... 1/5' },
    { type: 'text', text: 'Fixed.' },
    {
      type: 'usage',
      input_tokens: 10,
      cached_input_tokens: 4,
      output_tokens: 3,
      reasoning_tokens: undefined,
    },
  ]);
});

const claudePrints = json([
  { type: 'system', subtype: 'init', model: 'big-1', session_id: 's' },
  {
    type: 'assistant',
    message: {
      id: 'm1',
      content: [{ type: 'thinking', thinking: 'hm' }],
      usage: { input_tokens: 5, output_tokens: 1 },
    },
  },
  {
    type: 'assistant',
    message: {
      id: 'm1',
      content: [{ type: 'tool_use', id: 'c1', name: 'Bash', input: { command: 'ls', description: 'list' } }],
      usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 2 },
    },
  },
  {
    type: 'user',
    message: {
      content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'a.js' }] }],
    },
  },
  { type: 'assistant', message: { id: 'm2', content: [{ type: 'text', text: 'Done.' }] } },
  { type: 'result', subtype: 'success', is_error: false, result: 'Done.' },
]);

test('a message of claude is a turn, which begins when the model is asked', () => {
  const steps = claudeSession();
  const usage = { type: 'usage', model: 'big-1', incomplete: true };
  expect(claudePrints.map((line) => steps(line))).toEqual([
    [{ type: 'turn' }],
    [
      { type: 'reasoning', text: 'hm' },
      { ...usage, input_tokens: 5, cached_input_tokens: null, output_tokens: 1 },
    ],
    [
      {
        type: 'call',
        id: 'c1',
        name: 'Bash',
        detail: 'ls',
        arguments: { command: 'ls', description: 'list' },
      },
      { ...usage, input_tokens: 7, cached_input_tokens: 2, output_tokens: 2 },
    ],
    [{ type: 'result', id: 'c1', ok: true, output: 'a.js' }, { type: 'turn' }],
    [{ type: 'text', text: 'Done.' }],
    [],
  ]);
});

const standIn = join(import.meta.dirname, '../support/agent-stand-in.sh');
const quoted = (line: string): string => `'${line.replaceAll("'", "'\\''")}'`;
const prints = (lines: readonly string[]): string => lines.map((line) => `say ${quoted(line)}`).join('; ');

/** The lines that come while the agent works, and those that its records give. */
async function bothOf(agentWith: (env: Record<string, string>) => Agent, does: string, attributes: object) {
  await using it = await programTask({}, { STAND_IN: does });
  it.env['SEEN'] = join(it.nodeDir, 'seen');
  const live: SessionLine[] = [];
  const agent = agentWith(it.env);
  await agent.work(
    it.task({ attributes: { ...attributes }, session: (line) => live.push(line) }),
    new AbortController().signal,
  );
  const { lines } = recordedIn(it.nodeDir, { agent: agent.name, model: undefined });
  return { live, lines, logged: it.logged };
}

test.for<readonly [string, (env: Record<string, string>) => Agent, string, object]>([
  [
    'codex',
    (env) => codexAgent({ env, clock: handClock(0) }),
    prints(codexPrints),
    { 'codex.path': standIn, 'codex.json': 'true' },
  ],
  [
    'claude',
    (env) => claudeAgent({ env, clock: handClock(0) }),
    prints(claudePrints),
    { 'claude.path': standIn },
  ],
  [
    'a command',
    (env) => commandAgent({ env, clock: handClock(0) }),
    `printf '%s\\n' ${quoted('{"type":"text","text":"hi"}')} '{"type":"result","output":"x"}' > "$FACTORY_SESSION_FILE"`,
    { 'command.run': `'${standIn}'`, response_via: 'none' },
  ],
])('the records of %s give the lines that came, each with its time', async ([, agent, does, attributes]) => {
  const { live, lines } = await bothOf(agent, does, attributes);
  expect(live.length).toBeGreaterThan(2);
  expect(lines).toEqual(JSON.parse(JSON.stringify(live)));
  for (const { at } of lines) expect(at).toMatch(/^2026-01-01T/);
});

test('a line of a command that is no step of a session is left out, and the log says which', async () => {
  const wrong = `printf '%s\\n' '{"type":"text","text":"hi"}' '{"type":"dance"}' 'oops' > "$FACTORY_SESSION_FILE"`;
  const { lines, logged } = await bothOf((env) => commandAgent({ env, clock: handClock(0) }), wrong, {
    'command.run': `'${standIn}'`,
    response_via: 'none',
  });
  expect(lines.map(({ type }) => type)).toEqual(['start', 'text']);
  expect(logged).toContainEqual({
    level: 'warn',
    message: expect.stringContaining('left out: type: '),
    fields: { file: 'command.session.jsonl', line: 2 },
  });
});

test.for<readonly [string, readonly Reaction[], Words, number]>([
  ['an answer', [{ text: 'fine', usage: { input_tokens: 9, output_tokens: 2 } }], {}, 0],
  [
    'a tool loop',
    [
      { calls: [{ name: 'list', arguments: '{}' }], usage: { input_tokens: 9, output_tokens: 2 } },
      { calls: [{ name: 'finish', arguments: '{"outcome":"success","notes":"ok"}' }] },
    ],
    { 'agent.mode': 'agent', 'openai.tools': 'list' },
    2,
  ],
])(
  'the records of %s of a model give the session that was seen',
  async ([, reactions, attributes, count]) => {
    await using server = await startModelServer(reactions);
    await using it = await programTask({ 'a.txt': 'a' });
    const live: SessionLine[] = [];
    const task = it.task({ attributes, session: (line) => live.push(line) });
    const report = await agentAt(server).work(task, never());
    // The engine writes the answer of a model.
    if (report.kind === 'answered') writeFileSync(join(it.nodeDir, 'response.md'), report.text);
    const seen = sessionOf(live, true);
    expect(sessionOf(recordedIn(it.nodeDir, { agent: 'openai', model: undefined }).lines, true)).toEqual(
      seen,
    );
    expect(seen.turns[0]).toMatchObject({
      usage: { model: 'gpt-test', input_tokens: 9 },
      ms: expect.any(Number),
    });
    const calls = seen.items.filter(({ call }) => call?.state === 'completed');
    expect(calls.length).toBe(count);
  },
);
