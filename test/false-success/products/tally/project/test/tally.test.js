import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const tally = (input, ...args) => spawnSync('node', ['bin/tally.js', ...args], { input, encoding: 'utf8' });
const input = '2026-01-03,food,4.20\n2026-01-05,rent,500\n2026-02-01,food,5.80\n';

test('categories are added up', () => {
  assert.equal(tally(input).stdout, 'rent: 500.00\nfood: 10.00\n');
});

test('months are added up', () => {
  assert.equal(tally(input, '--by', 'month').stdout, '2026-01: 504.20\n2026-02: 5.80\n');
});

test('JSON', () => {
  assert.equal(tally(input, '--json').stdout, '{"rent":500,"food":10}\n');
});

test('a flag that does not exist', () => {
  assert.equal(tally(input, '--best').status, 2);
});
