/** An estimate in words, for terminal and page. */
import { elapsedWords, tokensText, usdWords } from '../core/amounts.ts';
import type { Estimate } from './estimate.ts';

/** `0.31 USD (0.02 USD to 1.84 USD)`: the median, and the range where there is one. */
function figureWords(figure: Estimate['tokens'], words: (value: number) => string): string {
  if (figure === null) return 'unknown';
  const { median, least, most } = figure;
  const range = words(least) === words(most) ? '' : ` (${words(least)} to ${words(most)})`;
  return `${words(median)}${range}`;
}

/** The figures in words, for terminal and page. */
export function estimateWords({ runs, cost_usd, unknown_cost, tokens, elapsed_ms }: Estimate) {
  const unknown = unknown_cost > 0 && unknown_cost < runs ? `, unknown for ${unknown_cost} of ${runs}` : '';
  return {
    cost: `${figureWords(cost_usd, usdWords)}${unknown}`,
    tokens: figureWords(tokens, (value) => tokensText(Math.round(value))),
    time: figureWords(elapsed_ms, elapsedWords),
  };
}

/** From which runs the figures are. */
export function estimateBasis({ runs, others }: Pick<Estimate, 'runs' | 'others'>): string {
  const rest = others === 0 ? '' : `; ${others} ${others === 1 ? 'other is' : 'others are'} not counted`;
  if (runs === 0) return `unknown: no run of this pipeline has completed here${rest}`;
  return `${runs === 1 ? 'one completed run' : `median of ${runs} completed runs (least to most)`}${rest}`;
}
