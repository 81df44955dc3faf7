/** What keeps a completed run without a failed test from PASSED. */
import { expect, test } from 'vitest';
import { hasDoubts } from '../../../src/app/attest/test-result.ts';

test.for([
  ['nothing of it', { evidence: { more_commands: 0 } }, false],
  [
    'warnings of the audit alone',
    { audit: { errors: 0 }, evidence: { more_commands: 0, outdated: [] } },
    false,
  ],
  ['an error of the audit', { audit: { errors: 1 }, evidence: { more_commands: 0 } }, true],
  ['a command that is not listed', { evidence: { more_commands: 1 } }, true],
  ['an outdated acceptance command', { evidence: { more_commands: 0, outdated: [{}] } }, true],
  ['a proof of the last commit', { evidence: { more_commands: 0 }, proof: 'attested' }, false],
  ['a proof of another commit', { evidence: { more_commands: 0 }, proof: 'others' }, true],
  [
    'scenarios that accept a product that does nothing',
    { evidence: { more_commands: 0, judged: { floor: 'failed' } } },
    true,
  ],
] as const)('a run with %s is in doubt, or is not', ([, facts, isDoubted]) => {
  expect(hasDoubts(facts)).toBe(isDoubted);
});
