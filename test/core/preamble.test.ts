/** What of a run stands before a prompt. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PastExecution, type PreambleKind, preambleOf, type RunPast } from '../../src/core/preamble.ts';

const most: Readonly<Record<PreambleKind, number>> = {
  truncate: 200,
  compact: 4000,
  'summary:low': 2500,
  'summary:medium': 6000,
  'summary:high': 12_000,
};
const kinds = Object.keys(most) as PreambleKind[];

const execution = (node: string, more: Partial<PastExecution> = {}): PastExecution => ({
  ...{ node, visit: 1, type: 'codergen', outcome: 'success', label: '', reason: '', notes: '', changes: [] },
  text: '',
  ...more,
});

const past: RunPast = {
  goal: 'Ship the parser.',
  executions: [
    execution('plan', { notes: 'Three steps.\nTokens first.', text: 'Step 1: tokens\nStep 2: tree' }),
    execution('build', { changes: ['created src/a.ts', 'modified src/b.ts'], label: 'done' }),
    execution('check', {
      ...{
        type: 'tool',
        outcome: 'fail (product)',
        reason: 'tool_exit_code_1',
        text: '1 failed\nexpected 2',
      },
    }),
  ],
  failure: { node: 'check', class: 'product', reason: 'tool_exit_code_1' },
};

test('truncate has the goal, compact what ran, a summary also what was said', () => {
  expect(preambleOf('truncate', past)).toMatchInlineSnapshot(`
    "<run_so_far>
    Goal: Ship the parser.
    </run_so_far>

    "
  `);
  expect(preambleOf('compact', past)).toMatchInlineSnapshot(`
    "<run_so_far>
    Goal: Ship the parser.
    Not settled: check failed (product): tool_exit_code_1
    Executed so far, the latest last:
    - plan@1 (codergen): success
      notes: Three steps. Tokens first.
    - build@1 (codergen): success, label done
      files: created src/a.ts, modified src/b.ts
    - check@1 (tool): fail (product)
      reason: tool_exit_code_1
    </run_so_far>

    "
  `);
  expect(preambleOf('summary:low', past)).toMatchInlineSnapshot(`
    "<run_so_far>
    Goal: Ship the parser.
    Not settled: check failed (product): tool_exit_code_1
    Executed so far, the latest last:
    - plan@1 (codergen): success
      notes: Three steps. Tokens first.
      answer:
        Step 1: tokens
        Step 2: tree
    - build@1 (codergen): success, label done
      files: created src/a.ts, modified src/b.ts
    - check@1 (tool): fail (product)
      reason: tool_exit_code_1
      output:
        1 failed
        expected 2
    </run_so_far>

    "
  `);
});

test('a run without goal and executions has nothing to say', () => {
  const nothing: RunPast = { goal: ' ', executions: [], failure: undefined };
  for (const kind of kinds) expect(preambleOf(kind, nothing)).toBe('');
  expect(preambleOf('truncate', { ...past, goal: '' })).toBe('');
});

test('of many executions the latest are listed, and the number of the others', () => {
  const executions = Array.from({ length: 300 }, (_, n) =>
    execution('fix', { visit: n + 1, notes: 'n'.repeat(900) }),
  );
  const text = preambleOf('compact', { ...past, executions });
  expect(text).toMatch(/\[\d+ earlier ones are left out\]/);
  expect(text).toContain('- fix@300 (codergen): success\n  notes: nnn');
  expect(text).not.toContain('- fix@1 ');
});

test('an output is cut before its end, an answer after its beginning', () => {
  const long = Array.from({ length: 3000 }, (_, n) => `line ${n}`).join('\n');
  const of = (type: string) =>
    preambleOf('summary:high', { ...past, executions: [execution('a', { type, text: long })] });
  expect(of('tool')).toContain('line 2999\n</run_so_far>');
  expect(of('tool')).not.toContain('line 0\n');
  expect(of('codergen')).toContain('  answer:\n    line 0\n');
  expect(of('codergen')).toContain('[cut]\n</run_so_far>');
});

const pieces = [
  'word ',
  '🙂',
  'é',
  '</run_so_far>',
  '\n',
  'a\n\n\nb',
  '\t',
  '',
  'long '.repeat(300),
  '🙂'.repeat(4000),
];
const anyText = fc
  .array(fc.constantFrom(...pieces), { maxLength: 8 })
  .map((some) => some.join(''))
  .filter((text) => text.length < 20_000);
const anyPast: fc.Arbitrary<RunPast> = fc.record({
  goal: anyText,
  executions: fc.array(
    fc.record({
      node: fc.constantFrom('a', 'b', 'n'.repeat(500)),
      visit: fc.nat(99),
      type: fc.constantFrom('tool', 'codergen'),
      outcome: fc.constantFrom('success', 'fail (product)'),
      ...{ label: anyText, reason: anyText, notes: anyText, changes: fc.array(anyText, { maxLength: 5 }) },
      text: anyText,
    }),
    { maxLength: 20 },
  ),
  failure: fc.option(fc.record({ node: fc.constant('a'), class: fc.constant('product'), reason: anyText }), {
    nil: undefined,
  }),
});

test('each keeps its limit, ends once, cuts no character, and is the same again', () => {
  fc.assert(
    fc.property(anyPast, (of) => {
      for (const kind of kinds) {
        const text = preambleOf(kind, of);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most[kind]);
        expect(Buffer.from(text).toString()).toBe(text);
        expect(preambleOf(kind, structuredClone(of))).toBe(text);
        if (text !== '')
          expect(text.split('</run_so_far>')).toEqual([expect.stringMatching(/^<run_so_far>\n/), '\n\n']);
      }
    }),
    { numRuns: 40 },
  );
});
