/** The events that the journal of a run with branches gives. */
import { expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import type { RunEvent } from '../../src/core/events.ts';
import { failed, succeeded } from '../../src/core/outcome.ts';
import type { JournalLine, LineFacts } from '../../src/core/records/journal.ts';
import { viewRecordsFrom } from '../../src/run/view-records.ts';

const at = '2026-01-01T00:00:00.000Z';
const done = { ok: true, status: 'completed', reason: '', class: null } as const;
type Line = LineFacts extends infer L ? (L extends LineFacts ? Partial<L> & Pick<L, 'type'> : never) : never;

const visit = (node: string, more: object = {}): Line => ({
  ...{ type: 'Visit', node, node_type: 'tool', visit: 1, before: 's', after: 's', outcome: succeeded() },
  ...{ retries: 0, calls: 0, context: { set: {}, unset: [] }, origins: { set: {} }, next_node: 'join' },
  ...{ arrived: null, elapsed_ms: 10, took_ms: 10, spent: nothingSpent },
  ...more,
});
const began = (node: string, branch?: string): Line => ({
  ...{ type: 'Began', node, node_type: 'tool', visit: 1 },
  ...(branch === undefined ? {} : { branch }),
});
const fan = visit('fan', { fork: { join: 'join', branches: [{ id: 'a' }, { id: 'b' }] } });

/** Each event of the lines, without what all have: `BranchCompleted branch=a status=failed reason=why`. */
function events(...lines: readonly Line[]): readonly string[] {
  const start = {
    ...{ type: 'Start', next_node: 'fan', context: {}, origins: {}, snapshot: 's', manifest_sha256: '' },
  };
  let steps = 0;
  const journal = [start, ...lines].map((line, index) => ({
    ...{ schema_version: 2, run_id: 'r', seq: index + 1, epoch: 1, prev: '', at },
    ...line,
    ...(line.type === 'Visit' ? { steps: ++steps } : {}),
  })) as unknown as readonly JournalLine[];
  const input = () => ({ node_type: '', node_shape: 'box', node_attrs: {}, workspace: '/w' });
  return [...viewRecordsFrom(1, journal, {}, { runDir: '/r', input })].flatMap(({ records }) =>
    records.events.filter(({ type }) => type !== 'CheckpointSaved').map(words),
  );
}

const words = ({ type, at: _, schema_version: __, ...fields }: RunEvent): string =>
  [
    type,
    ...Object.entries(fields)
      .filter(([key]) => !['elapsed_ms', 'node_type', 'visit', 'notes', 'outcome'].includes(key))
      .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
  ].join(' ');

test('branches begin after their node, each with its first execution, and the join says how they met', () => {
  expect(
    events(
      ...[began('fan'), fan, began('a', 'a'), began('b', 'b')],
      ...[visit('a', { branch: 'a', next_node: 'a2' }), began('a2', 'a')],
      visit('b', { branch: 'b', branch_ended: done }),
      visit('a2', { branch: 'a', branch_ended: done }),
      ...[began('join'), visit('join', { joined: 'fan', next_node: 'end' })],
    ),
  ).toEqual([
    'StageStarted node_id=fan',
    'StageCompleted node_id=fan',
    'ParallelStarted node_id=fan join=join branches=["a","b"]',
    'BranchStarted branch=a',
    'StageStarted node_id=a branch=a',
    'BranchStarted branch=b',
    'StageStarted node_id=b branch=b',
    'StageCompleted node_id=a branch=a',
    'StageStarted node_id=a2 branch=a',
    'StageCompleted node_id=b branch=b',
    'BranchCompleted branch=b status=completed reason=',
    'StageCompleted node_id=a2 branch=a',
    'BranchCompleted branch=a status=completed reason=',
    'StageStarted node_id=join',
    'StageCompleted node_id=join',
    'ParallelCompleted node_id=fan join=join status=success',
  ]);
});

test('the end of a call is told from a join', () => {
  const ends = events(
    visit('review', { fork: { join: 'review.done', call: true, branches: [{ id: 'review.go' }] } }),
    visit('review.go', { branch: 'review.go', branch_ended: done }),
    visit('review.done', { joined: 'review' }),
  );
  expect(ends.at(-1)).toBe('ParallelCompleted node_id=review join=review.done status=success call=true');
});

const stopped = { type: 'BranchStopped', branch: 'b' } as const;
const suspended = { node: 'b', status: 'paused_quota', reason: 'quota', wake_at: at, since: at } as const;
const question = {
  ...{ id: 'b@1', node: 'b', visit: 1, mode: 'yes_no' as const, text: 'Ship?', after: null, text_to: null },
  ...{ options: [], default: null, timeout_action: 'fail' as const, asked_at: at, deadline: null },
};

test.for<[what: string, line: Line, expected: readonly string[]]>([
  [
    'a branch that fails with its last execution',
    visit('b', {
      branch: 'b',
      outcome: failed('broken', 'product'),
      branch_ended: { ok: false, status: 'failed', reason: 'broken', class: 'product' },
    }),
    [
      'StageFailed node_id=b branch=b failure_reason=broken failure_class=product',
      'BranchCompleted branch=b status=failed reason=broken failure_class=product',
    ],
  ],
  [
    'a limit of a node',
    { ...stopped, status: 'failed', reason: 'max_visits: node "b"', class: 'budget' },
    ['BranchCompleted branch=b status=failed reason=max_visits: node "b" failure_class=budget'],
  ],
  [
    'a cancelled branch',
    { ...stopped, status: 'cancelled', reason: 'a was first' },
    ['BranchCompleted branch=b status=cancelled reason=a was first'],
  ],
  [
    'a suspended branch',
    { ...stopped, status: 'paused_quota', reason: 'quota', parked: suspended },
    [`BranchParked branch=b status=paused_quota node_id=b reason=quota wake_at=${at}`],
  ],
  [
    'a branch that asks',
    { ...stopped, status: 'paused_answer', reason: 'Ship?', question },
    [
      'InterviewStarted node_id=b branch=b question=b@1 text=Ship? options=[] deadline=null',
      'BranchParked branch=b status=paused_answer node_id=b reason=Ship? wake_at=null',
    ],
  ],
  [
    'a call in a branch',
    visit('b', {
      branch: 'b',
      fork: { join: 'b.done', call: true, branches: [{ id: 'b.start', fresh: true }] },
    }),
    [
      'StageCompleted node_id=b branch=b',
      'ParallelStarted node_id=b branch=b join=b.done branches=["b.start"] call=true',
    ],
  ],
])('%s has its events', ([, line, expected]) => {
  expect(events(fan, line).slice(2)).toEqual(expected);
});
