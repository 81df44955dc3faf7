/** What an agent reports of its tokens with the end of a turn. */
import * as z from 'zod';
import { reportedNumberSchema, type Usage } from '../../core/budget/usage.ts';
import { once } from '../../core/once.ts';

const count = once(() => reportedNumberSchema().nullish().catch(undefined));

/** The draft of the protocol, and what gemini adds. */
const reportSchema = once(() =>
  z.looseObject({
    usage: z
      .looseObject({
        totalTokens: count(),
        inputTokens: reportedNumberSchema(),
        outputTokens: reportedNumberSchema(),
        thoughtTokens: count(),
        cachedReadTokens: count(),
        cachedWriteTokens: count(),
      })
      .nullish()
      .catch(undefined),
    _meta: z
      .looseObject({
        quota: z.looseObject({
          token_count: z.looseObject({
            input_tokens: reportedNumberSchema(),
            output_tokens: reportedNumberSchema(),
          }),
        }),
      })
      .nullish()
      .catch(undefined),
  }),
);

type Tokens = Omit<Usage, 'model' | 'cost_usd' | 'incomplete' | 'agent'>;

/** Undefined where it reports none, or nothing but zeros. */
export function acpTokensIn(result: unknown): Tokens | undefined {
  const read = reportSchema().safeParse(result).data;
  const tokens = read?.usage == null ? metaTokens(read?._meta?.quota.token_count) : draftTokens(read.usage);
  return tokens === undefined || (tokens.input_tokens ?? 0) + (tokens.output_tokens ?? 0) === 0
    ? undefined
    : tokens;
}

const metaTokens = (count: { input_tokens: number; output_tokens: number } | undefined): Tokens | undefined =>
  count && { input_tokens: count.input_tokens, output_tokens: count.output_tokens };

/** Tokens of the cache and of reasoning are parts of input and output with some agents, and apart with others: the sum says which. */
function draftTokens(
  usage: NonNullable<NonNullable<z.infer<ReturnType<typeof reportSchema>>>['usage']>,
): Tokens {
  const { inputTokens, outputTokens, totalTokens, thoughtTokens, cachedReadTokens, cachedWriteTokens } =
    usage;
  let apart = (totalTokens ?? 0) - inputTokens - outputTokens;
  const takes = (tokens: number): number => {
    if (tokens > apart) return 0;
    apart -= tokens;
    return tokens;
  };
  return {
    input_tokens: inputTokens + takes((cachedReadTokens ?? 0) + (cachedWriteTokens ?? 0)),
    output_tokens: outputTokens + takes(thoughtTokens ?? 0),
    ...(cachedReadTokens == null ? {} : { cached_input_tokens: cachedReadTokens }),
    ...(thoughtTokens == null ? {} : { reasoning_tokens: thoughtTokens }),
  };
}
