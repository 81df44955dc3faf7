import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convert } from '../src/convert.js';

test('lengths are converted', () => {
  assert.equal(convert(2, 'km', 'm'), 2000);
  assert.equal(convert(1, 'in', 'cm'), 2.54);
});

test('an unknown unit is refused', () => {
  assert.throws(() => convert(1, 'm', 'parsec'), /unknown unit: parsec/);
});
