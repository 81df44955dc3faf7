import { expect, test } from 'vitest';
import { describeMs } from '../../src/nodes/command-failure.ts';

test.for([
  [250, '250ms'],
  [1500, '1.5s'],
  [59_000, '59s'],
  [60_000, '1m'],
  [90_400, '1m 30s'],
  [119_700, '2m'],
  [1_800_000, '30m'],
  [3_599_900, '1h'],
  [5_400_000, '1.5h'],
] as const)('%i milliseconds are %s', ([ms, words]) => {
  expect(describeMs(ms)).toBe(words);
});
