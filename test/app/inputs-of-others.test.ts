/** Parameters of a pipeline in the words of other implementations, in whole runs. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';
const files = {
  'p.dot': `digraph g { workdir="none"; agent_script="agent.json"; inputs="topic"; goal="Write about $context.topic"
    start [shape=Mdiamond]; done [shape=Msquare]
    write [prompt="$goal: {{ inputs.topic }}, $topic, $$topic, $context.topic"]
    show [shape=parallelogram, tool_command="echo {{ inputs.topic }} $topic"]
    start -> write; write -> show [condition="outcome=success"]; show -> done [condition="outcome=success"] }`,
  'agent.json': JSON.stringify({ format: 'factory-script/1', answers: { write: [{ text: 'It is done.' }] } }),
};

test('a prompt reads inputs under all their names, and a command as one word', async () => {
  await using it = await house(files);
  const ran = await it.run('p.dot', {
    runId: 'r1',
    var: ['topic=old $goal houses'],
    quiet: true,
    json: true,
  });
  expect(ran.code, ran.err.slice(-500)).toBe(0);
  const topic = 'old $goal houses';
  expect(it.read(`${at}/write/prompt.md`)).toBe(
    `Write about ${topic}: ${topic}, ${topic}, $topic, ${topic}\n`,
  );
  expect(it.read(`${at}/show/tool.stdout.txt`)).toBe(`${topic}\n`);
});

test('a run that does not set an input is refused, with the flag to give', async () => {
  await using it = await house(files);
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('--var topic=VALUE')]);
});
