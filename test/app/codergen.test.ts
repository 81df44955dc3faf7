/** A node that an agent works for: where its prompt comes from, and what is made of the answer. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';

/** One such node behind a tool, with an agent that answers with `text`. */
async function ended(attributes: string, text: string, tool = 'true') {
  const it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"
      start [shape=Mdiamond] exit [shape=Msquare]
      t [shape=parallelogram, tool_command="${tool}"]
      work [agent.backend=scripted, max_retries=0, ${attributes}]
      start -> t -> work -> exit }`,
    's.json': '{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}',
    'agent.json': JSON.stringify({ format: 'factory-script/1', answers: { work: [{ text }, { text }] } }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  return { it, ran, status: it.json(`${at}/work/status.json`) };
}

const config = (reason: unknown) => ({ outcome: 'fail', failure_class: 'config', failure_reason: reason });
const gate = 'prompt="x", goal_gate=true';
const strict = 'prompt="x", response_schema="@s.json", response_check=strict';
const verdict = (outcome: string, more: object = {}) => JSON.stringify({ outcome, ...more });

test.for([
  ['prompt_file="p.md"', 'ok', 'true', config('prompt_file "p.md" is not in the workspace')],
  ['prompt_file="p.md"', 'ok', 'mkdir p.md', config('prompt_file "p.md" is not in the workspace')],
  [
    'prompt_file="p.md"',
    'ok',
    'truncate -s 32M p.md; echo >> p.md',
    config('prompt_file "p.md" is larger than 32 MiB'),
  ],
  ['prompt_file="p.md"', 'ok', 'echo hello > p.md', { outcome: 'success' }],
  ['prompt="x", response_file="a/b"', 'ok', 'true', { outcome: 'success' }],
  [
    'prompt="x", response_file="a/b"',
    'ok',
    'echo > a',
    config(expect.stringMatching(/^response_file "a\/b" cannot be written: /)),
  ],
  [gate, verdict('pass'), 'true', { outcome: 'success' }],
  [gate, verdict('partial_success'), 'true', { outcome: 'partial_success' }],
  [
    gate,
    verdict('fail', { failure_reason: 'red' }),
    'true',
    { outcome: 'fail', failure_class: 'product', failure_reason: 'red' },
  ],
  [
    gate,
    verdict('failed'),
    'true',
    { outcome: 'fail', failure_class: 'product', failure_reason: expect.stringContaining('not reached') },
  ],
  [gate, verdict('retry', { failure_reason: 'not yet' }), 'true', { failure_reason: 'not yet' }],
  [strict, '{"a":1}', 'true', { outcome: 'success' }],
  [
    strict,
    '{"a":"1"}',
    'true',
    {
      outcome: 'fail',
      failure_class: 'agent',
      failure_reason: expect.stringMatching(/^the answer does not fit the response schema: a: /),
    },
  ],
  ['prompt="x", response_schema="@s.json"', '{"a":"1"}', 'true', { outcome: 'success' }],
  [
    'prompt="x"',
    ' ',
    'true',
    { outcome: 'fail', failure_class: 'agent', failure_reason: 'the model answered nothing' },
  ],
] as const)('%s, and the answer %s: %#', async ([attributes, text, tool, wanted]) => {
  const { it, status } = await ended(attributes, text, tool);
  await using _ = it;
  expect(status).toMatchObject(wanted);
  if (status.outcome === 'success' && attributes.includes('response_file'))
    expect(it.read(`${at}/workspace/a/b`)).toBe(text);
});

const verdictAsked = 'End it with one JSON object';

test.for([
  ['prose, then a verdict', ['All is well.', verdict('success')], 0, 1],
  ['a verdict in a fence after prose', [`I looked.\n\`\`\`json\n${verdict('success')}\n\`\`\`\n`], 0, 0],
  ['prose, and prose again', ['All is well.', 'It is, really.', verdict('success')], 4, 1],
  ['a failure, then a success', [verdict('fail', { failure_reason: 'red' }), verdict('success')], 0, 0],
] as const)('a goal gate is asked for a verdict, and its answer is %s', async ([, texts, code, asked]) => {
  const target = code === 0 ? ', retry_target=work' : '';
  await using it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"
      start [shape=Mdiamond]; exit [shape=Msquare]
      work [agent.backend=scripted, prompt="x", goal_gate=true${target}]
      start -> work -> exit }`,
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { work: texts.map((text) => ({ text })) },
    }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err + ran.out).toBe(code);
  const prompt = it.read(`${at}/work/prompt.md`);
  expect(prompt).toContain(verdictAsked);
  const isRepeated = texts[0] === 'All is well.';
  expect(prompt.includes('Your last answer did not count: a goal gate needs')).toBe(isRepeated);
  expect(it.json(`${at}/result.json`).retries).toBe(asked);
});

test('a node that is no goal gate is not asked for a verdict', async () => {
  const { it } = await ended('prompt="x"', 'ok', 'true');
  await using _ = it;
  expect(it.read(`${at}/work/prompt.md`)).not.toContain(verdictAsked);
});

test('a goal gate that fails alike again and again without a change ends the run', async () => {
  const text = verdict('fail', { failure_reason: '3 tests of 17 are missing' });
  await using it = await house({
    'p.dot': `digraph g { workdir="none"; agent_script="agent.json"; max_goal_gate_redirects=100
      start [shape=Mdiamond]; exit [shape=Msquare]; look [shape=parallelogram, tool_command="date >> a.log"]
      work [agent.backend=scripted, prompt="x", goal_gate=true, retry_target=look]
      start -> look -> work -> exit }`,
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { work: Array.from({ length: 50 }, () => ({ text })) },
    }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code).toBe(1);
  const result = it.json(`${at}/result.json`);
  expect(result.reason).toMatch(/^loop_stopped: node work failed alike 3 times/);
});

test.for([
  ['', true],
  [', failure_feedback=true', true],
  [', failure_feedback=false', false],
] as const)(
  'the prompt contains the earlier failure unless an attribute excludes it: "%s"',
  async ([more, told]) => {
    const { it } = await ended(`prompt="x"${more}`, 'ok', 'echo broken >&2; exit 3');
    await using _ = it;
    expect(it.read(`${at}/work/prompt.md`).includes('failed_node: t')).toBe(told);
  },
);
