/** How strong a suite of scenarios is: how many mutants of the product it noticed. `evidence.judged.strength` of a run, and what
 *  `factory scenario strength --json` prints. Fields are only ever added. */
import * as z from 'zod';
import { once } from '../once.ts';

const count = once(() => z.int().nonnegative());
const share = once(() => z.number().min(0).max(1));

/** `measured`: without a required strength. `met`, `missed`: the required one was reached, or was not. `undecided`: that cannot be
 *  answered, or the number is void. `unknown`: there was nothing to measure. */
export const strengthStates = ['measured', 'met', 'missed', 'undecided', 'unknown'] as const;

export const strengthSchema = once(() =>
  z.object({
    state: z.enum(strengthStates),
    killed: count().describe('Mutants that no longer passed; those that timed out too'),
    survived: count().describe('Mutants that passed; those in files that were not reached too'),
    timed_out: count(),
    not_reached: count().describe('In files that can be emptied without anything noticing'),
    not_built: count().describe('Not counted: the build failed'),
    no_verdict: count().describe('Not counted: infrastructure failed'),
    total: count().nullable().describe('All mutants of the product that can be judged'),
    complete: z.boolean().describe('Whether all were judged: then there is no interval'),
    rate: share().nullable().describe('killed / (killed + survived); null if the number is void or unknown'),
    low: share().nullable().describe('Clopper–Pearson interval, 95 %'),
    high: share().nullable(),
    required: share().nullable().describe('`min_strength`'),
    left_out: z
      .array(z.string())
      .describe('Scenarios that were not run, and source files that were not mutated, with the reason'),
    scenarios_left_out: count().default(0),
    files_left_out: count().default(0).describe('With one of them a required strength is not met'),
    why: z.string().nullable().describe('Why it is unknown, undecided or void'),
  }),
);
export type Strength = z.infer<ReturnType<typeof strengthSchema>>;

/** The context key by which a tool that runs scenarios reports their strength. */
export const strengthKey = 'judge.strength';

/** The strength that a tool has reported in its updates of the context. */
export const reportedStrength = (updates: { readonly [strengthKey]?: unknown }): Strength | undefined =>
  updates[strengthKey] === undefined ? undefined : strengthSchema().safeParse(updates[strengthKey]).data;

/** A mutant that no scenario noticed. It says what the scenarios do not test: only people with the holdout may read it. */
export const strengthSurvivorSchema = once(() =>
  z.object({
    file: z.string(),
    line: z.int().positive(),
    operator: z.string(),
    before: z.string().describe('The changed lines'),
    after: z.string().describe('The same lines in the mutant'),
    order: z.string().nullable().describe('The work order that wrote the line; null if none did'),
    reached: z.boolean().describe('Whether anything notices when the whole file is empty'),
  }),
);
export type StrengthSurvivor = z.infer<ReturnType<typeof strengthSurvivorSchema>>;

/** Measured by hand or in a run. */
export type StrengthMeasurement = {
  readonly strength: Strength;
  readonly survivors: readonly StrengthSurvivor[];
};
