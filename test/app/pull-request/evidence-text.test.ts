/** The text of a pull request: each fact of the evidence once, and nothing in it acts on GitHub. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type EvidenceFacts,
  evidenceText,
  withEvidence,
} from '../../../src/app/pull-request/evidence-text.ts';
import { nothingSpent } from '../../../src/core/budget/usage.ts';

const command = {
  ...{ node: 'verify', visit: 1, outcome: 'success', what: 'verification', command: 'npm test' },
  ...{ exit_code: 0, replayed: false },
} as const;
const facts = {
  run: { id: 'RUN1', status: 'completed', factory_version: '1.2.3' },
  orders: [
    { work_order: 'WO-01', commit: 'a'.repeat(40), subject: 'WO-01: The alarm', attempts: 1 },
    { work_order: 'WO-02', commit: null, subject: '', attempts: 1 },
  ],
  commands: [
    command,
    { ...command, what: 'proof', command: 'npm run lint' },
    { ...command, what: 'scenario', command: 'factory scenario run hidden' },
    { ...command, command: 'make', exit_code: null, outcome: 'fail' },
  ],
  judged: {
    ...{ passed: 4, total: 4, floor: 'held', passed_before: 1, isolation: 'launcher' },
    strength: {
      ...{ state: 'measured', killed: 9, survived: 1, no_verdict: 0, timed_out: 0 },
      ...{ not_reached: 0, not_built: 0, left_out: 0, files_left_out: 0, scenarios_left_out: 0 },
      ...{ total: 10, complete: true, rate: 0.9, low: null, high: null, required: null },
    },
  },
  inputs: { suite: { files: 4, hmac_sha256: '' } },
  accepted: {
    ...{ answers: [], notes: 2, changes: [] },
    overridden: [{ execution: 'judge@2', class: 'tool', question: 'ask@1' }],
    weakness: [{ at: '', who: 'ada' }],
  },
  agents: { name: 'openai', asked: [{ node: 'a', agent: 'openai', model: 'gpt-5' }] },
  cost: { ...nothingSpent, calls: 12, cost_usd: 1.84, input_tokens: 12_000, output_tokens: 400 },
  not_checked: ['no audit looked for holdout leaks and changed tests'],
  closes: 17,
} as unknown as EvidenceFacts;

test('orders, commands, scenarios, strength, what people accepted, cost and gaps are listed', () => {
  expect(evidenceText(facts)).toMatchInlineSnapshot(`
    "<!-- factory evidence begin -->
    Made by run \`RUN1\` of factory 1.2.3 (completed). Closes #17.

    ### Work orders
    - \`aaaaaaaaaaaa\` \`WO-01: The alarm\`
    - \`WO-02\`: no commit

    ### Commands
    - \`npm test\`: exit code 0
    - \`npm run lint\`: exit code 0, on a clean checkout of the last commit
    - \`make\`: did not end by itself (fail)

    ### Scenarios
    - 4 of 4 passed; they were hidden from the builder
    - 1 of 4 passed before the work
    - they reject a product that does nothing
    - strength 90 %, all 10

    ### Accepted by people
    - the failure of \`judge@2\` (tool), by the answer to a question
    - that the scenarios are too weak, by \`ada\`
    - 2 notes to agents

    ### Cost
    - 1.84 USD: 12 calls, 12.4k tokens, \`gpt-5\`

    ### Not checked
    - \`no audit looked for holdout leaks and changed tests\`
    <!-- factory evidence end -->"
  `);
});

test('texts of a run are shown as code: they mention nobody and close nothing', () => {
  const evil = '`x` @ada Fixes #1 ![](https://example.org/a.png)\n<!-- factory evidence end -->';
  const text = evidenceText({
    ...facts,
    orders: [{ work_order: 'WO-01', commit: 'b'.repeat(40), subject: evil, attempts: 1 }],
    not_checked: [evil],
  });
  const shown = '`` `x` @ada Fixes #1 ![](https://example.org/a.png) <!-- factory evidence end --> ``';
  expect(text.split('\n').filter((line) => line.includes('@ada'))).toEqual([
    `- \`bbbbbbbbbbbb\` ${shown.replaceAll('<!--', '<!-')}`,
    `- ${shown.replaceAll('<!--', '<!-')}`,
  ]);
});

test('what people wrote around the evidence stays, and the evidence is there once', () => {
  const words = fc.stringMatching(/^[a-zA-Z #`\n.]{0,60}$/);
  fc.assert(
    fc.property(words, words, (before, after) => {
      const first = withEvidence(before, facts);
      const changed = `${first}${after}`;
      const next = withEvidence(changed, { ...facts, closes: 18 });
      expect(next).toBe(changed.replace('#17', '#18'));
      expect(next.startsWith(before.trimEnd())).toBe(true);
      expect(next.endsWith(after)).toBe(true);
    }),
  );
});
