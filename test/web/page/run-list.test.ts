import { expect, test } from 'vitest';
import type { RunRow } from '../../../src/app/inspect/shapes.ts';
import { nothingSpent } from '../../../src/core/budget/usage.ts';
import { runSections, runsLike } from '../../../src/web/page/text/run-list.ts';

const run = (facts: Partial<RunRow>): RunRow => ({
  run_id: '01A',
  title: 'parser',
  pipeline: 'build.dot',
  status: 'completed',
  needs_attention: false,
  headline: '',
  reason: '',
  started_at: '2026-11-26T10:00:00Z',
  ended_at: '2026-11-26T11:00:00Z',
  elapsed_ms: 0,
  spent: nothingSpent,
  progress: null,
  at_node: null,
  next_node: '',
  failed_node: null,
  wake_at: null,
  delivered: null,
  forked_from: null,
  replay_of: null,
  question: null,
  questions: [],
  next: '',
  acts: [],
  run_dir: '/runs/r',
  ...facts,
});

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
