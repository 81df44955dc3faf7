import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countOf, hasRunSince } from '../../src/cli/runs.ts';
import type { StoodRun } from '../../src/core/action-commands.ts';
import { nextActions } from '../../src/core/next-actions.ts';
import type { EndCause } from '../../src/core/records/checkpoint.ts';
import { packageRoot } from '../../src/platform/package.ts';
import { editedFile, firstCommand, needsAttention } from '../../src/run/next-command.ts';
import type { RunSummary } from '../../src/run/summary.ts';

/** The first action's command. */
const nextOf = (stood: Omit<StoodRun, 'pipeline'> & { readonly pipeline: string }) =>
  firstCommand(nextActions({ ...stood, pipeline: editedFile(stood.pipeline) }, { program: 'f', run: 'r1' }));

const plain = { offline: false, pipeline: 'p.dot', cause: undefined };
const noRoute = (node: string, config = false) =>
  ({ kind: 'no_route', node, outcome: 'fail', config }) as const;

test.for([
  ['interrupted', 'build', '', 'f resume r1'],
  ['crashed', 'build', '', 'f resume r1'],
  ['paused_auth', 'build', '', 'f resume r1'],
  ['paused_billing', 'build', '', 'f resume r1'],
  ['paused_quota', 'build', '', 'f resume r1 --wait'],
  ['paused_cap', 'build', '', 'f resume r1 --wait'],
  ['failed', 'build', 'check', 'f resume r1'],
  [
    'failed',
    '',
    'check',
    'f fork r1 --at check --before --pipeline p.dot # after a change of check in p.dot',
  ],
  ['failed', '', '', 'f show r1'],
  ['unreadable', '', '', 'f verify r1'],
  ['completed', '', '', ''],
  ['running', 'build', '', ''],
] as const)(
  'a run that is %s, before "%s" and with "%s" failed: %s',
  ([status, nextNode, failedNode, next]) =>
    expect(nextOf({ ...plain, status, resumable: nextNode !== '', failedNode, reason: '' })).toBe(next),
);

test.for<readonly [reason: string, next: string, cause?: EndCause]>([
  [
    'unfixable_failure_source: failed node check failed with class infra (why), which no change by fix fixes; …',
    'f fork r1 --at check --before',
  ],
  [
    'unfixable_failure_source: failed node check references t.sh outside allowed_write_paths for fix',
    'f resume r1 --accept-changes # after adding t.sh to allowed_write_paths of fix in p.dot',
  ],
  [
    'max_steps: the run made 3 steps, and its limit is 3 (max_steps on the graph, --max-steps)',
    'f resume r1 --max-steps 6',
  ],
  [
    'max_wall: node "check" took 3s, and its limit is 2s (max_wall on the node)',
    'f resume r1 --accept-changes # after raising max_wall of check in p.dot',
  ],
  [
    'loop_stopped: … --before)',
    'f resume r1 --accept-changes # after a change of check, or of what fixes it, in p.dot',
    { kind: 'loop_stopped' },
  ],
  [
    'max_cost_usd: the cost of 1 call is unknown: allow calls of unknown cost with unknown_cost=allow on the graph or --unknown-cost allow',
    'f resume r1 --unknown-cost allow',
  ],
  [
    'no route from node check for outcome fail: sh: x (class config: only an edge that names failure_class takes it)',
    'f resume r1 --accept-changes # after fixing check in p.dot, or what it needs',
    noRoute('check', true),
  ],
  [
    'no route from node check for outcome fail: exit 1',
    'f resume r1 --accept-changes # after adding an edge from check for outcome=fail to p.dot',
    noRoute('check'),
  ],
])('the next command after the failure "%s" is: %s', ([reason, next, cause]) => {
  expect(nextOf({ ...plain, status: 'failed', resumable: true, failedNode: 'check', reason, cause })).toBe(
    next,
  );
});

test.for<readonly [Partial<Parameters<typeof nextOf>[0]>, string]>([
  [{ resumable: true, offline: true }, 'f resume r1 --live'],
  [{ reason: 'audit: 1 error' }, 'f audit r1'],
  [{ pipeline: join(packageRoot(), 'pipelines/build.dot') }, 'f fork r1 --at check --before'],
  [
    {
      pipeline: join(packageRoot(), 'pipelines/build.dot'),
      resumable: true,
      cause: noRoute('a'),
    },
    'f fork r1 --at a --before',
  ],
])('the next command after a failure without a next node: %j', ([run, next]) => {
  const failed = { ...plain, status: 'failed', resumable: false, failedNode: 'check', reason: '' } as const;
  expect(nextOf({ ...failed, ...run })).toBe(next);
});

test.for<readonly [readonly RunSummary['status'][], string]>([
  [['completed'], '1 run: none needs attention, 1 completed'],
  [['failed'], '1 run: 1 needs attention (1 failed)'],
  [
    ['running', 'failed', 'completed', 'paused_auth', 'failed', 'completed'],
    '6 runs: 3 need attention (2 failed, 1 suspended), 1 running, 2 completed',
  ],
])('runs that are %s are counted as: %s', ([stands, words]) =>
  expect(countOf(stands.map((status) => ({ status, needs_attention: needsAttention(status) })))).toBe(words),
);

test.for<readonly [status: 'running' | 'failed', ended: string | null, listed: boolean]>([
  ['failed', '2026-01-01T11:00:00Z', false],
  ['failed', '2026-01-01T12:00:00Z', true],
  ['running', null, true],
])('of the last hours are listed: one that is %s and ended at %s: %s', ([status, ended_at, listed]) => {
  expect(hasRunSince({ status, ended_at }, Date.parse('2026-01-01T12:00:00Z'))).toBe(listed);
});
