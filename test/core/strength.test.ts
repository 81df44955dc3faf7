/** The interval of a strength, whether it reaches what is required, and its words. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Strength } from '../../src/core/records/strength.ts';
import { clopperPearson, isStrengthLook, strengthDecision, strengthWords } from '../../src/core/strength.ts';

// By R's binom.test and SciPy's beta.ppf.
test.for([
  [0, 10, 0, 0.3085],
  [1, 10, 0.0025, 0.445],
  [43, 60, 0.5856, 0.8255],
  [60, 60, 0.9404, 1],
  [86, 120, 0.6272, 0.7951],
  [0, 40, 0, 0.0881],
  [200, 1000, 0.1756, 0.2262],
] as const)('%i of %i have the interval %d to %d', ([killed, valid, low, high]) => {
  const interval = clopperPearson(killed, valid);
  expect(interval.low).toBeCloseTo(low, 3);
  expect(interval.high).toBeCloseTo(high, 3);
});

test('an interval contains the rate, mirrors that of the others, and gets no wider with more of the same', () => {
  const counts = fc
    .integer({ min: 1, max: 600 })
    .chain((valid) => fc.record({ valid: fc.constant(valid), killed: fc.integer({ min: 0, max: valid }) }));
  fc.assert(
    fc.property(counts, ({ valid, killed }) => {
      const { low, high } = clopperPearson(killed, valid);
      const mirrored = clopperPearson(valid - killed, valid);
      const double = clopperPearson(2 * killed, 2 * valid);
      expect(low).toBeLessThanOrEqual(killed / valid);
      expect(high).toBeGreaterThanOrEqual(killed / valid);
      expect(mirrored.low).toBeCloseTo(1 - high, 9);
      expect(double.high - double.low).toBeLessThanOrEqual(high - low + 1e-9);
    }),
  );
});

test('the interval is looked at after 60, 120, 240 and 480 mutants only', () => {
  expect(Array.from({ length: 1000 }, (_, n) => n).filter(isStrengthLook)).toEqual([60, 120, 240, 480]);
});

test.for([
  ['the lower bound reaches it', 56, 4, 0, 0.8, false, 'met'],
  ['the upper bound is below it', 38, 22, 0, 0.8, false, 'missed'],
  ['the interval contains it', 50, 10, 0, 0.8, false, undefined],
  ['the rate of all is it', 80, 20, 0, 0.8, true, 'met'],
  ['the rate of all is below it', 79, 21, 0, 0.8, true, 'missed'],
  ['one without a verdict would decide', 79, 20, 1, 0.8, true, undefined],
  ['one without a verdict changes nothing', 81, 18, 1, 0.8, true, 'met'],
  ['nothing was valid', 0, 0, 0, 0.8, true, undefined],
] as const)('%s: decided as a table says', ([_, killed, survived, no_verdict, required, isAll, answer]) => {
  expect(strengthDecision({ killed, survived, no_verdict }, required, isAll)).toBe(answer);
});

const measured: Strength = {
  ...{
    state: 'measured',
    killed: 43,
    survived: 17,
    timed_out: 0,
    not_reached: 0,
    not_built: 0,
    no_verdict: 0,
  },
  ...{ total: 303, complete: false, rate: 43 / 60, ...clopperPearson(43, 60) },
  ...{ required: null, left_out: [], files_left_out: 0, scenarios_left_out: 0, why: null },
};

test.for<[Partial<Strength> | undefined, string]>([
  [undefined, 'strength not measured'],
  [{}, 'strength 72 % (59–83), 60 of 303'],
  [{ files_left_out: 2 }, 'strength 72 % (59–83), 60 of 303, 2 files not mutated'],
  [
    { files_left_out: 1, scenarios_left_out: 1, required: 0.8, state: 'undecided', why: 'x' },
    'strength 72 % (59–83), 60 of 303, 1 file not mutated, 1 scenario not run, required 80 %: undecided: x',
  ],
  [
    { killed: 215, survived: 88, complete: true, rate: 215 / 303, low: null, high: null },
    'strength 71 %, all 303',
  ],
  [
    { state: 'missed', killed: 797, survived: 203, complete: true, rate: 0.797, required: 0.8 },
    'strength 79 %, all 1000, required 80 %',
  ],
  [
    { killed: 999, survived: 1, complete: true, rate: 0.999, low: null, high: null },
    'strength 99 %, all 1000',
  ],
  [
    { state: 'undecided', required: 0.8, why: 'the budget of 10m is spent' },
    'strength 72 % (59–83), 60 of 303, required 80 %: undecided: the budget of 10m is spent',
  ],
  [
    { state: 'undecided', rate: null, low: null, high: null, why: 'the product itself failed' },
    'strength undecided: the product itself failed',
  ],
  [
    { state: 'unknown', rate: null, low: null, high: null, why: 'there is nothing to mutate' },
    'strength unknown: there is nothing to mutate',
  ],
])('the words of %j are "%s"', ([changes, words]) => {
  expect(strengthWords(changes && { ...measured, ...changes })).toBe(words);
});
