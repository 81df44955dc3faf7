import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import {
  isJoinDecided,
  type JoinedBranch,
  type JoinRules,
  joinResult,
  joinRulesIn,
  successesNeeded,
} from '../../src/core/join.ts';
import type { Context } from '../../src/core/outcome.ts';
import type { BranchEnd } from '../../src/core/records/fork.ts';
import { typed } from '../../src/core/settings/typing.ts';
import { readGraph } from '../../src/dot/read.ts';

const usual: JoinRules = {
  policy: 'wait_all',
  k: undefined,
  fraction: undefined,
  onFailure: undefined,
  merge: 'all',
  lifted: [],
  summary: true,
};

const ends: Readonly<Record<string, BranchEnd>> = {
  ok: { ok: true, status: 'completed', reason: '', class: null },
  product: { ok: false, status: 'failed', reason: 'tests fail', class: 'product' },
  infra: { ok: false, status: 'failed', reason: 'no network', class: 'infra' },
  cancelled: { ok: false, status: 'cancelled', reason: 'cancelled', class: 'cancelled' },
};
const endOf = (word: string): BranchEnd => ends[word] ?? (ends['ok'] as BranchEnd);

const nothing = { created: [], modified: [], deleted: [] };
const branch = (id: string, word: string, context: Context = {}): JoinedBranch => ({
  id,
  end: endOf(word),
  last: word === 'ok' ? 'success' : 'fail',
  notes: '',
  files: nothing,
  context,
});

/** Branches `a`, `b`, … that have ended so. */
const branchesOf = (words: string): readonly JoinedBranch[] =>
  words.split(' ').flatMap((word, at) => (word === '' ? [] : [branch(String.fromCharCode(97 + at), word)]));

const all: Partial<JoinRules> = { policy: 'all_success' };
const first: Partial<JoinRules> = { policy: 'first_success' };
const two: Partial<JoinRules> = { policy: 'k_of_n', k: 2 };
const quorum: Partial<JoinRules> = { policy: 'quorum' };

/** Rules, how the branches have ended, the outcome with its class, and the branches that count. */
const rows: readonly (readonly [Partial<JoinRules>, string, string, string])[] = [
  [{}, 'ok ok', 'success', 'a b'],
  [{}, 'ok product', 'partial_success', 'a'],
  [{}, 'product infra', 'fail product', ''],
  [{}, 'infra infra', 'fail infra', ''],
  [{}, 'ok cancelled', 'partial_success', 'a'],
  [{}, '', 'success', ''],
  [{ onFailure: 'fail_fast' }, 'ok product cancelled', 'fail product', ''],
  [all, 'ok ok', 'success', 'a b'],
  [all, 'ok infra', 'fail infra', ''],
  [all, 'ok infra product', 'fail product', ''],
  [all, 'ok infra cancelled', 'fail infra', ''],
  [all, '', 'success', ''],
  [first, 'product ok cancelled', 'success', 'b'],
  [first, 'ok ok', 'success', 'a'],
  [first, 'product product', 'fail product', ''],
  [first, '', 'success', ''],
  [two, 'ok product ok', 'success', 'a c'],
  [two, 'ok ok ok', 'success', 'a b c'],
  [two, 'ok infra cancelled', 'fail infra', ''],
  [two, 'ok', 'fail config', ''],
  [two, '', 'success', ''],
  [quorum, 'ok product ok', 'success', 'a c'],
  [quorum, 'ok product', 'fail product', ''],
  [{ ...quorum, fraction: 0.5 }, 'ok product', 'success', 'a'],
  [{ ...quorum, fraction: 0.7 }, 'ok ok product', 'fail product', ''],
  [{ ...quorum, fraction: 1 }, 'ok ok', 'success', 'a b'],
  [{ ...quorum, fraction: 1e-10 }, 'product product', 'fail product', ''],
];

test.for(rows)('with %j, branches that ended "%s" give %s', ([rules, words, gives, counts]) => {
  const { outcome, counted } = joinResult({ ...usual, ...rules }, branchesOf(words), {});
  const status = outcome.status === 'fail' ? `fail ${outcome.class}` : outcome.status;
  expect([status, counted.join(' ')]).toEqual([gives, counts]);
});

/** Rules, branches that have ended or still run (`-`), and whether those are cancelled. */
const early: readonly (readonly [Partial<JoinRules>, string, boolean])[] = [
  [{}, 'product product -', false],
  [{ onFailure: 'fail_fast' }, 'ok -', false],
  [{ onFailure: 'fail_fast' }, 'product -', true],
  [all, 'ok ok -', false],
  [all, 'product -', true],
  [{ ...all, onFailure: 'continue' }, 'product -', false],
  [first, 'product -', false],
  [first, 'ok -', true],
  [{ ...first, onFailure: 'continue' }, 'ok -', true],
  [two, 'ok - -', false],
  [two, 'ok ok -', true],
  [two, 'product - -', false],
  [two, 'product product -', true],
  [{ ...two, onFailure: 'continue' }, 'product product -', false],
  [quorum, 'ok ok -', true],
  [quorum, 'product - -', false],
];

test.for(early)('with %j, branches that stand at "%s" cancel the others: %s', ([rules, words, gives]) => {
  const now = words.split(' ').map((word) => (word === '-' ? undefined : endOf(word)));
  expect(isJoinDecided({ ...usual, ...rules }, now)).toBe(gives);
});

const anyRules = fc.record({
  policy: fc.constantFrom('wait_all', 'all_success', 'first_success', 'k_of_n', 'quorum'),
  k: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  fraction: fc.option(fc.double({ min: 0.01, max: 1, noNaN: true }), { nil: undefined }),
  onFailure: fc.constantFrom(undefined, 'continue', 'fail_fast'),
  merge: fc.constant('all'),
  lifted: fc.constant([]),
  summary: fc.constant(true),
}) as fc.Arbitrary<JoinRules>;
const anyEnds = fc.array(fc.constantFrom('ok', 'product', 'infra', '-'), { maxLength: 6 });

test('a join that is decided early ends the same whatever the others would have done', () => {
  fc.assert(
    fc.property(anyRules, anyEnds, anyEnds, (rules, now, later) => {
      const ended = now.map((word) => (word === '-' ? undefined : endOf(word)));
      fc.pre(isJoinDecided(rules, ended));
      const status = (rest: (at: number) => string) => {
        const words = now.map((word, at) => (word === '-' ? rest(at) : word));
        return joinResult(rules, branchesOf(words.join(' ')), {}).outcome.status;
      };
      const cancelled = status(() => 'cancelled');
      if (rules.onFailure !== 'fail_fast')
        expect(status((at) => later[at]?.replace('-', 'ok') ?? 'ok')).toBe(cancelled);
      else expect(['success', 'fail']).toContain(cancelled);
    }),
  );
});

test('no join succeeds with fewer successes than it needs, and every branch that counts has succeeded', () => {
  fc.assert(
    fc.property(anyRules, anyEnds, (rules, words) => {
      const ended = words.map((word) => word.replace('-', 'cancelled'));
      const branches = branchesOf(ended.join(' '));
      const { outcome, counted } = joinResult(rules, branches, {});
      const good = ended.filter((word) => word === 'ok').length;
      expect(outcome.status === 'fail').toBe(good < successesNeeded(rules, ended.length));
      for (const id of counted) expect(branches.find((one) => one.id === id)?.end.ok).toBe(true);
    }),
  );
});

test('the first line names the branches that have failed and why, then the others', () => {
  const branches = [branch('a', 'ok'), branch('b', 'product'), branch('c', 'cancelled')];
  const line = 'failed: b (product: tests fail); cancelled: c; succeeded: a';
  expect(joinResult(usual, branches, {}).outcome).toMatchObject({ status: 'partial_success', notes: line });
  expect(joinResult({ ...usual, ...all }, branches, {}).outcome).toMatchObject({
    reason: `1 of 3 branches succeeded, join_policy=all_success needs 3; ${line}`,
  });
  const noneOf = {
    ...branch('b', 'product'),
    end: { ...endOf('product'), reason: `a\nb ${'x'.repeat(300)}` },
  };
  expect(joinResult(usual, [noneOf, noneOf], {}).outcome).toMatchObject({
    reason: expect.stringMatching(
      /^none of 2 branches succeeded; failed: b \(product: a b x+…\), b \([^\n]*$/,
    ),
  });
});

test('what a branch has set is under its id, its counters under their own names', () => {
  const base = { goal: 'g', plan: 'old', 'tool.output': 'same' };
  const a = branch('a', 'ok', {
    ...base,
    plan: 'A',
    ...{ outcome: 'success', current_node: 'a', 'internal.retry_count.a': 2, 'parallel.results': [] },
  });
  const b = { ...branch('b', 'product', { ...base, size: 3 }), item: 'x' };
  const { outcome } = joinResult(usual, [a, b], base);
  expect(outcome.updates).toEqual({
    'parallel.results': [
      {
        ...{ id: 'a', status: 'success', notes: '', reason: '', failure_class: null, files: nothing },
        context_updates: { plan: 'A' },
      },
      {
        ...{
          id: 'b',
          status: 'fail',
          notes: '',
          reason: 'tests fail',
          failure_class: 'product',
          files: nothing,
        },
        context_updates: { size: 3 },
        item: 'x',
      },
    ],
    'parallel.results.a.plan': 'A',
    'parallel.results.a.outcome': 'success',
    'parallel.results.b.size': 3,
    'parallel.results.b.outcome': 'fail',
    'parallel.fan_in.best_id': 'a',
    'parallel.fan_in.best_outcome': 'success',
    'internal.retry_count.a': 2,
  });
});

test('merge_context lifts the named keys of the first branch that has set each and counts', () => {
  const branches = [
    branch('a', 'product', { plan: 'A' }),
    branch('b', 'ok', { plan: 'B', other: 1 }),
    branch('c', 'ok', { plan: 'C', score: 7 }),
  ];
  const { outcome, setIn } = joinResult({ ...usual, lifted: ['plan', 'score', 'none'] }, branches, {});
  expect([outcome.updates['plan'], outcome.updates['score'], outcome.updates['other']]).toEqual([
    'B',
    7,
    undefined,
  ]);
  expect(setIn).toEqual({ plan: 'b', score: 'c' });
});

test.for([
  [['a ok', 'b ok'], {}, 'a'],
  [['a ok', 'b ok'], { b: 2, a: 1 }, 'b'],
  [['b ok', 'a ok'], {}, 'a'],
  [['a product', 'b ok'], { a: 9 }, 'b'],
  [['a cancelled', 'b product'], {}, 'b'],
] as const)('of %j with the scores %j the best is %s', ([words, scores, best]) => {
  const branches = words.map((word) => {
    const [id = '', end = ''] = word.split(' ');
    const score: number | undefined = (scores as Record<string, number>)[id];
    return branch(id, end, score === undefined ? {} : { score });
  });
  expect(joinResult(usual, branches, {}).outcome.updates['parallel.fan_in.best_id']).toBe(best);
});

test.each([
  ['tripleoctagon', { policy: 'k_of_n', k: 2, merge: 'none', lifted: ['a'] }],
  // What it says is about its own branches.
  ['component', { policy: 'k_of_n' }],
] as const)(
  'each rule is that of the fan-out, else that of its join if it is a tripleoctagon: %s',
  (shape, rules) => {
    const { graph } = readGraph(
      'g.dot',
      `digraph g { f [shape=component, join_policy=k_of_n]
      j [shape=${shape}, join_policy=quorum, k=2, merge=none, merge_context=a] }`,
    );
    if (graph === undefined) throw new Error('a test graph does not read');
    const { graph: read } = typed(graph, kinds);
    expect(joinRulesIn(read, { node: 'f', join: 'j' })).toEqual({ ...usual, ...rules });
    expect(joinRulesIn(read, { node: '', join: '' })).toEqual(usual);
  },
);
