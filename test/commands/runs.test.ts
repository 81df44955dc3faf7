import { expect, test } from 'vitest';
import { nextOf } from '../../src/commands/runs.ts';

test.for([
  ['interrupted', 'build', '', 'f resume r1'],
  ['crashed', 'build', '', 'f resume r1'],
  ['paused_auth', 'build', '', 'f resume r1'],
  ['paused_billing', 'build', '', 'f resume r1'],
  ['paused_quota', 'build', '', 'f resume r1 --wait'],
  ['failed', 'build', 'check', 'f resume r1'],
  ['failed', '', 'check', 'f trace r1 --node check'],
  ['failed', '', '', 'f trace r1'],
  ['unreadable', '', '', 'f verify r1'],
  ['completed', '', '', ''],
  ['running', 'build', '', ''],
] as const)(
  'a run that is %s, before "%s" and with "%s" failed: %s',
  ([status, nextNode, failedNode, next]) =>
    expect(nextOf({ status, nextNode, failedNode, reason: '' }, 'f', 'r1')).toBe(next),
);

test.for<readonly [string, string]>([
  ['unfixable_failure_source: … (factory fork RUN --at check --before)', 'f fork r1 --at check --before'],
  ['unfixable_failure_source: failed node check references t.sh outside …', 'f resume r1'],
  [
    'max_steps: the run made 3 steps, and its limit is 3 (max_steps on the graph, --max-steps)',
    'f resume r1 --max-steps 6',
  ],
  ['loop_stopped: … --before)', 'f resume r1'],
])('a run that failed by "%s" goes on with: %s', ([reason, next]) => {
  expect(nextOf({ status: 'failed', nextNode: 'fix', failedNode: 'check', reason }, 'f', 'r1')).toBe(next);
});
