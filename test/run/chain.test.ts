import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownHashOf, withOwnHash } from '../../src/run/chain.ts';

const values = fc.record({ name: fc.string({ unit: 'binary' }), list: fc.array(fc.jsonValue()) });

test('a text contains the hash of itself without the hash, in any script', () => {
  fc.assert(
    fc.property(values, (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as object;
      const text = withOwnHash(value).toString();
      const sha256 = createHash('sha256')
        .update(JSON.stringify(value, null, 2))
        .digest('hex');
      expect(JSON.parse(text)).toEqual({ ...plain, sha256 });
      expect(text).toBe(`${JSON.stringify({ ...plain, sha256 }, null, 2)}\n`);
      expect(ownHashOf(text)).toEqual({ is: sha256, says: sha256 });
    }),
  );
});

test('a changed text has another hash than it contains', () => {
  const text = withOwnHash({ name: 'ä', count: 1 }).toString();
  const { is, says } = ownHashOf(text.replace('"count": 1', '"count": 2'));
  expect(is).not.toBe(says);
});

test('a text without a hash contains none', () => {
  expect(ownHashOf('{\n  "name": "a"\n}\n')).toEqual({ is: '', says: '' });
});
