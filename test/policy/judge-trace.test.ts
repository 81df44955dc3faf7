import { expect, test } from 'vitest';
import { tracedLines, tracesItself } from '../../src/policy/judge-report.ts';

test.each([
  ['set -x\n', true],
  ['#!/bin/bash\nset -euxo pipefail\n', true],
  ['set -o xtrace\n', true],
  ['#!/bin/sh -x\n', true],
  ['bash -x ./inner.sh "$1"\n', true],
  ['set -eu\ntest -x "$1/app"\n', false],
  ['curl -x proxy http://localhost\n', false],
])('a script that has its steps printed is told from one that has not: %j', (text, traces) => {
  expect(tracesItself(text)).toBe(traces);
});

test('the steps of a trace are told by their signs, whatever was put in', () => {
  const text = '+ grep -q berth /tmp/x/out.txt\n++ wc -l\nFAIL: expected 2\n+++ b/src/app.py\n+added\n';
  expect([...tracedLines(text)]).toEqual([1, 2, 4]);
});
