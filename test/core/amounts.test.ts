import { expect, test } from 'vitest';
import { costWords, sizeWords, usdWords } from '../../src/core/amounts.ts';

test('money has two places, small sums two digits, and an unknown cost is never zero', () => {
  expect([0, 0.02, 0.0004, 12.345, null].map(usdWords)).toEqual([
    '0.00 USD',
    '0.02 USD',
    '0.0004 USD',
    '12.35 USD',
    'unknown',
  ]);
  expect(costWords({ cost_usd: 0, unknown_cost: 2 })).toBe('unknown');
  expect(costWords({ cost_usd: 1.5, unknown_cost: 1 })).toBe('≥ 1.50 USD');
});

test('sizes have binary units', () => {
  expect([812, 12_698, 1_363_149].map(sizeWords)).toEqual(['812 bytes', '12.4 KiB', '1.3 MiB']);
});
