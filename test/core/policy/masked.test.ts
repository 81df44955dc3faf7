/** What an agent or a tool gives is in memory what a resume reads back. */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { maskedObject } from '../../../src/core/policy/mask.ts';
import { checkpointSchema } from '../../../src/core/records/checkpoint.ts';

test.each([
  '{"a":1e999,"b":[-1e999,0.5],"c":{"d":1e400}}',
  '{"__proto__":1,"a":{"__proto__":{"b":2},"c":3}}',
  '{"a":12345678901234567890,"b":"\\ud800","c":"\\u0000","d":[null,true,{}]}',
])('%s is what its record holds', (text) => {
  const given = maskedObject(JSON.parse(text) as JsonObject, (word) => word);
  const back = checkpointSchema().shape.context.parse(JSON.parse(JSON.stringify(given)));
  expect(back).toStrictEqual(given);
});

test('secrets are taken out of keys and of texts at any depth', () => {
  const mask = (word: string) => word.replaceAll('hush', '***');
  expect(maskedObject({ hush: ['a hush', { b: 'hush' }], n: 1 }, mask)).toEqual({
    '***': ['a ***', { b: '***' }],
    n: 1,
  });
});
