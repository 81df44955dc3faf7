/** Every way a run can end has a next step that does not lead back to the same end. */
import { expect, test } from 'vitest';
import { nextActions, type StoodRun } from '../../src/core/next-actions.ts';

const plain = { offline: false, pipeline: 'p.dot', cause: undefined, failedNode: 'check', reason: '' };
const failed = { ...plain, status: 'failed', resumable: true } as const;
const exit = { ...failed, resumable: false };
const noRoute = { kind: 'no_route', node: 'check', outcome: 'fail', config: false } as const;
const agent = () => 'fix@2';
const typed = { program: 'f', run: 'r1' };

const ends: readonly (readonly [end: string, stood: StoodRun, kinds: readonly string[], first: string])[] = [
  ['interrupted', { ...plain, status: 'interrupted', resumable: true }, ['continue'], 'f resume r1'],
  ['crashed', { ...plain, status: 'crashed', resumable: true }, ['continue'], 'f resume r1'],
  ['a quota', { ...plain, status: 'paused_quota', resumable: true }, ['continue'], 'f resume r1 --wait'],
  ['a bill', { ...plain, status: 'paused_billing', resumable: true }, ['continue'], 'f resume r1'],
  ['an answer', { ...plain, status: 'paused_answer', resumable: true }, ['answer'], 'f answer r1'],
  [
    'no edge for a failed tool',
    { ...failed, cause: noRoute, failureClass: 'product', agent },
    ['edit', 'fork'],
    'f resume r1 --accept-changes',
  ],
  [
    'no edge for a failed agent',
    { ...failed, cause: noRoute, failureClass: 'agent', agent },
    ['edit', 'continue', 'fork'],
    'f resume r1 --accept-changes',
  ],
  [
    'no edge, the network',
    { ...failed, cause: noRoute, failureClass: 'infra', agent },
    ['continue', 'edit'],
    'f resume r1',
  ],
  [
    'no edge, in a pipeline of factory',
    { ...failed, pipeline: undefined, cause: noRoute, failureClass: 'product', agent },
    ['fork'],
    'f fork r1 --at fix@2 --before --note TEXT',
  ],
  [
    'the breaker',
    { ...failed, cause: { kind: 'loop_stopped' }, agent },
    ['edit', 'fork'],
    'f resume r1 --accept-changes',
  ],
  [
    'the breaker, in a pipeline of factory',
    { ...failed, pipeline: undefined, cause: { kind: 'loop_stopped' }, agent },
    ['fork'],
    'f fork r1 --at fix@2 --before --note TEXT',
  ],
  [
    'a limit of the run',
    {
      ...failed,
      reason: 'max_steps: the run made 3 steps, and its limit is 3 (max_steps on the graph, --max-steps)',
    },
    ['continue'],
    'f resume r1 --max-steps 6',
  ],
  [
    'a limit of a watched pipeline',
    {
      ...failed,
      reason:
        'max_cycles: node "m" has watched 5 executions of its pipeline, which has not reached an exit, and its limit is 5 (manager.max_cycles)',
    },
    ['edit'],
    'f resume r1 --accept-changes',
  ],
  [
    'a leak',
    { ...failed, reason: 'holdout_leak: a.txt shows line 3 of a sealed file' },
    ['edit'],
    'f resume r1 --accept-changes',
  ],
  ['the disk', { ...failed, reason: 'check: /w/a: no space left on device' }, ['continue'], 'f resume r1'],
  ['a failing exit', { ...exit, agent }, ['edit', 'fork'], 'f fork r1 --at check --before --pipeline p.dot'],
  ['the audit', { ...exit, reason: 'audit: 1 error', agent }, ['look', 'fork'], 'f audit r1'],
  ['a replay', { ...failed, offline: true }, ['continue'], 'f resume r1 --live'],
];

test.for(ends)('%s: what can be done, and the command for it', ([, stood, kinds, first]) => {
  const actions = nextActions(stood, typed);
  expect(actions.map(({ kind }) => kind)).toEqual(kinds);
  expect(actions[0]?.command).toBe(first);
  for (const { words } of actions) expect(words).not.toBe('');
});
