import { expect, test } from 'vitest';
import { mappedInTurns } from '../../src/platform/turns.ts';

test('a long list keeps its order, and others come in between', async () => {
  const seen: string[] = [];
  setImmediate(() => seen.push('other'));
  const items = Array.from({ length: 250 }, (_, at) => at);
  const made = await mappedInTurns(items, (item, at) => {
    if (item % 50 === 0) seen.push(`item ${item}`);
    return item + at;
  });
  expect(made).toEqual(items.map((item) => 2 * item));
  expect(seen.indexOf('other')).toBeGreaterThan(seen.indexOf('item 50'));
  expect(seen.indexOf('other')).toBeLessThan(seen.indexOf('item 150'));
});
