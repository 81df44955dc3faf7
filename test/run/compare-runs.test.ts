/** When two runs did the same, and what of a text does not count when runs are compared. */
import { describe, expect, test } from 'vitest';
import type { RunRecord, VisitRecord } from '../../src/core/records/visit.ts';
import { firstDifference, normalForm, renameDirsIn } from '../../src/run/comparable.ts';
import { type ComparedRun, compareRuns, differenceText } from '../../src/run/compare-runs.ts';

const names = (runId: string) => ({ runId, dirs: [`/runs/${runId}`] });
const normal = normalForm([names('one'), names('two')]);

const execution = (node: string, seq: number, notes = 'x'): VisitRecord => ({
  schema_version: 2,
  run_id: 'any',
  seq,
  epoch: 1,
  prev: '',
  type: 'Visit',
  at: `at ${seq}`,
  node,
  node_type: 'tool',
  visit: 1,
  before: 'a',
  after: String(Math.random()),
  outcome: { status: 'success', label: '', suggested: [], notes, updates: {} },
  retries: 0,
  calls: 0,
  context: { set: {}, unset: [] },
  origins: { set: {} },
  next_node: 'b',
  arrived: null,
  steps: seq,
  elapsed_ms: Math.random(),
});
const run = (...notes: readonly string[]): ComparedRun => ({
  records: notes.map((note, at) => execution('ab'[at] ?? 'c', at + 1, note)),
  end: { status: 'completed', ended: null },
});

describe('two runs', () => {
  test('are equal except for run id, directories, times, process ids and commits', () => {
    const noted = (id: string, day: number) =>
      run(
        `in /runs/${id}/workspace of ${id}, pid ${day}, 2026-01-0${day}T00:00:00Z, took ${day}.5ms: ${String(day).repeat(40)}`,
      );
    expect(compareRuns(noted('one', 1), noted('two', 2), normal)).toEqual({ same: 1 });
  });

  test.for([
    [run('x', 'y'), run('x', 'z'), 'execution 2 (b@1): outcome.notes was "y" and is "z"'],
    [run('x', 'y'), run('x'), 'execution 2: the recorded run has b@1, the replay the end'],
    [run('x'), run('x', 'y'), 'execution 2: the recorded run has the end, the replay b@1'],
    [
      run('x'),
      { ...run('x'), end: { status: 'failed', ended: null } },
      'execution 2 (the end): status was "completed" and is "failed"',
    ],
  ] as const)('differ where an execution or the end does, and the first one is named: %#', ([a, b, text]) => {
    const compared = compareRuns(a, b, normal);
    if ('same' in compared) throw new Error('they do not differ');
    expect(differenceText(compared.difference)).toBe(text);
  });
});

test('runs are equal in whatever order their branches ended, and how far cancelled ones came', () => {
  const of = (branch: string | undefined, node: string, more: object = {}) => ({
    ...execution(node, 1),
    ...(branch === undefined ? {} : { branch }),
    ...more,
  });
  const fork = { join: 'join', branches: ['a', 'b', 'c'].map((id) => ({ id })) };
  const cancelled = { type: 'BranchStopped', branch: 'c', status: 'cancelled' } as unknown as RunRecord;
  const lanes = [
    [of('a', 'a'), of('a', 'a2')],
    [of('b', 'b'), of('b', 'b2', { next_node: 'join' })],
    [of('c', 'c'), of('c', 'c2'), of('c', 'c3')],
  ] as const;
  const order = (lanesOfSteps: readonly number[], change = (all: VisitRecord[]) => all): ComparedRun => {
    const left = lanes.map((lane) => [...lane]);
    const inside = lanesOfSteps.flatMap((lane) => left[lane]?.shift() ?? []);
    const all = [of(undefined, 'fan', { fork }), ...inside];
    const numbered = change(all).map((one, at) => ({ ...one, steps: at + 1 }));
    const join = of(undefined, 'join', { joined: 'fan', steps: 9 });
    return { records: [...numbered, cancelled, join], end: {} };
  };
  const was = order([0, 0, 1, 1, 2]);
  for (const is of [order([1, 0, 1, 0]), order([2, 2, 2, 1, 0, 0, 1])])
    expect(compareRuns(was, is, normal)).toEqual({ same: 6 });
  const other = order([1, 0, 1, 0], (all) =>
    all.map((one) => (one.node === 'b' ? { ...one, retries: 1 } : one)),
  );
  expect(compareRuns(was, other, normal)).toMatchObject({
    difference: { index: 4, recorded: 'b@1', field: 'retries' },
  });
});

describe('the normal form', () => {
  test.for([
    ['duration_ms 12.5', 'duration_ms 3'],
    ['# took 1.25s at 10:20:30', '# took 0.1s at 11:00:00.5'],
    ['ok 3 (12ms)', 'ok 3 (1.5 ms)'],
    ['"elapsed_ms":12', '"elapsed_ms":7'],
    ['Sat at 2026-01-01T00:00:00.123Z', 'Sat at 2027-01-01T00:00:00Z'],
    ['one runs /runs/one/x', 'two runs /runs/two/x'],
    ['one runs two.dot', 'two runs two.dot'],
  ] as const)('makes %s and %s alike', ([a, b]) => {
    expect(normal(a)).toBe(normal(b));
  });

  test.for([
    ['3 of 5', '4 of 5'],
    ['timeout 5s', 'timeout 6s'],
    ['version 1.2.3', 'version 1.2.4'],
    ['/runs/one2', '/runs/two2'],
    ['oneself', 'twoself'],
  ] as const)('leaves %s and %s different', ([a, b]) => {
    expect(normal(a)).not.toBe(normal(b));
  });

  test('leaves times on request', () => {
    expect(normalForm([names('one')], { exactTimes: true })('one: 20 ms')).toBe('<run id>: 20 ms');
  });
});

test('directories are renamed in all texts of a value, the inner one of two first', () => {
  const value = { a: ['/r/base/in/x', '/r/base/y', 1, null], b: '/r/base2' };
  expect(renameDirsIn(value, ['/r/base', '/r/base/in'], '/new')).toEqual({
    a: ['/new/x', '/new/y', 1, null],
    b: '/r/base2',
  });
});

test('the first difference of long lines is shown with what is around it', () => {
  const [was, is] = [`${'a'.repeat(300)}b`, `${'a'.repeat(300)}c`];
  expect(firstDifference(`same\n${was}`, `same\n${is}`)).toEqual({
    sentence: `line 2 was "…${'a'.repeat(40)}b" and is "…${'a'.repeat(40)}c"`,
    diff: `- ${was}\n+ ${is}`,
  });
  expect(firstDifference('x', 'x\ny').sentence).toBe('line 2 was nothing and is "y"');
});
