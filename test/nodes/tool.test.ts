import { expect, test } from 'vitest';
import { readGraph } from '../../src/dot/read.ts';
import { lint } from '../../src/lint/lint.ts';
import { kinds } from '../../src/nodes/index.ts';

test.for([
  ['command="true"', 'write tool_command in place of command'],
  ['cmd="true"', 'write tool_command in place of cmd'],
  ['label="x"', 'give it tool_command="…", the shell text to run in the workspace'],
] as const)('a tool with %s and no tool_command: %s', ([attribute, fix]) => {
  const text = `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; a [type=tool, ${attribute}]; start -> a -> exit }`;
  const { graph } = readGraph('g.dot', text);
  if (graph === undefined) throw new Error('the graph could not be read');
  const errors = lint(graph, kinds, { prompts: new Map(), partial: false }).filter(
    ({ code }) => code === 'tool-command',
  );
  expect(errors).toMatchObject([{ code: 'tool-command', fix }]);
});
