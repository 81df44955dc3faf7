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
  'The failing test now passes.',
  'All failed tests pass now.',
  'I fixed the bug because of which the tests failed.',
  'I fixed the place where status: failed was printed.',
  'I could not find any problem.',
  'Result: the parser reads both forms.',
  '12 passed, 0 FAILED',
  'The exit code is EXIT_FAILURE where no file is given.',
  'Overall, the structure is sound and needs no change.',
  'Done.\n\nStatus: done',
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
  '(fail)',
  '1. Status: fail',
  '<outcome>fail</outcome>',
  '<status>failed</status>',
  'BLOCKED: missing credentials',
  'Build failed',
  'Done.\nOUTCOME: failure\nThanks for reading.',
  'FAILED ❌',
  'Fail because it does not start',
  'I could not complete the task.',
  'I did the work.\n\nFinal status: fail',
  'I finished the analysis.\n\nOutcome: fail\nReason: tests fail\nNext: fix',
  'I tried.\n\nfailure_class=product',
  'I was unable to finish: no compiler.',
  'My verdict is: FAIL',
  'Overall: failed',
  'STATUS → FAIL',
  'Status — failed',
  'Status: blocked',
  'Task failed.',
  'The outcome is fail.',
  'The task failed: no compiler',
  'The work is done.\n\n```\nfail\n```',
  'Verdict\n=======\nFAIL\n\nreason',
  'failure_reason: no compiler',
  'not done',
  'outcome fail',
  'verdict: rejected',
  'yaml:\noutcome: fail\nreason: x\n---',
  '| Check | Result |\n|---|---|\n| tests | FAIL |',
  '✗ failed',
  '❌ build',
  'Unfortunately, two tests still fail.',
  'Success: the build runs.\n\nThe tests are still failing.',
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
