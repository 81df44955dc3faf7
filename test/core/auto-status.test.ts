/** `auto_status`: prose of an agent that ended in order is a success, and nothing else is. */
import { expect, test } from 'vitest';
import { proseSuccess } from '../../src/core/auto-status.ts';
import { house } from '../support/house.ts';

const named = [{ test: '=', literal: 'rejected' }] as const;
const counts = (text: string, settings = {}) =>
  proseSuccess({ settings: { auto_status: true, ...settings }, named }, text) !== undefined;

test.for([
  'I wrote the parser, and all tests pass.',
  '## Summary\n\nThe failing test is fixed.',
  'Done. The file is there.',
  'Status: success',
  'It now reads:\n```json\n{"name": "x", "version": 2}\n```\nand works.',
  'function f() { return { status: 1 } } was changed.',
])('the prose "%s" is a success', (text) => {
  expect(counts(text)).toBe(true);
});

test.for([
  '',
  'fail',
  'FAILED: two tests do not pass',
  'I tried.\n**Failed** - it does not start',
  'Status: failed',
  'Outcome: not yet',
  'rejected',
  'Rejected: no tests',
  'unsure',
  '{"outcom": "fail"}',
  'Here:\n{"outcome": "fail"}',
  'Here:\n{"outcome": "fail", ',
  'Here:\n{"oucome": "fail", "why": "x"}',
  'Here:\n{"failure_reason": "it does not start"}',
  '[]',
])('"%s" is no prose, and no success', (text) => {
  expect(counts(text)).toBe(false);
});

test('without the attribute, and at a goal gate, prose is no success', () => {
  expect(counts('All is well here.', { auto_status: false })).toBe(false);
  expect(counts('All is well here.', { goal_gate: true })).toBe(false);
  expect(counts('All is well here.', { goal_gate: 'it works' })).toBe(false);
});

test.for([
  ['echo I have looked at it.', '', 'done'],
  ['echo I have looked at it.', 'goal_gate=true', 'bad'],
  ['echo I have looked at it.; exit 1', '', 'bad'],
  ['echo Failed: it does not start', '', 'bad'],
] as const)('the program "%s" [%s] ends at %s', async ([program, more, exit]) => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"
      start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      a [agent=command, prompt=x, auto_status=true, ${more}, command.run="sh a.sh", response_format=json]
      w [shape=parallelogram, tool_command="printf %s '${program}' > a.sh"]
      start -> w; w -> a [condition="outcome=success"]; w -> bad [condition="outcome=fail"]
      a -> done [condition="outcome=success"]; a -> bad [condition="outcome=fail"] }`,
  });
  await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(it.json('.factory/runs/r1/result.json').exit_node).toBe(exit);
});
