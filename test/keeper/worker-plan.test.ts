import { expect, test } from 'vitest';
import { type KeptJob, planWork, type WorkFacts } from '../../src/keeper/worker-plan.ts';

const job = (runId: string, more: Partial<KeptJob> = {}): KeptJob => ({
  ...{ runId, phase: 'running', asked: 'no' },
  ...more,
});
const plan = (facts: Partial<WorkFacts>) =>
  planWork({
    ...{ now: 1000, slots: 2, jobs: [], drain: undefined, drainTimeoutMs: 500, overdue: [] },
    ...{ freeBytes: 10, minFreeBytes: 5, pausedUntil: 0 },
    ...facts,
  });

test.for<readonly [string, Partial<WorkFacts>, number]>([
  ['all slots are free', {}, 2],
  ['a slot is taken, whatever the phase', { jobs: [job('a', { phase: 'settling' })] }, 1],
  ['more is watched than there are slots', { slots: 1, jobs: [job('a'), job('b')] }, 0],
  ['the disk has too little room', { freeBytes: 4 }, 0],
  ['the disk has just enough room', { freeBytes: 5 }, 2],
  ['engines cannot be started', { pausedUntil: 1001 }, 0],
  ['the pause is over', { pausedUntil: 1000 }, 2],
  ['it drains', { drain: { since: 900, atOnce: false } }, 0],
])('a worker takes jobs for its free slots: %s', ([, facts, most]) => {
  expect(plan(facts).most).toBe(most);
});

test('why a worker takes nothing is in words, and not while it drains', () => {
  expect(plan({ freeBytes: 1024, minFreeBytes: 2048 }).refuses).toBe(
    'only 1.0 KiB of disk space are free, less than --min-free 2.0 KiB',
  );
  expect(plan({ freeBytes: 4, drain: { since: 900, atOnce: false } }).refuses).toBe('');
});

test.for<readonly [string, Partial<WorkFacts>, KeptJob, string | undefined]>([
  ['no drain', {}, job('a'), undefined],
  ['a drain', { drain: { since: 900, atOnce: false } }, job('a'), 'after_node'],
  [
    'a drain, asked before',
    { drain: { since: 900, atOnce: false } },
    job('a', { asked: 'after_node' }),
    undefined,
  ],
  ['a start', { drain: { since: 900, atOnce: false } }, job('a', { phase: 'starting' }), 'start'],
  [
    'a start that was interrupted and began',
    { drain: { since: 900, atOnce: false } },
    job('a', { asked: 'start' }),
    undefined,
  ],
  [
    'a job that is settled',
    { drain: { since: 900, atOnce: false } },
    job('a', { phase: 'settling' }),
    undefined,
  ],
  ['a second signal', { drain: { since: 900, atOnce: true } }, job('a', { asked: 'after_node' }), 'at_once'],
  [
    'the time is over',
    { drain: { since: 500, atOnce: false } },
    job('a', { asked: 'after_node' }),
    'at_once',
  ],
  [
    'the time is over, asked before',
    { drain: { since: 0, atOnce: false } },
    job('a', { asked: 'at_once' }),
    undefined,
  ],
  ['a job that is to be put back', { overdue: ['a'] }, job('a'), 'after_node'],
])('engines are stopped one step after another: %s', ([, facts, kept, how]) => {
  expect(plan({ ...facts, jobs: [kept] }).stops).toEqual(how === undefined ? [] : [{ runId: 'a', how }]);
});

test('a worker that drains ends when it has no job any more', () => {
  const drain = { since: 900, atOnce: false };
  expect(plan({ drain, jobs: [job('a')] }).isOver).toBe(false);
  expect(plan({ drain }).isOver).toBe(true);
  expect(plan({}).isOver).toBe(false);
});
