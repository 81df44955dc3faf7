import { expect, test } from 'vitest';
import { runsLike } from '../../../src/app/inspect/run-filters.ts';
import { runSections } from '../../../src/web/page/text/run-list.ts';
import { madeRow as run } from '../../support/run-row.ts';

test('runs that need attention are first, then running ones, then the newest', () => {
  const rows = [
    run({ run_id: '1' }),
    run({ run_id: '2', ended_at: '2026-11-26T11:30:00Z' }),
    run({ run_id: '3', status: 'running', ended_at: null }),
    run({ run_id: '4', status: 'failed', needs_attention: true, ended_at: '2026-11-20T11:00:00Z' }),
    run({ run_id: '5', ended_at: '2026-11-20T11:00:00Z' }),
  ];
  const sections = runSections(rows, Date.parse('2026-11-26T12:00:00Z'));
  expect(sections.map(({ title, runs }) => [title, ...runs.map(({ run_id }) => run_id)])).toEqual([
    ['Needs attention', '4'],
    ['Running', '3'],
    ['Done today', '2', '1'],
    ['Earlier', '5'],
  ]);
});

test('a search takes all its words, in any field and case', () => {
  const rows = [
    run({ run_id: '1', headline: 'Acceptance failed' }),
    run({ run_id: '2', title: 'docs', status: 'failed' }),
    run({ run_id: '3', title: 'docs', status: 'paused_quota' }),
  ];
  const ids = (...how: [Parameters<typeof runsLike>[1], string]) =>
    runsLike(rows, ...how).map(({ run_id }) => run_id);
  expect(ids('all', 'PARSER accept')).toEqual(['1']);
  expect(ids('failed', '')).toEqual(['2']);
  expect(ids('suspended', 'docs')).toEqual(['3']);
  expect(ids('all', '')).toEqual(['1', '2', '3']);
});

test.for<[Parameters<typeof run>[0], string]>([
  [{ reason: 'usage limit reached' }, 'usage'],
  [{ failed_node: 'verify' }, 'verify'],
  [{ forked_from: { run_id: '01F', node: 'plan', visit: 2, before: true, changed: [] } }, 'fork 01f plan'],
  [{ replay_of: '01R' }, 'replay 01r'],
  [{ progress: { done: 1, total: 4, current: 'WO-02' } }, 'wo-02'],
  [{ dismissed: true }, 'dismissed'],
  [
    {
      status: 'running',
      waiting: { for: 'rate_limit', attempt: 2, of: 5, cause: 'busy', since: '', until: null },
    },
    'waiting rate limited busy',
  ],
])('a search finds a run with %j by "%s"', ([facts, words]) => {
  const rows = [run({ run_id: 'other' }), run({ ...facts, run_id: 'this' })];
  expect(runsLike(rows, 'all', words).map(({ run_id }) => run_id)).toEqual(['this']);
});
