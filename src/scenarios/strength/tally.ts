/** What the outcomes of mutants amount to. Pure. */
import type { Strength } from '../../core/records/strength.ts';
import { sha256 } from '../../core/sha256.ts';
import { clopperPearson, isStrengthLook, strengthDecision } from '../../core/strength.ts';

export const mutantOutcomes = [
  'killed',
  'survived',
  'timed_out',
  'not_reached',
  'not_built',
  'no_verdict',
] as const;
export type MutantOutcome = (typeof mutantOutcomes)[number];

/** In an order in which any beginning is a random sample, the same for the same seed. */
export function inSampleOrder<T extends { readonly id: string }>(
  mutants: readonly T[],
  seed: string,
): readonly T[] {
  const places = new Map(mutants.map((mutant) => [mutant, sha256(`${seed} ${mutant.id}`)]));
  const place = (mutant: T): string => places.get(mutant) ?? '';
  return [...mutants].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

type MutantCounts = Readonly<Record<MutantOutcome, number>>;

export type StrengthTally = {
  readonly counts: MutantCounts;
  /** How many mutants from the first on count: up to the first without an outcome, or where the sample or a decision ends it. */
  readonly length: number;
  /** Why no more are needed; undefined while some are. */
  readonly end: 'all' | 'sample' | 'decided' | undefined;
  readonly decision: 'met' | 'missed' | undefined;
};

export type StrengthGoal = { readonly sample?: number | undefined; readonly required?: number | undefined };

/** Counts outcomes in the sample's order. What comes after a gap does not count: mutants that are killed are judged faster, so those
 *  that happen to be ready are no random sample. */
export function tallyOf(
  outcomes: readonly (MutantOutcome | undefined)[],
  { sample, required }: StrengthGoal,
): StrengthTally {
  const counts = { killed: 0, survived: 0, timed_out: 0, not_reached: 0, not_built: 0, no_verdict: 0 };
  let length = 0;
  for (const outcome of outcomes) {
    if (outcome === undefined) return { counts, length, end: undefined, decision: undefined };
    counts[outcome] += 1;
    length += 1;
    if (outcome === 'not_built' || outcome === 'no_verdict') continue;
    const valid = validIn(counts);
    if (length === outcomes.length) break;
    const decision =
      required !== undefined && isStrengthLook(valid)
        ? strengthDecision(sumsOf(counts), required, false)
        : undefined;
    if (decision !== undefined) return { counts, length, end: 'decided', decision };
    if (valid === sample) return { counts, length, end: 'sample', decision: undefined };
  }
  const decision = required === undefined ? undefined : strengthDecision(sumsOf(counts), required, true);
  return { counts, length, end: 'all', decision };
}

const sumsOf = (counts: MutantCounts) => ({
  killed: counts.killed + counts.timed_out,
  survived: counts.survived + counts.not_reached,
  no_verdict: counts.no_verdict,
});

export const validIn = (counts: MutantCounts): number => {
  const { killed, survived } = sumsOf(counts);
  return killed + survived;
};

/** Whether so many mutants had no verdict that the others may be no fair sample: more than 5 %. */
export const lacksVerdicts = (counts: MutantCounts): boolean =>
  counts.no_verdict > 0.05 * (validIn(counts) + counts.no_verdict);

/** Mutants that were built, or should have been. */
export const triedIn = (counts: MutantCounts): number =>
  validIn(counts) - counts.not_reached + counts.not_built;

/** Whether so many mutants could not be built that the others may be no fair sample: more than a third. */
export const lacksBuilds = (counts: MutantCounts): boolean => counts.not_built > triedIn(counts) / 3;

/** Whether no file of those that count is run by the judges. */
export const isUnreached = ({ counts }: StrengthTally): boolean =>
  counts.not_reached > 0 &&
  counts.not_reached === Object.values(counts).reduce((sum, count) => sum + count, 0);

/** What the number says nothing of. */
export type LeftOut = {
  /** Each with the reason. */
  readonly words: readonly string[];
  readonly files: number;
  readonly scenarios: number;
};

/** The record. `why`: what ended it before it was complete. `isVoid`: nothing follows from the counts. */
export function strengthOf(
  { counts, end, decision }: StrengthTally,
  about: {
    /** All mutants. */
    readonly all: number;
    readonly required: number | undefined;
    readonly leftOut: LeftOut;
    readonly why?: string | undefined;
    readonly isVoid?: boolean;
  },
): Strength {
  const { all, required, leftOut, why, isVoid = false } = about;
  const sums = sumsOf(counts);
  const valid = validIn(counts);
  const isNumber = !isVoid && valid > 0;
  const complete = end === 'all' && counts.no_verdict === 0;
  const isSample = isNumber && !complete;
  const interval = isSample ? clopperPearson(sums.killed, valid) : undefined;
  const open = required === undefined && isNumber ? 'measured' : 'undecided';
  const isPartly = decision === 'met' && leftOut.files > 0;
  const state = isNumber && !isPartly ? (decision ?? open) : 'undecided';
  return {
    state,
    ...sums,
    timed_out: counts.timed_out,
    not_reached: counts.not_reached,
    not_built: counts.not_built,
    total: all - counts.not_built - counts.no_verdict,
    complete,
    rate: isNumber ? sums.killed / valid : null,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
    required: required ?? null,
    ...leftOutFacts(leftOut),
    why: state === 'undecided' ? (why ?? (isPartly ? whyPartly(leftOut) : whyOpen(end, valid))) : null,
  };
}

const leftOutFacts = ({ words, files, scenarios }: LeftOut) => ({
  left_out: [...words],
  ...{ files_left_out: files, scenarios_left_out: scenarios },
});

const whyPartly = ({ words }: LeftOut): string => `nothing is known of ${words.join(', ')}`;

const whyOpen = (end: StrengthTally['end'], valid: number): string =>
  valid === 0
    ? 'no mutant could be judged'
    : end === 'all'
      ? 'the mutants without a verdict would decide'
      : 'the interval contains the required strength';

const nothingLeftOut: LeftOut = { words: [], files: 0, scenarios: 0 };

/** Of a product or suite for which there is nothing to measure. */
export const unknownStrength = (
  why: string,
  {
    required,
    leftOut = nothingLeftOut,
  }: { readonly required: number | undefined; readonly leftOut?: LeftOut },
): Strength => ({
  ...{ state: 'unknown', killed: 0, survived: 0, timed_out: 0, not_reached: 0, not_built: 0, no_verdict: 0 },
  ...{ total: null, complete: false, rate: null, low: null, high: null },
  ...{ required: required ?? null, ...leftOutFacts(leftOut), why },
});
