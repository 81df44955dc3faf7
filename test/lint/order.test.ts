/** Which rules run: none about missing parts of a graph, and none about paths if they are undefined. */
import { expect, test } from 'vitest';
import type { LintOptions } from '../../src/lint/rule.ts';
import { findingsOf } from '../support/graph.ts';

const codes = (body: string, options: LintOptions = {}) => {
  // Rows add attributes to nodes that are declared already.
  return findingsOf(`digraph { ${body} }`, options).flatMap(({ code }) =>
    code === 'duplicate-node' ? [] : [code],
  );
};

const ends = 'start [shape=Mdiamond]; exit [shape=Msquare];';
const tool = 'shape=parallelogram, tool_command=x';
/** `b` and `c` are an endless cycle, and `a` has an uncovered outcome. */
const round = `${ends} a [${tool}]; b [${tool}]; c [${tool}]; start -> a; a -> b [condition="outcome=success"]; b -> c -> b;`;

test('findings about paths are reported for a graph without errors', () => {
  expect(codes(`${round} c -> exit [condition="outcome=skipped"]`)).toContain('outcome-uncovered');
});

test.for([
  ['condition-syntax', 'c -> exit [condition="outcome="]'],
  ['unknown-outcome', 'start -> exit [condition="outcome=maybe"]'],
  ['target-missing', 'c [retry_target=nowhere] c -> exit [condition="outcome=skipped"]'],
  ['exit-outgoing', 'c -> exit [condition="outcome=skipped"] exit -> a'],
  ['start-incoming', 'c -> exit [condition="outcome=skipped"] c -> start'],
  ['unknown-type', 'c -> d -> exit; d [type=tol, label=x]'],
  ['unknown-shape', 'c -> d -> exit; d [shape=ellipse, label=x]'],
] as const)('with an error %s no finding about paths is reported', ([code, more]) => {
  expect(codes(`${round} ${more}`)).toEqual([code]);
});

test('for a partial graph only problems of the existing parts are reported', () => {
  const part = `a -> b -> c; exit -> a; z; a [goal_gate=true, retry_target=gone]; g [goal_gate=true, label=x];
    c [shape=parallelogram, tool_command="echo \${var.gone}"]`;
  expect(codes(part, { partial: true })).toEqual([]);
  expect(new Set(codes(part))).toEqual(
    new Set([
      ...['start-count', 'exit-outgoing', 'target-missing', 'unknown-reference', 'undeclared-node'],
      ...['empty-prompt', 'gate-without-retry'],
    ]),
  );
  expect(codes(`${part}; b [timeout=soon]`, { partial: true })).toEqual(['attribute-value']);
});

const cycle = (graph = '', node = '') =>
  `${graph} ${ends} a [${tool} ${node}]; b [${tool}]; start -> a; a -> b -> a`;

test('a cycle without a way out is reported, unless its author set a limit', () => {
  expect(codes(cycle())).toContain('endless-cycle');
  for (const limit of [
    'default_max_visits=3',
    'max_steps=9',
    'max_wall=1h',
    'max_cost_usd=1',
    'max_tokens=9',
  ])
    expect([limit, codes(cycle(`${limit};`)).includes('endless-cycle')]).toEqual([limit, false]);
  for (const limit of ['max_visits=3', 'max_wall=1h'])
    expect([limit, codes(cycle('', `, ${limit}`)).includes('endless-cycle')]).toEqual([limit, false]);
});

test.for([
  ['fallback_retry_target=nowhere; start -> exit', ['target-missing']],
  ['node [prompt=x]; start -> exit; ghost -> exit', ['unreachable']],
  ['label="My pipeline"; start -> exit', []],
  ['start [timeout="5s"]; start -> exit', []],
  [
    `a [${tool}, promt=x]; start -> a -> exit [condition="outcome=success"]; a -> exit`,
    ['unknown-attribute'],
  ],
  [
    'a [label=x, promt=x]; start -> a -> exit [condition="outcome=success"]; a -> exit',
    ['unknown-attribute'],
  ],
] as const)('%s has %j', ([body, wanted]) => {
  expect(codes(`${ends} ${body}`).filter((code) => !ofRuns.has(code))).toEqual(wanted);
});

const ofRuns: ReadonlySet<string> = new Set(['failure-to-success', 'edge-never-taken', 'outcome-uncovered']);

test.for([
  [
    'a -> b [condition="outcome=success", weight=5]; a -> c [condition="outcome=success"]',
    'the edge to "b" does too and wins',
  ],
  [
    'a -> b [condition="outcome=success"]; a -> c [condition="outcome=success"]',
    'the edge to "b" does too and wins',
  ],
  [
    'a -> b [condition="outcome=success"]; a -> b [condition="outcome=success", label=x]; a -> c',
    'the edge to "b" does too and wins',
  ],
  ['a -> b; a -> c [condition="outcome=success && outcome=fail"]', 'its condition is always false'],
] as const)('for %s the reason why an edge is never taken is reported: %s', ([body, why]) => {
  const found = findingsOf(
    `digraph { ${ends} a [${tool}]; b [${tool}]; c [${tool}]; start -> a; b -> exit; c -> exit; ${body} }`,
  ).filter(({ code }) => code === 'edge-never-taken');
  expect(found[0]?.message).toContain(why);
  // The exit is reachable by another edge.
  expect(found[0]?.message).not.toMatch(/no run reaches .*exit/);
});
