/** What a stage's last words say of its confinement. */
import { expect, test } from 'vitest';
import { smellOf } from '../../src/engine/smell.ts';
import type { Limits } from '../../src/system/sandbox/confinement.ts';

const smell = (said: string, limits: Limits) => smellOf(said, { ...open, limits }, 'a', '/w');
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

test('a limit on processes that nobody set is named beside those of the machine, one that was set by itself', () => {
  const said = 'build.sh: 7: Cannot fork';
  expect(smell(said, { processes: 40, processesSaid: true })).toBe(
    'it may have 40 processes: set max_processes on node "a"',
  );
  expect(smell(said, { processes: 8192 })).toMatch(
    /max_processes.*this machine fewer \(ulimit -u, pids\.max/,
  );
});
