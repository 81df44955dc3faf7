import { expect, test } from 'vitest';
import {
  type AttributeType,
  count,
  duration,
  flagOrText,
  integer,
  number,
} from '../../../src/core/settings/types.ts';
import { bareValue } from '../../../src/dot/build.ts';

const digits = '9'.repeat(20);
const most = Number.MAX_SAFE_INTEGER;

test.for<[string, AttributeType<number>, number | string]>([
  [`${most}`, count(1), most],
  [digits, count(1), `is too large: the most is ${most}`],
  [`-${digits}`, count(1), 'is less than 1'],
  ['1e3', count(1), 'is not a whole number'],
  ['2.0', count(1), 2],
  ['-3.00', integer(), -3],
  ['2.5', count(1), 'is not a whole number'],
  [digits, integer(), `is too large: the most is ${most}`],
  ['-5', integer(), -5],
  ['1e999', number(0), 'is too large'],
  ['Infinity', number(0), 'is not a number'],
  ['1e3', number(0), 1000],
  ['104249991d', duration(), 104_249_991 * 86_400_000],
  ['104249992d', duration(), 'is too long: the most is 104249991d'],
  [digits, duration(), 'is too long: the most is 104249991d'],
  ['-1', duration(), 'is negative'],
  ['1w', duration(), 'is not a duration'],
])('%s is parsed as a number or a duration, or refused with a reason', ([text, type, wants]) => {
  const parsed = (value: Parameters<typeof type.read>[0]) => {
    const read = type.read(value);
    return read.ok ? read.value : read.why;
  };
  expect(parsed(bareValue(text))).toBe(wants);
  // A quoted "-1" is not a duration.
  if (wants !== 'is negative') expect(parsed({ kind: 'string', text })).toBe(wants);
});

test.for<[string, boolean | string | undefined]>([
  ['true', true],
  ['0', false],
  ['outcome = success', true],
  ['outcome==SUCCESS', true],
  ['All tests pass', 'All tests pass'],
  ['outcome=success && covered', 'outcome=success && covered'],
  ['tru', undefined],
  ['no', undefined],
])('the goal gate "%s" is %s', ([text, wants]) => {
  const read = flagOrText().read({ kind: 'string', text });
  expect(read.ok ? read.value : undefined).toBe(wants);
});
