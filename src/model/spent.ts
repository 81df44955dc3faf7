/** What model calls used and cost, one by one and in sums. */
import * as z from 'zod';

const count = z.number().nonnegative();

/** A number as a server or a program tells it of a call. One that no call can have used (`-1` is what some say for "I do
 *  not know") is none: no sum must run backwards, or beyond what can be written down. */
export const ToldNumber = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** What of a call was one model's. */
const Part = z.object({
  model: z.string(),
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  cached_input_tokens: z.number().nullable().exactOptional(),
  cost_usd: z.number().nullable(),
});
type Part = Readonly<z.infer<typeof Part>>;

/** Tokens and money of one call; null where nobody knows. An unknown cost is never zero. */
export const Usage = z.object({
  model: z.string().describe('The last one, where there were several'),
  input_tokens: z.number().nullable().describe('Cached ones included'),
  output_tokens: z.number().nullable().describe('Those of reasoning included'),
  cached_input_tokens: z.number().nullable().exactOptional(),
  reasoning_tokens: z.number().nullable().exactOptional(),
  cost_usd: z.number().nullable(),
  incomplete: z
    .literal(true)
    .exactOptional()
    .describe('A part of the call was not told: the numbers are the least that it can have been'),
  parts: z
    .array(Part)
    .exactOptional()
    .describe('Where several models had a share, each of its own price: the same tokens, by model'),
  agent: z.string().exactOptional().describe('The agent whose call it was, where a node has several'),
});
export type Usage = Readonly<z.infer<typeof Usage>>;

export const Spent = z.object({
  calls: count.describe('Model calls that cost something or may have'),
  cost_usd: count.describe('Of the calls whose cost is known, and of others what is known of it'),
  unknown_cost: count.describe('Calls whose cost is not known'),
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  unknown_tokens: count.describe('Calls that did not tell their tokens'),
  cut: count.describe(
    'Calls that were cut off: counted by what was sent, which is the least they can have cost',
  ),
});
export type Spent = Readonly<z.infer<typeof Spent>>;

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

/** A sum of dollars without the dust of binary fractions. */
const dollars = (usd: number): number => Math.round(usd * 1e10) / 1e10;

/** Records of earlier versions may hold what no call can have used: a run that has them goes on. */
const used = (told: number | null | undefined): number => ToldNumber.safeParse(told).data ?? 0;

/** The sum with one more call. `usd`: its cost, null where that is not known; `least`: what it has cost at least. */
export function withCall(
  sum: Spent,
  usage: Usage | null,
  { usd, least }: { readonly usd: number | null; readonly least: number },
  cut = false,
): Spent {
  const told = cut || (usage !== null && usage.input_tokens !== null && usage.output_tokens !== null);
  return {
    calls: sum.calls + 1,
    cost_usd: dollars(sum.cost_usd + used(least)),
    unknown_cost: sum.unknown_cost + (usd === null ? 1 : 0),
    input_tokens: sum.input_tokens + used(usage?.input_tokens),
    cached_input_tokens: sum.cached_input_tokens + used(usage?.cached_input_tokens),
    output_tokens: sum.output_tokens + used(usage?.output_tokens),
    reasoning_tokens: sum.reasoning_tokens + used(usage?.reasoning_tokens),
    unknown_tokens: sum.unknown_tokens + (told && usage?.incomplete !== true ? 0 : 1),
    cut: sum.cut + (cut ? 1 : 0),
  };
}

/** What of a usage was whose: all of it the model's that it names, where it tells nothing else. */
export const partsOf = ({ parts, ...all }: Usage): Part[] => parts ?? [partOf(all)];

const partOf = ({ model, input_tokens, output_tokens, cached_input_tokens, cost_usd }: Part): Part => ({
  model,
  input_tokens,
  output_tokens,
  ...(cached_input_tokens === undefined ? {} : { cached_input_tokens }),
  cost_usd,
});

/** The parts with one more; what was told with a cost is not counted by its tokens as well. */
function withPart(parts: Part[], part: Part): Part[] {
  const at = parts.findIndex(
    (one) => one.model === part.model && (one.cost_usd === null) === (part.cost_usd === null),
  );
  const same = parts[at];
  if (same === undefined) return [...parts, part];
  const cached = both(same.cached_input_tokens, part.cached_input_tokens);
  const sum = {
    model: part.model,
    input_tokens: both(same.input_tokens, part.input_tokens),
    output_tokens: both(same.output_tokens, part.output_tokens),
    ...(cached === null ? {} : { cached_input_tokens: cached }),
    cost_usd: both(same.cost_usd, part.cost_usd),
  };
  return parts.with(at, sum);
}

const both = (x: number | null | undefined, y: number | null | undefined): number | null =>
  x == null ? (y ?? null) : y == null ? x : x + y;

/** Two usages as one, under the model and agent of the later: a number that either does not tell is at least what the other tells, and then `incomplete`. */
export function sumOfUsages(a: Usage | undefined, b: Usage): Usage {
  if (a === undefined) return b;
  const known = (u: Usage) => u.input_tokens !== null && u.output_tokens !== null && u.incomplete !== true;
  const cached = both(a.cached_input_tokens, b.cached_input_tokens);
  const reasoning = both(a.reasoning_tokens, b.reasoning_tokens);
  const costs = a.cost_usd === null || b.cost_usd === null ? null : dollars(a.cost_usd + b.cost_usd);
  const parts = costs === null ? partsOf(b).reduce(withPart, partsOf(a)) : [];
  return {
    model: b.model,
    input_tokens: both(a.input_tokens, b.input_tokens),
    output_tokens: both(a.output_tokens, b.output_tokens),
    ...(cached === null ? {} : { cached_input_tokens: cached }),
    ...(reasoning === null ? {} : { reasoning_tokens: reasoning }),
    cost_usd: costs,
    ...(known(a) && known(b) ? {} : { incomplete: true as const }),
    ...(parts.length < 2 ? {} : { parts }),
    ...(b.agent === undefined ? {} : { agent: b.agent }),
  };
}
