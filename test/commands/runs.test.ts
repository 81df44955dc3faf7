import { expect, test } from 'vitest';
import { nextOf } from '../../src/commands/runs.ts';

test.for([
  ['interrupted', 'build', '', 'f resume r1'],
  ['crashed', 'build', '', 'f resume r1'],
  ['paused_auth', 'build', '', 'f resume r1'],
  ['paused_billing', 'build', '', 'f resume r1'],
  ['paused_quota', 'build', '', 'f resume r1 --wait'],
  ['failed', 'build', 'check', 'f resume r1'],
  ['failed', '', 'check', 'f trace r1 --node check'],
  ['failed', '', '', 'f trace r1'],
  ['unreadable', '', '', 'f verify r1'],
  ['completed', '', '', ''],
  ['running', 'build', '', ''],
] as const)(
  'a run that is %s, before "%s" and with "%s" failed: %s',
  ([status, nextNode, failedNode, next]) =>
    expect(nextOf({ status, nextNode, failedNode }, 'f', 'r1')).toBe(next),
);
