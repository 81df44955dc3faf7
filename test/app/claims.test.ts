/** What an agent claims beyond its power: plans for checks, keys of the engine's own, verdicts that are none. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';
const options = { runId: 'r1', quiet: true, json: true };

const graph = (
  nodes: string,
  edges: string,
) => `digraph g { workdir="none"; agent_script="agent.json"; goal="ship it"
  start [shape=Mdiamond] exit [shape=Msquare]
  ${nodes}
  ${edges} }`;
const asks = (more = '') => `work [agent.backend=scripted, prompt="do it", max_retries=0${more}]`;
const answers = (...work: object[]) => JSON.stringify({ format: 'factory-script/1', answers: { work } });

async function ended(files: Readonly<Record<string, string>>) {
  const it = await house(files);
  const ran = await it.run('p.dot', options);
  return { it, ran, status: (node: string) => it.json(`${at}/${node}/status.json`) };
}

const plan = { files: [], commands: ['touch ran'] };
const checks =
  'v [type=verification, verification.allowed_commands="@plan", verification.plan_context_key="plan"]';
const told = JSON.stringify({ context_updates: { plan } }).replaceAll('"', '\\"');

test.for([
  [
    'an agent',
    graph(`${asks()}; ${checks}`, 'start -> work -> v -> exit'),
    answers({ finished: { outcome: 'success', context_updates: { plan } } }),
  ],
  [
    'an agent, over the one of a tool',
    graph(
      `t [shape=parallelogram, sets_plan=true, tool_command="printf '${told}' > $FACTORY_OUTPUT"]; ${asks()}; ${checks}`,
      'start -> t -> work -> v -> exit',
    ),
    answers({ finished: { outcome: 'success', context_updates: { plan } } }),
  ],
  [
    'an agent, as its plan for verification',
    graph(`${asks(', verification.plan_context_key="plan"')}; ${checks}`, 'start -> work -> v -> exit'),
    answers({ finished: { outcome: 'success', verification_plan: plan } }),
  ],
] as const)('a check that is to run what a tool planned runs nothing of %s', async ([, dot, script]) => {
  const { it, ran, status } = await ended({ 'p.dot': dot, 'agent.json': script });
  await using _ = it;
  expect(ran.code, ran.err + ran.out).toBe(1);
  expect(status('v')).toMatchObject({
    failure_class: 'guardrail',
    failure_reason:
      'verification.allowed_commands="@plan" takes only a plan that a tool set, and "plan" was set by an agent',
  });
  expect(existsSync(join(it.path, at, 'workspace/ran'))).toBe(false);
});

test('and what a tool planned it runs', async () => {
  const tool = `t [shape=parallelogram, sets_plan=true, tool_command="printf '${told}' > $FACTORY_OUTPUT"]`;
  const { it, ran } = await ended({ 'p.dot': graph(`${tool}; ${checks}`, 'start -> t -> v -> exit') });
  await using _ = it;
  expect(ran.code, ran.err + ran.out).toBe(0);
  expect(existsSync(join(it.path, at, 'workspace/ran'))).toBe(true);
});

test('an agent that sets a key of the engine fails, and nothing that it set is kept', async () => {
  const updates = { mine: 1, 'graph.goal': 'something else' };
  const { it, ran, status } = await ended({
    'p.dot': graph(asks(), 'start -> work -> exit'),
    'agent.json': answers({ finished: { outcome: 'success', context_updates: updates } }),
  });
  await using _ = it;
  expect(ran.code, ran.err + ran.out).not.toBe(0);
  expect(status('work')).toMatchObject({
    failure_class: 'agent',
    failure_reason: 'the agent set "graph.goal", a key of the engine\'s own',
  });
  const { context } = it.json(`${at}/checkpoint.json`);
  expect(context['graph.goal']).toBe('ship it');
  expect(context).not.toHaveProperty('mine');
});

test.for([
  ['prose', 'All is well.'],
  ['a word that is no outcome', '{"outcome":"done"}'],
  ['a verdict that it gives itself leave of', '{"outcome":"skipped"}'],
  ['a list', '["success"]'],
] as const)('a goal gate whose answer is %s is not reached', async ([, text]) => {
  const { it, ran, status } = await ended({
    'p.dot': graph(asks(', goal_gate=true'), 'start -> work -> exit'),
    'agent.json': answers({ text }, { text }),
  });
  await using _ = it;
  // The model's output is the final cause.
  expect(ran.code, ran.err + ran.out).toBe(4);
  expect(status('work')).toMatchObject({ outcome: 'fail', failure_class: 'agent' });
});

test('a prompt that is not to be expanded reaches the agent unchanged', async () => {
  const said = (more: string) =>
    graph(asks(more).replace('do it', 'help ${var.who}'), 'vars="who=you"; start -> work -> exit');
  for (const [more, shown] of [
    [', prompt_expand=false', 'help ${var.who}'],
    ['', 'help you'],
  ] as const) {
    const { it, ran } = await ended({ 'p.dot': said(more), 'agent.json': answers({ text: 'ok' }) });
    await using _ = it;
    expect(ran.code, ran.err + ran.out).toBe(0);
    expect(it.read(`${at}/work/prompt.md`)).toContain(shown);
  }
});
