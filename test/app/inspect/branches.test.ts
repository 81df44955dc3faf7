/** Branches of a run as people see them. */
import { expect, test } from 'vitest';
import { type BranchFacts, branchRowsOf, groupOfBranch } from '../../../src/app/inspect/branches.ts';
import type { ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import { groupsOf } from '../../../src/app/inspect/groups.ts';
import { checkPipeline } from '../../../src/app/read-pipeline.ts';
import type { RunRecord } from '../../../src/core/records/visit.ts';

type Line = { readonly node?: string; readonly branch?: string; readonly [key: string]: unknown };
const done = { ok: true, status: 'completed', reason: '', class: null };
const fan = { node: 'fan', fork: { join: 'join', branches: [{ id: 'a' }, { id: 'b' }] } };

/** The lines as records, and their executions; one with `open` has not ended. */
function factsOf(lines: readonly Line[], more: Partial<BranchFacts> = {}): BranchFacts {
  const visits = new Map<string, number>();
  const rows: Omit<ExecutionRow, 'group'>[] = [];
  const records = lines.flatMap((line, at) => {
    const time = new Date(at * 1000).toISOString();
    if (line.node === undefined) return [{ type: 'BranchStopped', at: time, ...line }];
    const visit = (visits.get(line.node) ?? 0) + 1;
    visits.set(line.node, visit);
    const about = { node: line.node, visit, branch: line.branch ?? null };
    const state = (line['open'] ?? (line['failed'] === undefined ? 'success' : 'fail')) as 'success';
    rows.push({
      ...about,
      ...{ type: 'tool', label: line.node, state, began_at: time, took_ms: 10, cost_usd: 0.01 },
      ended_at: state === 'success' ? time : null,
      reason: String(line['failed'] ?? ''),
    } as Omit<ExecutionRow, 'group'>);
    return line['open'] === undefined ? [{ type: 'Visit', at: time, visit, ...line }] : [];
  });
  return {
    ...{ records: records as unknown as readonly RunRecord[], executions: rows, graph: undefined },
    ...{ status: 'running', withheld: () => false },
    ...more,
  };
}

/** `a running: a@1 a2@1`, with the reason in brackets. */
const shown = (lines: readonly Line[], more: Partial<BranchFacts> = {}): readonly string[] =>
  branchRowsOf(factsOf(lines, more)).map(({ group, state, reason, executions }) =>
    `${group} ${state}${reason === '' ? '' : ` (${reason})`}: ${executions.join(' ')}`.trim(),
  );

const suspended = { status: 'paused_quota', node: 'b', reason: 'quota', wake_at: null, since: '' };

test.for<[what: string, lines: readonly Line[], expected: readonly string[], more?: Partial<BranchFacts>]>([
  ['two that have not begun', [fan], ['a waiting:', 'b waiting:']],
  [
    'one that runs and one that has ended',
    [
      fan,
      { node: 'a', branch: 'a' },
      { node: 'b', branch: 'b', branch_ended: done },
      { node: 'a2', branch: 'a', open: 'running' },
    ],
    ['a running: a@1 a2@1', 'b completed: b@1'],
  ],
  [
    'one that failed and one that was cancelled for it',
    [
      fan,
      {
        node: 'a',
        branch: 'a',
        failed: 'no',
        branch_ended: { ok: false, status: 'failed', reason: 'no', class: 'product' },
      },
      { branch: 'b', status: 'cancelled', reason: 'a has failed' },
    ],
    ['a failed (no): a@1', 'b cancelled (a has failed):'],
  ],
  [
    'one that is suspended while the other asks',
    [
      fan,
      { branch: 'b', status: 'paused_quota', reason: 'quota', parked: suspended },
      {
        branch: 'a',
        status: 'paused_answer',
        reason: 'Ship?',
        parked: { ...suspended, status: 'paused_answer', reason: 'Ship?' },
      },
    ],
    ['a paused_answer (Ship?):', 'b suspended (quota):'],
    { status: 'paused_quota' },
  ],
  [
    'those of a second round',
    [
      fan,
      { node: 'a', branch: 'a', branch_ended: done },
      { node: 'b', branch: 'b', branch_ended: done },
      { node: 'join', joined: 'fan' },
      fan,
      { node: 'a', branch: 'a', open: 'running' },
    ],
    ['a completed: a@1', 'b completed: b@1', 'a#2 running: a@2', 'b#2 waiting:'],
  ],
  [
    'one within another that was cancelled',
    [
      fan,
      { node: 'a', branch: 'a', fork: { join: 'm', branches: [{ id: 'x' }] } },
      { node: 'x', branch: 'x' },
      { branch: 'a', status: 'cancelled', reason: 'b was first' },
    ],
    ['a cancelled (b was first): a@1', 'b waiting:', 'x cancelled (a has ended): x@1'],
  ],
  [
    'one of a killed run',
    [fan, { node: 'a', branch: 'a' }],
    ['a interrupted: a@1', 'b waiting:'],
    { status: 'crashed' },
  ],
])('branches are shown: %s', ([, lines, expected, more]) => {
  expect(shown(lines, more)).toEqual(expected);
});

test('a reason that may show the holdout is that of the execution, which is without it', () => {
  const lines = [
    fan,
    {
      node: 'a',
      branch: 'a',
      failed: 'failed (product)',
      branch_ended: { ok: false, status: 'failed', reason: 'sealed line', class: 'product' },
    },
  ];
  expect(shown(lines, { withheld: (node) => node === 'a' })[0]).toBe('a failed (failed (product)): a@1');
});

test('branches of a list name their items; a call is named like its node', () => {
  const each = {
    node: 'fan',
    fork: { join: 'join', items: ['src/a.ts', { n: 1 }], branches: [{ id: 'r.1' }, { id: 'r.2' }] },
  };
  const call = {
    node: 'build',
    fork: { join: 'build.done', call: true, branches: [{ id: 'build.start', fresh: true }] },
  };
  expect(branchRowsOf(factsOf([each, call])).map(({ title, call: is }) => [title, is])).toEqual([
    ['r: src/a.ts', false],
    ['r: {"n":1}', false],
    ['build', true],
  ]);
});

test('a label that names the item has it in its place', () => {
  const { anyGraph } = checkPipeline('g.dot', 'digraph g { r [label="${index}. Review ${item.n}"] }');
  const each = {
    node: 'fan',
    fork: { join: 'join', items: [{ n: 'a' }, 5], branches: [{ id: 'r.1' }, { id: 'r.2' }] },
  };
  expect(branchRowsOf(factsOf([each], { graph: anyGraph })).map(({ title }) => title)).toEqual([
    '1. Review a',
    '2. Review ${item.n}',
  ]);
});

test('executions of branches are in groups of their own, which name what opened them', () => {
  const facts = factsOf([
    { node: 'start' },
    fan,
    { node: 'a', branch: 'a', branch_ended: done },
    {
      node: 'b',
      branch: 'b',
      failed: 'no',
      branch_ended: { ok: false, status: 'failed', reason: 'no', class: 'product' },
    },
    { node: 'join', joined: 'fan' },
  ]);
  const branches = branchRowsOf(facts);
  const visits = facts.records.filter((record) => record.type === 'Visit');
  const { groups, of } = groupsOf({
    ...{ rows: facts.executions, branches, visits, graph: undefined, title: 'The run' },
    ...{ titles: new Map(), ended: false },
  });
  expect(
    groups.map(({ id, kind, state, opened_by, attempts }) => [
      id,
      kind,
      state,
      opened_by,
      attempts.flatMap(({ executions }) => executions),
    ]),
  ).toEqual([
    ['run', 'part', 'running', null, ['start@1', 'fan@1', 'join@1']],
    ['a', 'branch', 'done', 'fan@1', ['a@1']],
    ['b', 'branch', 'failed', 'fan@1', ['b@1']],
  ]);
  expect([...of.entries()]).toEqual([
    ['start@1', 'run'],
    ['fan@1', 'run'],
    ['join@1', 'run'],
    ['a@1', 'a'],
    ['b@1', 'b'],
  ]);
});

test('a branch that a run has left without an end counts as cancelled', () => {
  const [row] = branchRowsOf(factsOf([fan]));
  expect(row && groupOfBranch(row, true).state).toBe('cancelled');
});
