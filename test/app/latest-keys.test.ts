/** The latest answer and output under the names of other implementations, in whole runs. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';
const pipeline = (edges: string, more = '') => `digraph g { workdir="none"; agent_script="agent.json"
  start [shape=Mdiamond]; done [shape=Msquare]
  plan [shape=tab, prompt="Plan."]; ${more}
  start -> plan; ${edges} }`;
const answering = (...answers: readonly object[]) =>
  JSON.stringify({
    format: 'factory-script/1',
    answers: { plan: answers, build: [{ text: 'It is built.' }] },
  });

test('conditions, prompts and commands read the answers and the streams that they name', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `plan -> build [condition="context.last_response contains PLAN_READY"]; build -> check [condition="outcome=success"]
      check -> show [condition="command.output contains out && context.tool_stderr contains err && last_stage=check"]
      show -> done [condition="outcome=success"]`,
      `build [prompt="Follow \${ctx.response.plan}"]
      check [shape=parallelogram, tool_command="echo out; echo err >&2"]
      show [shape=parallelogram, tool_command="echo \${ctx.last_response}"]`,
    ),
    'agent.json': answering({ text: 'One step. PLAN_READY' }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err.slice(-1500)).toBe(0);
  expect(it.read(`${at}/build/prompt.md`)).toBe('Follow One step. PLAN_READY\n');
  expect(it.read(`${at}/show/tool.stdout.txt`)).toBe('It is built.\n');
  // Nothing names the answer of `build` by its node.
  expect(Object.keys(it.json(`${at}/checkpoint.json`).context)).not.toContain('response.build');
});

test('of a tool that printed nothing a prompt has the empty text, and a condition finds it set', async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"; start [shape=Mdiamond]; done [shape=Msquare]
      check [shape=parallelogram, tool_command="true"]; build [prompt="Errors: [$context.tool_stderr]"]
      start -> check; check -> build [condition="command.output=''"]; build -> done [condition="outcome=success"] }`,
    'agent.json': answering(),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err.slice(-1500)).toBe(0);
  expect(it.read(`${at}/build/prompt.md`)).toBe('Errors: []\n');
});

test('a run whose graph names none of the keys has none of them', async () => {
  await using it = await house({ 'p.dot': pipeline('plan -> done'), 'agent.json': answering({ text: 'x' }) });
  await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  const { context } = it.json(`${at}/checkpoint.json`);
  expect(Object.keys(context).filter((key) => /^(?:last_|response|command)/.test(key))).toEqual([]);
});

test('an agent cannot set a key of the engine that the graph names, and may set any other', async () => {
  const finished = { outcome: 'success', context_updates: { 'response.plan': 'mine', last_stage: 'mine' } };
  await using it = await house({
    'p.dot': pipeline(
      'plan -> done [condition="response.plan=mine"]; plan -> bad [condition="outcome=fail && failure_class=agent"]',
      'bad [shape=Msquare, outcome=fail]',
    ),
    'agent.json': answering({ finished }),
    'q.dot': pipeline('plan -> done [condition="outcome=success"]'),
  });
  await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(it.json(`${at}/plan/status.json`).failure_reason).toContain('"response.plan"');
  const other = await it.run('q.dot', { runId: 'r2', quiet: true, json: true });
  expect(other.code, other.err).toBe(0);
});
