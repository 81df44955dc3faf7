/** Measures how strong a suite of scenarios is: how many mutants of a product it notices. */
import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { countedItems, elapsedWords } from '../../core/amounts.ts';
import type { StrengthMeasurement } from '../../core/records/strength.ts';
import { sha256 } from '../../core/sha256.ts';
import { languageTables } from '../../mutants/languages/index.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { packageVersion } from '../../platform/package.ts';
import { makingFolder } from '../../platform/process/cleanup-registry.ts';
import { needsOf, type Scenario } from '../discover.ts';
import type { PhaseHost } from '../launch/product.ts';
import { copySource, makeRoom, type ProductCopy } from '../source.ts';
import { helpersOf } from '../starts.ts';
import type { StrengthCache } from './cache.ts';
import { type JudgedMutants, judgeMutants } from './judge-mutants.ts';
import { commandMember, scenarioMember } from './judges.ts';
import { limitedHost } from './limits.ts';
import { mountChoices } from './product.ts';
import { mutantsIn, type SourceMutants } from './sources.ts';
import type { StrengthSubject } from './subject.ts';
import { survivorsOf } from './survivors.ts';
import {
  inSampleOrder,
  type LeftOut,
  lacksBuilds,
  lacksVerdicts,
  type StrengthGoal,
  strengthOf,
  tallyOf,
  unknownStrength,
} from './tally.ts';
import { openVariants, type VariantTrouble } from './variants.ts';

export type StrengthOptions = StrengthGoal & {
  readonly scenarios: readonly Scenario[];
  /** Judges in place of the scenarios: it passes with exit code 0. */
  readonly tests?: string | undefined;
  /** Builds the product in its folder. */
  readonly build?: string | undefined;
  /** Chooses another order of the mutants. */
  readonly seed?: string | undefined;
  readonly budgetMs?: number | undefined;
  readonly jobs: number;
  readonly timeoutMs: number;
  /** `required`: mutants are judged in a sandbox or not at all. */
  readonly isolation: 'auto' | 'required';
  readonly cache: StrengthCache;
  readonly onProgress?: (progress: StrengthProgress) => void;
};

/** How far it is, of all mutants. */
export type StrengthProgress = { readonly judged: number; readonly all: number };

/** Why it ended. `void`, `infra`: nothing follows from the counts. */
export type StrengthEnd = 'done' | 'budget' | 'interrupted' | 'void' | 'infra' | 'unknown' | 'no_sandbox';

export type MeasuredStrength = StrengthMeasurement & { readonly end: StrengthEnd };

/** Measures the suite of `options`. After the signal has fired it answers with what was judged until then. */
export async function measureStrength(
  subject: StrengthSubject,
  options: StrengthOptions,
  host: PhaseHost,
): Promise<MeasuredStrength> {
  const began = host.clock.monotonic();
  const noSandbox = options.isolation === 'auto' ? undefined : whyNoSandbox(host);
  const { scenarios, leftOut } = await usable(options);
  const except = await foldersOf(options.scenarios, subject.app);
  const sources = await mutantsIn(subject, except);
  const left: LeftOut = {
    words: [...leftOut, ...sources.leftOut.words],
    ...{ files: sources.leftOut.count, scenarios: leftOut.length },
  };
  const unknown = (why: string, end: StrengthEnd = 'unknown'): MeasuredStrength => ({
    strength: unknownStrength(why, { required: options.required, leftOut: left }),
    survivors: [],
    end,
  });
  if (noSandbox !== undefined) return unknown(`mutants run only in a sandbox: ${noSandbox}`, 'no_sandbox');
  if (sources.mutants.length === 0) return unknown(nothingToMutate(sources, subject));
  if (options.tests === undefined && scenarios.length === 0)
    return unknown('every scenario declares requires-network or requires-env');
  const room = await makeRoom(host.env);
  const cleared = makingFolder(room);
  try {
    const judged = await inRoom({ ...options, scenarios }, { subject, except, sources, room, began }, host);
    return await measured(judged, { subject, sources, leftOut: left, options });
  } finally {
    await removeTree(room);
    cleared();
  }
}

/** Why mutants would not be kept from the machine. */
function whyNoSandbox({ sandbox, noSandbox }: PhaseHost): string | undefined {
  if (sandbox === undefined) return noSandbox ?? 'there is none';
  return sandbox.openNetwork === undefined
    ? `no private network works here: ${sandbox.noNetwork}`
    : undefined;
}

const nothingToMutate = ({ leftOut }: SourceMutants, { files }: StrengthSubject): string =>
  files.length === 0
    ? 'no file under git was changed'
    : leftOut.count > 0
      ? `nothing can be mutated: ${leftOut.words.join(', ')}`
      : 'nothing can be mutated: there is no source text under git, or none of its lines was changed';

/** Without those that need the machine's network or its variables. */
async function usable({ scenarios, tests }: StrengthOptions) {
  if (tests !== undefined) return { scenarios, leftOut: [] };
  const declared = await Promise.all(
    scenarios.map(async ({ folder, name }) => {
      const own = (await helpersOf(folder, name)).find((file) => file.name === name)?.text ?? '';
      const { hosts, variables } = needsOf(own);
      return hosts.length > 0 ? 'requires-network' : variables.length > 0 ? 'requires-env' : undefined;
    }),
  );
  return {
    scenarios: scenarios.filter((_, n) => declared[n] === undefined),
    leftOut: scenarios.flatMap(({ name }, n) =>
      declared[n] === undefined ? [] : [`${name}, which declares ${declared[n]}`],
    ),
  };
}

/** The folder of the scenarios, and the engine's, by their real paths: no mutants are made in them, and no copies. */
async function foldersOf(scenarios: readonly Scenario[], app: string): Promise<readonly string[]> {
  const top = await realpath(app);
  const folders = await Promise.all(
    [...new Set(scenarios.map(({ folder }) => folder))].map((one) => realpath(one)),
  );
  return [join(top, '.factory'), ...folders.filter((folder) => folder !== top)];
}

type MeasuringPlace = {
  readonly subject: StrengthSubject;
  readonly except: readonly string[];
  readonly sources: SourceMutants;
  readonly room: string;
  readonly began: number;
};

async function inRoom(
  options: StrengthOptions,
  { subject, except, sources, room, began }: MeasuringPlace,
  host: PhaseHost,
): Promise<JudgedMutants> {
  const { scenarios, tests, build, timeoutMs, jobs, seed, budgetMs, onProgress } = options;
  const folder = scenarios[0]?.folder;
  const source =
    tests !== undefined || folder === undefined
      ? undefined
      : await copySource(folder, join(room, `source-${randomBytes(8).toString('hex')}`), room);
  const app = await realpath(subject.app);
  const limited = limitedHost(host);
  const choices = host.sandbox === undefined ? [[]] : mountChoices(app, subject.ignored, except);
  const members = membersOf(options, source);
  const variants = await openVariants(
    { app, except, build, timeoutMs, mountChoices: choices, members, room, jobs, touched: touched(sources) },
    limited,
  );
  if (!('base' in variants)) return unjudged(sources.mutants, variants, host);
  const suite = tests ?? JSON.stringify([source?.hash, scenarios.map(({ name }) => name)]);
  const about = [
    packageVersion(),
    variants.base.hash,
    suite,
    build ?? '',
    timeoutMs,
    host.sandbox === undefined,
  ];
  const all = sources.mutants.length;
  return judgeMutants(
    {
      order: inSampleOrder(sources.mutants, `${seed ?? ''} ${variants.base.hash} ${suite}`),
      texts: sources.texts,
      // Tests run themselves.
      ruledOut: tests === undefined ? sources.ruledOut : new Map(),
      variants,
      cache: options.cache,
      key: sha256(JSON.stringify(about)),
      goal: options,
      jobs,
      isOver: () => budgetMs !== undefined && host.clock.monotonic() - began >= budgetMs,
      onProgress: (tally) => onProgress?.({ judged: tally.length, all }),
    },
    limited,
  );
}

/** The files that have mutants, each with one more comment: a judge who notices this would notice any change. Its text is
 *  random: no product can expect it. */
function touched({ mutants, texts }: SourceMutants): ReadonlyMap<string, string> {
  const languages = new Map(mutants.map(({ path, language }) => [path, language]));
  const word = randomBytes(8).toString('hex');
  return new Map(
    [...languages].map(([path, language]) => {
      const text = texts.get(path) ?? '';
      const end = text === '' || text.endsWith('\n') ? '' : '\n';
      return [path, `${text}${end}${languageTables[language].comment} ${word}\n`];
    }),
  );
}

function membersOf({ scenarios, tests }: StrengthOptions, source: ProductCopy | undefined) {
  if (tests !== undefined) return [commandMember(tests)];
  return source === undefined ? [] : scenarios.map((scenario) => scenarioMember(scenario, source));
}

/** The unmutated product does not pass. */
const unjudged = (
  order: JudgedMutants['order'],
  { why, isInfra }: VariantTrouble,
  { signal }: PhaseHost,
): JudgedMutants => {
  const none = {
    order,
    outcomes: [],
    tally: tallyOf(
      order.map(() => undefined),
      {},
    ),
  };
  return signal.aborted ? { ...none, end: 'interrupted' } : { ...none, end: isInfra ? 'infra' : 'void', why };
};

async function measured(
  { order, outcomes, tally, end, why, ruledOut }: JudgedMutants,
  about: {
    readonly subject: StrengthSubject;
    readonly sources: SourceMutants;
    readonly leftOut: LeftOut;
    readonly options: StrengthOptions;
  },
): Promise<MeasuredStrength> {
  const { subject, sources, options } = about;
  const leftOut = withRuledOut(about.leftOut, sources.ruledOut.size, ruledOut);
  const { required, budgetMs = 0 } = options;
  const early =
    end === 'budget'
      ? `the budget of ${elapsedWords(budgetMs)} is spent`
      : end === 'interrupted'
        ? 'it was interrupted'
        : undefined;
  const { counts } = tally;
  const isVoid = end === 'void' || end === 'infra' || lacksVerdicts(counts) || lacksBuilds(counts);
  const strength = strengthOf(tally, {
    ...{ all: order.length, required, leftOut, isVoid },
    why: why ?? early,
  });
  const counted = outcomes.slice(0, tally.length);
  const survivors = isVoid ? [] : await survivorsOf(order, counted, sources, subject);
  return { strength, survivors, end };
}

/** Names and marks by which files are left out are the builder's choice: what the judges need of them is part of the product. */
function withRuledOut(leftOut: LeftOut, count: number, outcome: JudgedMutants['ruledOut']): LeftOut {
  if (outcome === undefined || outcome === 'idle') return leftOut;
  const why =
    outcome === 'needed'
      ? 'but needed by the scenarios or the build'
      : 'and whether the scenarios or the build need them is not known';
  const words = `${countedItems(count, 'file')} named or marked as tests, generated or vendored, ${why}`;
  return { ...leftOut, words: [...leftOut.words, words], files: leftOut.files + count };
}
