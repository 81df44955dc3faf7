/** Judges mutants one after the other, in an order that makes those judged a random sample, until enough is known. */
import { sha256 } from '../../core/sha256.ts';
import { languageTables } from '../../mutants/languages/index.ts';
import { type Mutant, mutatedText } from '../../mutants/mutants.ts';
import type { LanguageTable } from '../../mutants/rules.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import type { StrengthCache } from './cache.ts';
import type { Variant } from './product.ts';
import {
  isUnreached,
  lacksBuilds,
  lacksVerdicts,
  type MutantOutcome,
  type StrengthGoal,
  type StrengthTally,
  tallyOf,
  triedIn,
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
  /** Of the files that a rule leaves out, where there are some: `needed`, if something notices that they are empty. */
  readonly ruledOut?: 'idle' | 'needed' | 'no_verdict';
};

export type JudgingRequest = {
  readonly order: readonly Mutant[];
  /** By paths. */
  readonly texts: ReadonlyMap<string, string>;
  readonly variants: Variants;
  /** Files that a rule leaves out, with texts that do nothing. */
  readonly ruledOut: Variant;
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

/** Of fewer mutants, those without a verdict, or that are not built, are no reason to end early. */
const enoughForShares = 20;

/** Judges until the goal is reached, the time is over or the signal fires. */
export async function judgeMutants(request: JudgingRequest, host: PhaseHost): Promise<JudgedMutants> {
  const { order, variants, cache, key, goal, isOver } = request;
  const known = cache.read(key);
  const outcomes = order.map(({ id }) => known.get(id));
  // Of the product before these nothing is known yet: they are not kept before it has passed again.
  const unchecked = new Map<string, MutantOutcome>();
  const { judge, ruledOut } = judging(request, known, unchecked);
  const ofRuledOut = await ruledOut();
  const ended = (end: JudgedMutants['end'], why?: string): JudgedMutants => ({
    ...{ order, outcomes, tally: tallyOf(outcomes, goal), end },
    ...(ofRuledOut === undefined ? {} : { ruledOut: ofRuledOut }),
    ...(why === undefined ? {} : { why }),
  });
  if (host.signal.aborted) return ended('interrupted');
  for (;;) {
    const tally = tallyOf(outcomes, goal);
    const isEnd = tally.end !== undefined || isOver();
    const isEnough = isEnd || tally.length >= enoughForShares;
    if (isEnough && lacksVerdicts(tally.counts)) return ended('infra', noVerdicts(tally));
    if (isEnough && lacksBuilds(tally.counts)) return ended('void', notBuilt(tally, variants));
    if (isEnd && isUnreached(tally)) return ended('void', unreached(variants));
    if (isEnd) return ended(tally.end === undefined ? 'budget' : 'done');
    await judgeSome(request, outcomes, judge, host);
    if (host.signal.aborted) return ended('interrupted');
    const trouble = await variants.check();
    if (host.signal.aborted) return ended('interrupted');
    if (trouble === undefined) {
      for (const [id, outcome] of unchecked) cache.add(key, id, outcome);
      unchecked.clear();
      continue;
    }
    // What was judged before may be as wrong.
    cache.drop(key);
    const why = `the product without a mutant passed at first, but not after ${tallyOf(outcomes, goal).length} mutants: ${trouble.why}`;
    return ended(trouble.isInfra ? 'infra' : 'void', why);
  }
}

const noVerdicts = ({ counts }: StrengthTally): string =>
  `${counts.no_verdict} of ${validIn(counts) + counts.no_verdict} mutants had no verdict, for reasons of infrastructure`;

const notBuilt = ({ counts }: StrengthTally, { base }: Variants): string =>
  `${counts.not_built} of ${triedIn(counts)} mutants could not be built, more than a third, so the others are no fair sample: look at what --build does (${base.build?.command}): checks of style, which no product that runs needs, do not belong there`;

const unreached = ({ base }: Variants): string =>
  `nothing notices when the mutated files are empty, so the scenarios do not run them${
    base.build === undefined
      ? ': if the product is built, pass the command that does it with --build'
      : `, although "${base.build.command}" ran`
  }`;

/** The next mutants without an outcome, several at a time. A busy machine exceeds times too: what timed out is judged once more,
 *  alone, and only that counts. */
async function judgeSome(
  { order, goal, jobs, isOver, onProgress }: JudgingRequest,
  outcomes: (MutantOutcome | undefined)[],
  judge: (mutant: Mutant) => Promise<MutantOutcome | undefined>,
  { signal }: PhaseHost,
): Promise<void> {
  const stop = new AbortController();
  const open = order.flatMap((mutant, at) => (outcomes[at] === undefined ? [{ mutant, at }] : []));
  const some = open.slice(0, checkedEvery);
  await pooled(some, { jobs, signal: AbortSignal.any([signal, stop.signal]) }, async ({ mutant, at }) => {
    outcomes[at] = await judge(mutant);
    const tally = tallyOf(outcomes, goal);
    onProgress(tally);
    if (tally.end !== undefined || isOver()) stop.abort();
  });
  const late = some.filter(({ at }) => outcomes[at] === 'timed_out');
  // Without a second result there is none.
  for (const { at } of late) outcomes[at] = undefined;
  await pooled(late, { jobs: 1, signal }, async ({ mutant, at }) => {
    outcomes[at] = await judge(mutant);
  });
}

/** Judges one mutant, and the files that a rule leaves out. The first mutant of each file has the file judged empty: where nothing
 *  notices that, nothing notices a mutant. */
function judging(
  { texts, variants, ruledOut }: JudgingRequest,
  known: ReadonlyMap<string, MutantOutcome>,
  unchecked: Map<string, MutantOutcome>,
) {
  const noted = (id: string, outcome: MutantOutcome | undefined): MutantOutcome | undefined => {
    if (outcome === undefined || outcome === 'no_verdict') unchecked.delete(id);
    else unchecked.set(id, outcome);
    return outcome;
  };
  const emptied = new Map<string, Promise<MutantOutcome | undefined>>();
  const judgeEmptied = async (name: string, variant: Variant): Promise<MutantOutcome | undefined> => {
    const id = `emptied ${name}`;
    return known.get(id) ?? noted(id, await variants.judge(variant));
  };
  const emptiedFile = ({ path, language }: Mutant): Promise<MutantOutcome | undefined> => {
    const { emptied: text = '' }: LanguageTable = languageTables[language];
    return judgeEmptied(path, new Map([[path, text]]));
  };
  // All together: one judgement, however many tests a product has.
  const judgeRuledOut = async (): Promise<JudgedMutants['ruledOut']> => {
    if (ruledOut.size === 0) return undefined;
    const name = sha256(JSON.stringify([...ruledOut]));
    const first = await judgeEmptied(name, ruledOut);
    const isOpen = first === 'timed_out' || first === 'no_verdict';
    const outcome = isOpen ? await judgeEmptied(name, ruledOut) : first;
    if (outcome === 'no_verdict' || outcome === undefined) return 'no_verdict';
    return outcome === 'survived' ? 'idle' : 'needed';
  };
  const judge = async (mutant: Mutant): Promise<MutantOutcome | undefined> => {
    const { path } = mutant;
    const whole = emptied.get(path) ?? emptiedFile(mutant);
    emptied.set(path, whole);
    const outcome = await whole;
    if (outcome === undefined) return undefined;
    if (outcome === 'survived') return noted(mutant.id, 'not_reached');
    const text = mutatedText(texts.get(path) ?? '', mutant);
    return noted(mutant.id, await variants.judge(new Map([[path, text]])));
  };
  return { judge, ruledOut: judgeRuledOut };
}
