import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentScriptSchema } from '../../src/agents/script.ts';
import { scriptedAgent, scriptMatchesInputs } from '../../src/agents/scripted.ts';
import { keepsTheAgentContract, taskFor, wellFormed } from './contract.ts';

const scriptOf = (answers: Record<string, unknown>, inputs: Record<string, string> = {}) =>
  agentScriptSchema().parse({ format: 'factory-script/1', inputs, answers });

const agentOf = (answers: Record<string, unknown>, files: Record<string, string> = {}) =>
  scriptedAgent({
    script: scriptOf(answers),
    scriptPath: 'examples/x/agent.json',
    async readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error('no such file');
      return text;
    },
  });

keepsTheAgentContract('scripted', () => ({
  agent: agentOf({ work: [{ text: 'done' }] }),
  broken: { agent: agentOf({}) },
  async [Symbol.asyncDispose]() {},
}));

const never = new AbortController().signal;

test('the n-th call of a node gets its n-th answer', async () => {
  const agent = agentOf({ work: [{ text: 'one' }, { text: 'two' }], other: [{ text: 'else' }] });
  expect(await agent.work(taskFor({ call: 2 }), never)).toEqual({ kind: 'answered', text: 'two' });
  expect(await agent.work(taskFor({ call: 1 }), never)).toEqual({ kind: 'answered', text: 'one' });
  expect(await agent.work(taskFor({ node: 'other' }), never)).toEqual({ kind: 'answered', text: 'else' });
});

test('text is streamed, a value is written with two-space indent, usage is passed on', async () => {
  const heard: unknown[] = [];
  const agent = agentOf({ work: [{ json: { a: [1] }, usage: { input_tokens: 3 } }, { json: null }] });
  const onText = (text: string, channel: string) => heard.push([text, channel]);
  expect(await agent.work(taskFor({ onText }), never)).toEqual({
    kind: 'answered',
    text: '{\n  "a": [\n    1\n  ]\n}',
    usage: { model: 'scripted', input_tokens: 3, output_tokens: null, cost_usd: null },
  });
  expect(heard).toEqual([['{\n  "a": [\n    1\n  ]\n}', 'answer']]);
  expect(await agent.work(taskFor({ call: 2 }), never)).toEqual({
    kind: 'answered',
    text: 'null',
    unbilled: true,
  });
});

test('a file answer is read relative to the script', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'factory-script-'));
  try {
    await writeFile(join(dir, 'answer.md'), 'from a file\n');
    const agent = scriptedAgent({
      script: scriptOf({ work: [{ file: 'answer.md' }, { file: 'gone.md' }] }),
      scriptPath: join(dir, 'agent.json'),
      readFile: (path) => readFile(path, 'utf8'),
    });
    expect(await agent.work(taskFor(), never)).toEqual({ kind: 'answered', text: 'from a file\n' });
    expect(wellFormed(await agent.work(taskFor({ call: 2 }), never))).toMatchObject({
      kind: 'failed',
      class: 'config',
      reason: expect.stringMatching(/answer 2 of node "work".*gone\.md.*cannot be read/),
    });
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('a prepared failure keeps its class, and only one of infra counts as the model API', async () => {
  const usage = { model: 'm', input_tokens: 1, output_tokens: 2, cost_usd: 0.5 };
  const agent = agentOf({
    work: [{ fail: { class: 'infra', reason: 'net' }, usage }, { fail: { class: 'agent', reason: 'bad' } }],
  });
  expect(await agent.work(taskFor(), never)).toEqual({
    kind: 'failed',
    class: 'infra',
    reason: 'net',
    model: 'api',
    usage,
  });
  expect(await agent.work(taskFor({ call: 2 }), never)).toEqual({
    kind: 'failed',
    class: 'agent',
    reason: 'bad',
    unbilled: true,
  });
});

test.for([
  ['work', 3, 'no answer for call 3 of node "work": there are 2 answers for it'],
  ['one', 2, 'no answer for call 2 of node "one": there is 1 answer for it'],
  ['nobody', 1, 'no answer for call 1 of node "nobody": there are 0 answers for it'],
  ['constructor', 1, 'there are 0 answers'],
  ['__proto__', 1, 'there are 0 answers'],
] as const)('a call without an answer says so: %s, call %i', async ([node, call, words]) => {
  const agent = agentOf({ work: [{ text: 'a' }, { text: 'b' }], one: [{ text: 'c' }] });
  const report = wellFormed(await agent.work(taskFor({ node, call }), never));
  expect(report).toMatchObject({ kind: 'failed', class: 'config', reason: expect.stringContaining(words) });
  expect(report.kind === 'failed' && report.reason).toContain(
    `add one under answers.${node} in examples/x/agent.json`,
  );
});

const a = 'a'.repeat(64);
const b = 'b'.repeat(64);

test.for([
  ['names no inputs', {}, { spec: a }],
  ['has the same input', { spec: a }, { spec: a, more: b }],
  ['has one in common, and another that this run has not', { spec: a, hints: b }, { spec: a }],
  ['writes its hash in capitals', { spec: a.toUpperCase() }, { spec: a }],
] as const)('a script that %s may answer', ([, made, given]) => {
  expect(scriptMatchesInputs(scriptOf({}, made), given)).toBeUndefined();
});

test('a script made for another input is refused by name', () => {
  expect(
    scriptMatchesInputs(scriptOf({}, { spec: a, hints: b }), { spec: b, hints: b }),
  ).toMatchInlineSnapshot(`
    {
      "code": "agent-script-inputs",
      "fix": "set OPENAI_API_KEY or choose another agent with --agent, or run with the input the script was made for",
      "message": "the agent script was made for another "spec" (made for aaaaaaaaaaaa…, given bbbbbbbbbbbb…); another text needs another agent",
      "severity": "error",
    }
  `);
});

test.for([[{}], [{ other: a }], [{ toString: a }]] as const)(
  'a script is refused by a run that has none of its inputs: %j',
  ([given]) => {
    expect(scriptMatchesInputs(scriptOf({}, { spec: a }), given)?.message).toContain('no such input');
  },
);
