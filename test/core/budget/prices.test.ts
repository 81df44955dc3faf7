/** Which price of a model counts: of a file, of the server that was asked, of the list. */
import { expect, test } from 'vitest';
import { listPrices } from '../../../src/core/budget/price-list.ts';
import { priceOf, pricesOf } from '../../../src/core/budget/prices.ts';

const at = (input: number) => ({ input, output: 0 });
const servers = {
  acme: { prices: { 'gpt-5': at(7), Large: at(8), both: at(9) } },
  zeta: { prices: { 'gpt-5': at(100), both: at(10) } },
  bare: {},
};
const table = { format: 'factory-prices/1' as const, dated: '2026-01-01', note: '', models: { both: at(1) } };
const prices = pricesOf({ agent: { servers }, prices: { path: 'p.json', table } });
const listed = listPrices.find(([model]) => model === 'gpt-5')?.[1];

test('the list has the model of the table below', () => expect(listed).toBeGreaterThan(0));

test.for<[string, string | undefined, number | undefined]>([
  ['gpt-5', 'acme', 7],
  ['gpt-5-2025-08-07', 'acme', 7],
  ['openai/GPT-5', 'zeta', 100],
  ['gpt-5', 'bare', listed],
  ['gpt-5', 'openai', listed],
  ['gpt-5', undefined, listed],
  ['large', 'acme', 8],
  ['large', 'zeta', undefined],
  ['large', undefined, 8],
  ['both', 'acme', 1],
  ['both', 'zeta', 1],
  ['unknown', 'acme', undefined],
])('%s of %s costs %s', ([model, provider, input]) => {
  expect(priceOf(prices, model, provider)?.input).toBe(input);
});
