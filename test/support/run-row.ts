/** A row of a list of runs, made up. */
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';

export const madeRow = (facts: Partial<RunRow> = {}): RunRow => ({
  run_id: '01A',
  title: 'parser',
  pipeline: 'build.dot',
  status: 'completed',
  waiting: null,
  needs_attention: false,
  dismissed: false,
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
  action: null,
  acts: [],
  run_dir: '/runs/r',
  ...facts,
});
