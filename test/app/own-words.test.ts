/** A word that is no outcome, from agents of each kind and from a tool, in whole runs. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';

/** A run whose node `a` answers; `edges` besides those for success and failure. */
async function ended(node: string, answers: readonly object[], edges = '') {
  const it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"
      start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      a [${node}]; start -> a; a -> done [condition="outcome=success"]; a -> bad [condition="outcome=fail"]; ${edges} }`,
    'agent.json': JSON.stringify({ format: 'factory-script/1', answers: { a: answers } }),
  });
  await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  return { it, exit: it.json(`${at}/result.json`).exit_node, status: it.json(`${at}/a/status.json`) };
}

const scripted = 'agent.backend=scripted, prompt="x"';
const command = 'agent=command, prompt="x", response_format';
test.for([
  ['fake', 'agent.backend=fake, prompt="x", test.outcome=rejected', [], 'agent'],
  ['scripted, by a text', scripted, [{ text: 'rejected' }], 'agent'],
  ['scripted, by an object', scripted, [{ json: { outcome: 'rejected' } }], 'agent'],
  ['scripted, by a report', scripted, [{ finished: { outcome: 'rejected' } }], 'agent'],
  ['command, by a line', `${command}=outcome, command.run="echo rejected"`, [], 'agent'],
  ['command, by a word', `${command}=auto, command.run="echo Rejected."`, [], 'agent'],
  [
    'a tool',
    `shape=parallelogram, tool_command="echo '{\\"outcome\\":\\"rejected\\"}' > $FACTORY_OUTPUT"`,
    [],
    'config',
  ],
] as const)(
  'a word of %s is a failure, unless an edge names it: then that edge is taken',
  async ([, node, answers, of]) => {
    const alone = await ended(node, answers);
    await using _ = alone.it;
    expect([alone.exit, alone.status.failure_class]).toEqual(['bad', of]);
    expect(alone.status.failure_reason).toMatch(/rejected/i);
    const named = await ended(
      node,
      answers,
      'zed [shape=Msquare, outcome=fail]; a -> zed [condition="outcome=rejected"]',
    );
    await using __ = named.it;
    expect([named.exit, named.status.preferred_next_label]).toEqual(['zed', 'rejected']);
  },
);

test('a failure of the configuration is not met again in a loop, and a missing program is', async () => {
  const loop = (command: string) => `digraph g { workdir="none"; agent_script="agent.json"
    start [shape=Mdiamond]; done [shape=Msquare]
    a [shape=parallelogram, retry_on=fail, max_retries=2, retry_delay="1ms", tool_command="${command}"]; fix [agent.backend=scripted, prompt=x, max_visits=2]
    start -> a; a -> done [condition="outcome=success"]; a -> fix [condition="outcome=fail"]; fix -> a }`;
  const made = { path: 'run.sh', content: '#!/bin/sh\n', mode: '755' };
  const script = { format: 'factory-script/1', answers: { fix: [{ text: 'done', files: [made] }] } };
  await using it = await house({
    'wrong.dot': loop('echo nonsense > $FACTORY_OUTPUT'),
    'missing.dot': loop('./run.sh'),
    'agent.json': JSON.stringify(script),
  });
  const wrong = await it.run('wrong.dot', { runId: 'r1', quiet: true, json: true });
  expect(wrong.code).toBe(1);
  expect(it.json(`${at}/result.json`)).toMatchObject({
    stages: 2,
    retries: 0,
    reason: expect.stringMatching(
      /^no route from node a [\s\S]*only an edge that names failure_class takes it/,
    ),
  });
  const missing = await it.run('missing.dot', { runId: 'r2', quiet: true, json: true });
  expect(missing.code, missing.err + missing.out).toBe(0);
});
