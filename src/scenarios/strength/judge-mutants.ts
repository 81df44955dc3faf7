/** Judges mutants one after the other, in an order that makes those judged a random sample, until enough is known. */
import { type Mutant, mutatedText } from '../../mutants/mutants.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import type { StrengthCache } from './cache.ts';
import {
  isUnreached,
  lacksVerdicts,
  type MutantOutcome,
  type StrengthGoal,
  type StrengthTally,
  tallyOf,
  validIn,
} from './tally.ts';
import type { Variants } from './variants.ts';

export type JudgedMutants = {
  readonly order: readonly Mutant[];
  /** Of the same places; undefined for those that were not judged. */
  readonly outcomes: readonly (MutantOutcome | undefined)[];
  readonly tally: StrengthTally;
  readonly end: 'done' | 'budget' | 'interrupted' | 'void' | 'infra';
  /** Why the number is void, or what ended it early. */
  readonly why?: string;
};

export type JudgingRequest = {
  readonly order: readonly Mutant[];
  /** By paths. */
  readonly texts: ReadonlyMap<string, string>;
  readonly variants: Variants;
  readonly cache: StrengthCache;
  /** In the cache. */
  readonly key: string;
  readonly goal: StrengthGoal;
  readonly jobs: number;
  /** Whether the time is over. */
  readonly isOver: () => boolean;
  readonly onProgress: (tally: StrengthTally) => void;
};

/** After so many judgements the unmutated product is judged again. */
const checkedEvery = 50;

/** Of fewer mutants, those without a verdict are no reason to end early. */
const enoughForVerdicts = 20;

/** Judges until the goal is reached, the time is over or the signal fires. */
export async function judgeMutants(request: JudgingRequest, host: PhaseHost): Promise<JudgedMutants> {
  const { order, variants, cache, key, goal, isOver } = request;
  const known = cache.read(key);
  const outcomes = order.map(({ id }) => known.get(id));
  const judge = judging(request, known);
  const ended = (end: JudgedMutants['end'], why?: string): JudgedMutants => ({
    ...{ order, outcomes, tally: tallyOf(outcomes, goal), end },
    ...(why === undefined ? {} : { why }),
  });
  for (;;) {
    const tally = tallyOf(outcomes, goal);
    const isEnd = tally.end !== undefined || isOver();
    if (lacksVerdicts(tally.counts) && (isEnd || tally.length >= enoughForVerdicts))
      return ended('infra', noVerdicts(tally));
    if (isEnd && isUnreached(tally)) return ended('void', unreached(variants));
    if (isEnd) return ended(tally.end === undefined ? 'budget' : 'done');
    await judgeSome(request, outcomes, judge, host);
    if (host.signal.aborted) return ended('interrupted');
    const isLast = isOver() || tallyOf(outcomes, goal).end !== undefined;
    const trouble = await variants.check(isLast ? 'often' : 'once');
    if (host.signal.aborted) return ended('interrupted');
    if (trouble === undefined) continue;
    // What was judged before may be as wrong.
    cache.drop(key);
    const why = `the product without a mutant passed at first, but not after ${tallyOf(outcomes, goal).length} mutants: ${trouble.why}`;
    return ended(trouble.isInfra ? 'infra' : 'void', why);
  }
}

const noVerdicts = ({ counts }: StrengthTally): string =>
  `${counts.no_verdict} of ${validIn(counts) + counts.no_verdict} mutants had no verdict, for reasons of infrastructure`;

const unreached = ({ base }: Variants): string =>
  `nothing notices when the mutated files are empty, so the scenarios do not run them${
    base.build === undefined
      ? ': if the product is built, pass the command that does it with --build'
      : `, although "${base.build.command}" ran`
  }`;

/** The next mutants without an outcome, several at a time. */
async function judgeSome(
  { order, cache, key, goal, jobs, isOver, onProgress }: JudgingRequest,
  outcomes: (MutantOutcome | undefined)[],
  judge: (mutant: Mutant) => Promise<MutantOutcome | undefined>,
  { signal }: PhaseHost,
): Promise<void> {
  const stop = new AbortController();
  const open = order.flatMap((mutant, at) => (outcomes[at] === undefined ? [{ mutant, at }] : []));
  const some = open.slice(0, checkedEvery);
  await pooled(some, { jobs, signal: AbortSignal.any([signal, stop.signal]) }, async ({ mutant, at }) => {
    const outcome = await judge(mutant);
    if (outcome === undefined) return;
    outcomes[at] = outcome;
    if (outcome !== 'no_verdict') cache.add(key, mutant.id, outcome);
    const tally = tallyOf(outcomes, goal);
    onProgress(tally);
    if (tally.end !== undefined || isOver()) stop.abort();
  });
}

/** Judges one mutant. The first of each file has the file judged empty: where nothing notices that, nothing notices a mutant. */
function judging({ texts, variants, cache, key }: JudgingRequest, known: ReadonlyMap<string, MutantOutcome>) {
  const emptied = new Map<string, Promise<MutantOutcome | undefined>>();
  const judgeEmptied = async (path: string): Promise<MutantOutcome | undefined> => {
    const id = `emptied ${path}`;
    const outcome = known.get(id) ?? (await variants.judge({ path, text: '' }));
    if (outcome !== undefined && outcome !== 'no_verdict' && !known.has(id)) cache.add(key, id, outcome);
    return outcome;
  };
  return async (mutant: Mutant): Promise<MutantOutcome | undefined> => {
    const { path } = mutant;
    const whole = emptied.get(path) ?? judgeEmptied(path);
    emptied.set(path, whole);
    const outcome = await whole;
    if (outcome === undefined) return undefined;
    if (outcome === 'survived') return 'not_reached';
    return variants.judge({ path, text: mutatedText(texts.get(path) ?? '', mutant) });
  };
}
