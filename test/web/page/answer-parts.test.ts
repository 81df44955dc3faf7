/** Structured answers of models: what they are, and that anything else stays a text. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerParts } from '../../../src/web/page/text/answer-parts.ts';

const proposal = { summary: 'Adds a', writes: [{ path: 'a.ts', base_sha256: 'e3', content: 'a\n' }] };
const shown = { kind: 'proposal', summary: 'Adds a', writes: [{ path: 'a.ts', content: 'a\n' }] };
const order = {
  id: 'WO-01',
  title: 'T',
  intent: 'I',
  allowed_files: ['a.ts'],
  acceptance_commands: ['true'],
};
const fenced = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

test.for<[what: string, answer: string, parts: unknown]>([
  ['a proposal', JSON.stringify(proposal), shown],
  ['a proposal in a code fence', `\n${fenced(proposal)}\n`, shown],
  [
    'a plan',
    JSON.stringify({ system_overview: ['S'], work_orders: [order] }),
    {
      ...{ kind: 'plan', overview: ['S'] },
      orders: [{ id: 'WO-01', title: 'T', intent: 'I', files: ['a.ts'], commands: ['true'] }],
    },
  ],
  [
    'an outcome with its facts',
    '{"outcome": "fail", "failure_reason": "no tests", "context_updates": {"n": 1}, "notes": ""}',
    {
      ...{ kind: 'outcome', outcome: 'fail', text: '' },
      facts: [
        { name: 'failure_reason', text: 'no tests', isJson: false },
        { name: 'context_updates', text: '{\n  "n": 1\n}', isJson: true },
      ],
    },
  ],
  [
    'an outcome after prose',
    'All done.\n\n{"outcome": "success"}',
    expect.objectContaining({ text: 'All done.' }),
  ],
  [
    'an outcome in a fence after prose',
    `Done {here}.\n${fenced({ outcome: 'success' })}`,
    expect.objectContaining({ outcome: 'success' }),
  ],
  ['prose', 'I changed a.ts.', undefined],
  ['another object', '{"files": ["a.ts"]}', undefined],
  ['a proposal without contents', '{"writes": [{"path": "a.ts"}]}', undefined],
  ['a proposal after prose, which nothing would apply', `Here:\n${fenced(proposal)}`, undefined],
  ['JSON that ends early', '{"outcome": "fail"', undefined],
  ['a list', '[{"outcome": "fail"}]', undefined],
  ['nothing', '', undefined],
])('%s is shown as it is', ([, answer, parts]) => {
  expect(answerParts(answer)).toEqual(parts);
});

test('no answer makes reading it throw', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '"outcome"',
    ':',
    '"x"',
    '```',
    '\n',
    '[',
    ']',
    ',',
    '"writes"',
    'null',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece).map((all) => all.join('')),
        fc.json(),
        fc.string(),
      ),
      (answer) => {
        answerParts(answer);
      },
    ),
  );
});
