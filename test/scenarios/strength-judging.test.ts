/** Judging mutants one after the other: what counts, what is kept, and what makes the number void. */
import { expect, test } from 'vitest';
import type { Mutant } from '../../src/mutants/mutants.ts';
import type { PhaseHost } from '../../src/scenarios/launch/product.ts';
import { type JudgingRequest, judgeMutants } from '../../src/scenarios/strength/judge-mutants.ts';
import type { MutantOutcome, StrengthGoal } from '../../src/scenarios/strength/tally.ts';
import type { VariantTrouble } from '../../src/scenarios/strength/variants.ts';

const mutants = (count: number): Mutant[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `m${n}`, path: 'a.js', language: 'javascript', operator: 'number', line: 1 },
    ...{ start: 0, end: 1, replacement: String(n) },
  }));

/** Judges mutants; `judge` gets the mutant's number, `check` how many were judged before it. */
async function judged(
  count: number,
  {
    judge = () => 'killed',
    check = () => undefined,
    goal = {},
    jobs = 1,
    build = undefined,
    ruledOut = [],
  }: {
    readonly judge?: (n: number) => Promise<MutantOutcome> | MutantOutcome;
    readonly check?: (before: number, kept: number) => VariantTrouble | undefined;
    readonly goal?: StrengthGoal;
    readonly jobs?: number;
    readonly build?: string | undefined;
    /** What becomes of the files that a rule leaves out, emptied, each time. */
    readonly ruledOut?: readonly MutantOutcome[];
  },
) {
  const stop = new AbortController();
  const kept = new Map<string, MutantOutcome>();
  const order: number[] = [];
  const answers = [...ruledOut];
  const base = { folder: '', mounts: [], hash: '', newest: 0 };
  const request: JudgingRequest = {
    ...{ order: mutants(count), texts: new Map([['a.js', '0']]), key: 'k', goal, jobs },
    ruledOut: new Map(
      ruledOut.length === 0
        ? []
        : [
            ['test/a.js', ''],
            ['gen/b.js', ''],
          ],
    ),
    variants: {
      base: build === undefined ? base : { ...base, build: { command: build, scratch: '', limitMs: 0 } },
      async judge(variant) {
        if (variant.has('gen/b.js')) {
          expect([variant.size, order]).toEqual([2, []]);
          return answers.shift();
        }
        const text = variant.get('a.js');
        if (text === '') return 'killed';
        order.push(Number(text));
        const outcome = await judge(Number(text));
        return stop.signal.aborted ? undefined : outcome;
      },
      check: async () => check(order.length, kept.size),
    },
    cache: { read: () => kept, add: (_, id, outcome) => kept.set(id, outcome), drop: () => kept.clear() },
    isOver: () => false,
    onProgress: () => {},
  };
  // Judging needs no more of it.
  const host = { signal: stop.signal } as PhaseHost;
  return { ended: judgeMutants(request, host), kept, order, stop, answers };
}

test('after every 50 and at the end the product is judged again, and only then outcomes are kept', async () => {
  const checks: number[][] = [];
  const check = (before: number, kept: number) => void checks.push([before, kept]);
  const { ended, kept } = await judged(120, { check });
  expect((await ended).end).toBe('done');
  expect(checks).toEqual([
    [50, 0],
    [100, 51],
    [120, 101],
  ]);
  expect([kept.size, kept.get('m3'), kept.get('emptied a.js')]).toEqual([121, 'killed', 'killed']);
});

test('where the product no longer passes nothing is kept', async () => {
  const check = (before: number) => (before < 60 ? undefined : { why: 'it fails', isInfra: false });
  const { ended, kept } = await judged(120, { check });
  expect(await ended).toMatchObject({
    end: 'void',
    why: 'the product without a mutant passed at first, but not after 100 mutants: it fails',
  });
  expect(kept.size).toBe(0);
});

test('interrupted, those after the last check are not kept', async () => {
  const { ended, kept, stop } = await judged(120, {
    judge: (n) => {
      if (n === 70) stop.abort();
      return 'killed';
    },
  });
  const { end, tally } = await ended;
  expect([end, tally.length, kept.size, kept.has('m60')]).toEqual(['interrupted', 70, 51, false]);
});

test('what times out is judged once more, alone, and only that counts', async () => {
  const times = new Map<number, number>();
  let [now, aloneIn] = [0, 0];
  const { ended, kept, order } = await judged(20, {
    jobs: 4,
    judge: async (n) => {
      const time = (times.get(n) ?? 0) + 1;
      times.set(n, time);
      now += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (time === 2 && now === 1) aloneIn += 1;
      now -= 1;
      if (![3, 4, 5].includes(n)) return 'killed';
      return time === 1 || n === 3 ? 'timed_out' : n === 4 ? 'survived' : 'no_verdict';
    },
  });
  const { tally } = await ended;
  expect(tally.counts).toMatchObject({ killed: 17, timed_out: 1, survived: 1, no_verdict: 1 });
  expect([order.slice(20), aloneIn]).toEqual([[3, 4, 5], 3]);
  expect(['m3', 'm4', 'm5'].map((id) => kept.get(id))).toEqual(['timed_out', 'survived', undefined]);
});

test('a mutant that timed out before an interruption has no outcome', async () => {
  const seen = new Set<number>();
  const { ended, stop } = await judged(20, {
    judge: (n) => {
      if (seen.has(n)) stop.abort();
      seen.add(n);
      return n === 7 ? 'timed_out' : 'killed';
    },
  });
  const { end, tally } = await ended;
  expect([end, tally.length, tally.counts.timed_out]).toEqual(['interrupted', 7, 0]);
});

const unbuilt = (parts: number) => (n: number) => (n % parts === 0 ? 'not_built' : 'killed');

test.for<[number, (n: number) => MutantOutcome, string, number]>([
  [200, unbuilt(2), 'void', 50],
  [6, unbuilt(2), 'void', 6],
  [6, unbuilt(3), 'done', 6],
  [200, unbuilt(4), 'done', 200],
  // The first half is worse, but of fewer than 20 nothing follows.
  [20, (n) => (n < 6 ? 'not_built' : 'survived'), 'done', 20],
])('of %i mutants too many that are not built make the number void', async ([count, judge, end, length]) => {
  const { ended } = await judged(count, { judge, build: 'make all' });
  const answer = await ended;
  expect([answer.end, answer.tally.length]).toEqual([end, length]);
  if (end === 'void') expect(answer.why).toMatch(/^\d+ of \d+ mutants could not be built.*--build.*make all/);
});

test.for<[readonly MutantOutcome[], string | undefined]>([
  [[], undefined],
  [['survived'], 'idle'],
  [['killed'], 'needed'],
  [['not_built'], 'needed'],
  [['timed_out', 'survived'], 'idle'],
  [['timed_out', 'timed_out'], 'needed'],
  [['no_verdict', 'killed'], 'needed'],
  [['no_verdict', 'no_verdict'], 'no_verdict'],
])(
  'before all mutants, files that a rule leaves out are judged empty, all together: %j is %s',
  async ([ruledOut, expected]) => {
    const { ended, answers } = await judged(3, { ruledOut });
    const { end, tally, ...more } = await ended;
    expect([end, tally.length, more.ruledOut, answers]).toEqual(['done', 3, expected, []]);
  },
);
