/** Tokens and cost of model calls, single and summed. */
import * as z from 'zod';
import { once } from '../once.ts';

const count = once(() => z.number().nonnegative());

/** A count or cost from a server or a program. Some report `-1` for unknown: a negative or unsafe number counts as
 *  absent, so that no sum decreases. */
export const reportedNumberSchema = once(() => z.number().nonnegative().max(Number.MAX_SAFE_INTEGER));

/** Tokens and cost of one call; null if unknown. An unknown cost is never zero. */
export const usageSchema = once(() =>
  z.object({
    model: z.string().describe('With several models: all of them, with commas'),
    input_tokens: z.number().nullable().describe('Including cached ones'),
    output_tokens: z.number().nullable().describe('Including those of reasoning'),
    cached_input_tokens: z.number().nullable().exactOptional(),
    cache_write_tokens: z
      .number()
      .nullable()
      .exactOptional()
      .describe('Of the input, those that were put into a cache, if they have their own price'),
    reasoning_tokens: z.number().nullable().exactOptional(),
    cost_usd: z.number().nullable(),
    incomplete: z
      .literal(true)
      .exactOptional()
      .describe('A part of the call was not reported: the numbers are lower bounds'),
    provider: z
      .string()
      .exactOptional()
      .describe('Whose server the agent `openai` asked, if that has prices'),
    agent: z.string().exactOptional().describe('The agent that made the call, if the node has several'),
  }),
);
export type Usage = Readonly<z.infer<ReturnType<typeof usageSchema>>>;

export const spentSchema = once(() =>
  z.object({
    calls: count().describe('Model calls that have or may have a cost'),
    cost_usd: count().describe('Known costs, and the known part of unknown ones'),
    unknown_cost: count().describe('Calls whose cost is not known'),
    input_tokens: count(),
    cached_input_tokens: count(),
    output_tokens: count(),
    reasoning_tokens: count(),
    unknown_tokens: count().describe('Calls that did not report their tokens'),
    cut: count().describe('Interrupted calls, counted by what was sent and reported: a lower bound'),
  }),
);
export type Spent = Readonly<z.infer<ReturnType<typeof spentSchema>>>;

export const nothingSpent: Spent = {
  calls: 0,
  cost_usd: 0,
  unknown_cost: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  unknown_tokens: 0,
  cut: 0,
};

export const tokensOf = (spent: Spent): number => spent.input_tokens + spent.output_tokens;

export const tokensIn = (usage: Usage): number => (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);

/** Rounds a sum of dollars to remove binary rounding errors. */
const dollars = (usd: number): number => Math.round(usd * 1e10) / 1e10;

const used = (number: number | null | undefined): number =>
  reportedNumberSchema().safeParse(number).data ?? 0;

/** Adds a call. `usd`: its cost, null where it is unknown; `least`: a lower bound of it. */
export function withCall(
  sum: Spent,
  usage: Usage | null,
  { usd, least }: { readonly usd: number | null; readonly least: number },
  cut = false,
): Spent {
  const isComplete = cut || (usage !== null && usage.input_tokens !== null && usage.output_tokens !== null);
  return {
    calls: sum.calls + 1,
    cost_usd: dollars(sum.cost_usd + used(least)),
    unknown_cost: sum.unknown_cost + (usd === null ? 1 : 0),
    input_tokens: sum.input_tokens + used(usage?.input_tokens),
    cached_input_tokens: sum.cached_input_tokens + used(usage?.cached_input_tokens),
    output_tokens: sum.output_tokens + used(usage?.output_tokens),
    reasoning_tokens: sum.reasoning_tokens + used(usage?.reasoning_tokens),
    unknown_tokens: sum.unknown_tokens + (isComplete && usage?.incomplete !== true ? 0 : 1),
    cut: sum.cut + (cut ? 1 : 0),
  };
}

const both = (x: number | null | undefined, y: number | null | undefined): number | null =>
  x == null ? (y ?? null) : y == null ? x : x + y;

/** Adds two usages. If the models differ, the sum names both, which has no price: tokens of one model are never counted
 *  at the price of another. If only one of them reports a count, it is a lower bound and the sum is `incomplete`. */
export function sumOfUsages(a: Usage | undefined, b: Usage): Usage {
  if (a === undefined) return b;
  const known = (u: Usage) => u.input_tokens !== null && u.output_tokens !== null && u.incomplete !== true;
  const cached = both(a.cached_input_tokens, b.cached_input_tokens);
  const written = both(a.cache_write_tokens, b.cache_write_tokens);
  const reasoning = both(a.reasoning_tokens, b.reasoning_tokens);
  const isOfOne = a.provider === b.provider;
  const models = [...a.model.split(', '), ...b.model.split(', ')];
  return {
    model: (isOfOne ? [...new Set(models)] : models).join(', '),
    input_tokens: both(a.input_tokens, b.input_tokens),
    output_tokens: both(a.output_tokens, b.output_tokens),
    ...(cached === null ? {} : { cached_input_tokens: cached }),
    ...(written === null ? {} : { cache_write_tokens: written }),
    ...(reasoning === null ? {} : { reasoning_tokens: reasoning }),
    cost_usd: a.cost_usd === null || b.cost_usd === null ? null : dollars(a.cost_usd + b.cost_usd),
    ...(known(a) && known(b) ? {} : { incomplete: true as const }),
    ...(b.provider === undefined || !isOfOne ? {} : { provider: b.provider }),
    ...(b.agent === undefined ? {} : { agent: b.agent }),
  };
}
