/** Which rules are asked at all: not of what is missing, and not where runs lead when nobody can say so. */
import { expect, test } from 'vitest';
import { readGraph } from '../../src/dot/read.ts';
import { type LintOptions, lint } from '../../src/lint/lint.ts';
import { kinds } from '../../src/nodes/index.ts';

const codes = (body: string, options: LintOptions = {}) => {
  const { graph, diagnostics } = readGraph('p.dot', `digraph { ${body} }`);
  expect(diagnostics).toEqual([]);
  if (graph === undefined) throw new Error('no graph');
  return lint(graph, kinds, options).map(({ code }) => code);
};

const ends = 'start [shape=Mdiamond]; exit [shape=Msquare];';
const tool = 'shape=parallelogram, tool_command=x';
/** `b` and `c` are a cycle without an end, and `a` has an outcome that nothing covers. */
const round = `${ends} a [${tool}]; b [${tool}]; c [${tool}]; start -> a; a -> b [condition="outcome=success"]; b -> c -> b;`;

test('where runs lead is told while nothing is wrong', () => {
  expect(codes(`${round} c -> exit [condition="outcome=skipped"]`)).toContain('outcome-uncovered');
});

test.for([
  ['condition-syntax', 'c -> exit [condition="outcome="]'],
  ['unknown-outcome', 'c -> exit [condition="outcome=maybe"]'],
  ['target-missing', 'c [retry_target=nowhere] c -> exit [condition="outcome=skipped"]'],
  ['exit-outgoing', 'c -> exit [condition="outcome=skipped"] exit -> a'],
  ['start-incoming', 'c -> exit [condition="outcome=skipped"] c -> start'],
  ['unknown-type', 'c -> d -> exit; d [type=tol, label=x]'],
  ['unknown-shape', 'c -> d -> exit; d [shape=ellipse, label=x]'],
  ['no-handler', 'c -> d -> exit; d [shape=hexagon, label=x]'],
] as const)('beside %s nothing is said of runs', ([code, more]) => {
  expect(codes(`${round} ${more}`)).toEqual([code]);
});

test('of a graph that is there in part, only what stands there is told', () => {
  const part = `a -> b -> c; exit -> a; z; a [goal_gate=true, retry_target=gone]; g [goal_gate=true, label=x];
    c [${tool}, tool_command="echo \${var.gone}"]`;
  expect(codes(part, { partial: true })).toEqual([]);
  expect(new Set(codes(part))).toEqual(
    new Set([
      ...['start-count', 'exit-outgoing', 'target-missing', 'unknown-reference', 'undeclared-node'],
      ...['empty-prompt', 'gate-without-retry'],
    ]),
  );
  expect(codes(`${part}; b [timeout=soon]`, { partial: true })).toEqual(['attribute-value']);
});
