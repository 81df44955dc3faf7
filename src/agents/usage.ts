/** Sums of what calls cost. */
import type { Usage } from './agent.ts';

/** Two calls as one, under the model and agent of the later. What is unknown of either is unknown of both. */
export function together(earlier: Usage, later: Usage): Usage {
  const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);
  return {
    ...later,
    input_tokens: sum(earlier.input_tokens, later.input_tokens),
    output_tokens: sum(earlier.output_tokens, later.output_tokens),
    cost_usd: sum(earlier.cost_usd, later.cost_usd),
  };
}
