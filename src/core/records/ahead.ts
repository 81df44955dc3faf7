/** What the context of a run has of work orders that can be, or were, asked for before their turn. */
import * as z from 'zod';
import { inARow } from '../ahead-words.ts';
import { once } from '../once.ts';
import type { Context } from '../outcome.ts';

/** Context key of the counts of a build. */
export const aheadKey = 'build.ahead';

export const aheadCountsSchema = once(() =>
  z.object({
    orders: z.int().nonnegative().describe('Work orders of the build'),
    asked: z
      .int()
      .nonnegative()
      .describe('Of them those asked for together with others, whose call got an answer'),
    used: z.int().nonnegative().describe('Of these those whose answer counted'),
    wasted: z
      .int()
      .nonnegative()
      .describe('Of these those whose prompt was another one at their turn: they were asked again'),
  }),
);
export type AheadCounts = z.infer<ReturnType<typeof aheadCountsSchema>>;

/** Undefined for a run that asked for nothing ahead. */
export function aheadIn(context: Context): AheadCounts | undefined {
  const counts = context[aheadKey];
  return counts === undefined ? undefined : aheadCountsSchema().safeParse(counts).data;
}

/** Context key of the levels of a plan (`orderLevels`), where one has several orders. */
const levelsKey = 'plan.levels';

export const planLevelsSchema = once(() => z.array(z.array(z.string())));
export type PlanLevels = readonly (readonly string[])[];

/** Empty for a run without a plan, and where no two orders can be asked for together. */
export function planLevelsIn(context: Context): PlanLevels {
  const levels = context[levelsKey];
  return levels === undefined ? [] : (planLevelsSchema().safeParse(levels).data ?? []);
}

/** What is recorded of levels: nothing where no two orders can be asked for together, unless other levels are in the context. */
export function levelsToRecord(
  levels: PlanLevels,
  recorded: Readonly<Record<string, unknown>> = {},
): { readonly [levelsKey]?: string[][] } {
  if (!inARow(levels)) return { [levelsKey]: levels.map((level) => [...level]) };
  return recorded[levelsKey] === undefined ? {} : { [levelsKey]: [] };
}
