/** Hints about failures that the sandbox or its limits cause. */
import { expect, test } from 'vitest';
import type { Limits } from '../../src/core/contracts/sandbox.ts';
import { sandboxHint } from '../../src/engine/confinement.ts';

const hint = (output: string, limits: Limits) => sandboxHint(output, { ...open, limits }, 'node "a"', '/w');
const open = {
  rung: 'group',
  network: true,
  binds: [],
  masks: [],
  inside: [],
  home: undefined,
  scratch: '/s',
  covers: [],
  pinned: [],
} as const;

test('the hint about a default limit on processes names the limits of the machine too', () => {
  const output = 'build.sh: 7: Cannot fork';
  expect(hint(output, { processes: 40, processesConfigured: true })).toBe(
    'it may have 40 processes: set max_processes on node "a"',
  );
  expect(hint(output, { processes: 8192 })).toMatch(/max_processes.*a lower one \(ulimit -u, pids\.max/);
});
