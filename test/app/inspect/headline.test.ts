import { expect, test } from 'vitest';
import { type HeadlineFacts, headlineOf } from '../../../src/app/inspect/headline.ts';

const facts: HeadlineFacts = {
  summary: { status: 'completed', reason: '', nextNode: '', failedNode: '', wakeAt: null, cut: false },
  ...{ context: {}, progress: null, commits: 0, steps: 3 },
};
const at = '2026-03-01T14:05:00.000Z';
const failure = {
  'last_failure.node_id': 'check',
  'last_failure.reason': 'exit 1',
  'last_failure.summary': 'failure_reason=exit 1\nstdout:\nok 1\nnot ok 2 - totals',
};
const stood = (summary: Partial<HeadlineFacts['summary']>, more: Partial<HeadlineFacts> = {}) => ({
  ...{ ...facts, ...more },
  summary: { ...facts.summary, ...summary },
});

const rows: readonly (readonly [HeadlineFacts, string | RegExp])[] = [
  [facts, '3 nodes done'],
  [{ ...facts, commits: 4, judged: { passed: 2, total: 2 } }, '4 commits, scenarios 2 of 2'],
  [{ ...facts, commits: 4, unjudged: 'no scenario ran' }, '4 commits, but no scenario ran'],
  [
    stood(
      { status: 'failed', reason: 'check: a', failedNode: 'check' },
      {
        context: {
          ...failure,
          'last_failure.reason': 'a',
          'last_failure.summary': 'failure_reason=a\nstderr:\nfailure_class=scenario\n',
        },
      },
    ),
    'check: a',
  ],
  [
    stood({ status: 'running', nextNode: 'apply' }, { does: 'factory order apply' }),
    'apply · factory order apply',
  ],
  [stood({ status: 'running', nextNode: 'plan' }, { does: '' }), 'plan'],
  [stood({ status: 'paused_quota', wakeAt: at }), /^quota until \d\d:05$/],
  [stood({ status: 'paused_cap', wakeAt: at }), /^cap per day reached until \d\d:05$/],
  [stood({ status: 'paused_outage', wakeAt: at }), /^provider down, next try at \d\d:05$/],
  [stood({ status: 'interrupted', nextNode: 'b' }), 'interrupted before b'],
  [stood({ status: 'interrupted', nextNode: 'b', cut: true }), 'interrupted at b'],
  [stood({ status: 'crashed', nextNode: 'b' }), 'crashed at b'],
  [stood({ status: 'failed', reason: 'max_steps: 3' }), 'max_steps: 3'],
  [
    stood({ status: 'failed', reason: 'bad: check: exit 1', failedNode: 'check' }, { context: failure }),
    'check: not ok 2 - totals',
  ],
  // A limit ended the run, whatever failed before.
  [
    stood({ status: 'failed', reason: 'max_steps: 3', failedNode: 'check' }, { context: failure }),
    'max_steps: 3',
  ],
  [
    stood(
      { status: 'failed', reason: 'bad: check: exit 1', failedNode: 'check' },
      {
        context: { ...failure, 'order.stage': 'acceptance_failed' },
        progress: { done: 1, total: 3, current: 'WO-02' },
      },
    ),
    'WO-02 acceptance failed: not ok 2 - totals',
  ],
];
test.for(rows.map(([one, words]) => ({ one, words })))('a headline is: $words', ({ one, words }) =>
  expect(headlineOf(one)).toMatch(words),
);
