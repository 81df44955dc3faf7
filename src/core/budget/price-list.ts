/** List prices in USD per million tokens: input, cached input, output. They are approximate and change: `--prices FILE`,
 *  `FACTORY_PRICES` or the graph attribute `prices` names a table that overrides this one. */

export const listDate = '2026-01-15';

/** What Anthropic takes for a token that is written to its cache, by the price of input. */
export const cacheWriteFactor = 1.25;

type Row = readonly [model: string, input: number, cached: number | null, output: number];

export const listPrices: readonly Row[] = [
  ['gpt-5.2', 1.75, 0.175, 14],
  ['gpt-5.2-codex', 1.75, 0.175, 14],
  ['gpt-5.2-chat', 1.75, 0.175, 14],
  ['gpt-5.2-pro', 21, null, 168],
  ['gpt-5.1', 1.25, 0.125, 10],
  ['gpt-5.1-chat', 1.25, 0.125, 10],
  ['gpt-5.1-codex', 1.25, 0.125, 10],
  ['gpt-5.1-codex-max', 1.25, 0.125, 10],
  ['gpt-5.1-codex-mini', 0.25, 0.025, 2],
  ['gpt-5', 1.25, 0.125, 10],
  ['gpt-5-chat', 1.25, 0.125, 10],
  ['gpt-5-codex', 1.25, 0.125, 10],
  ['gpt-5-mini', 0.25, 0.025, 2],
  ['gpt-5-nano', 0.05, 0.005, 0.4],
  ['gpt-5-pro', 15, null, 120],
  ['gpt-4.1', 2, 0.5, 8],
  ['gpt-4.1-mini', 0.4, 0.1, 1.6],
  ['gpt-4.1-nano', 0.1, 0.025, 0.4],
  ['gpt-4o', 2.5, 1.25, 10],
  ['gpt-4o-mini', 0.15, 0.075, 0.6],
  ['o1', 15, 7.5, 60],
  ['o3', 2, 0.5, 8],
  ['o3-pro', 20, null, 80],
  ['o3-mini', 1.1, 0.55, 4.4],
  ['o4-mini', 1.1, 0.275, 4.4],
  ['codex-mini', 1.5, 0.375, 6],
  ['claude-opus-4-5', 5, 0.5, 25],
  ['claude-opus-4-1', 15, 1.5, 75],
  ['claude-opus-4', 15, 1.5, 75],
  ['claude-sonnet-4-5', 3, 0.3, 15],
  ['claude-sonnet-4', 3, 0.3, 15],
  ['claude-3-7-sonnet', 3, 0.3, 15],
  ['claude-3-5-sonnet', 3, 0.3, 15],
  ['claude-haiku-4-5', 1, 0.1, 5],
  ['claude-3-5-haiku', 0.8, 0.08, 4],
  ['claude-3-haiku', 0.25, 0.03, 1.25],
];
