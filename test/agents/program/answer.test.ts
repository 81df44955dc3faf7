import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAnswer } from '../../../src/agents/program/answer.ts';
import { lines } from '../../../src/agents/program/lines.ts';
import { answerSchema } from '../../../src/agents/program/schema.ts';

const whole = {
  outcome: 'partial_success',
  preferred_next_label: 'L1',
  suggested_next_ids: ['x', 'y'],
  context_updates: { k: 'v', deep: { n: [1, null] } },
  verification_plan: { files: ['a'], commands: ['true'] },
  notes: 'my notes',
  failure_reason: 'r',
};

test('a whole answer is taken unchanged', () => {
  expect(parseAnswer(JSON.stringify(whole))).toEqual({
    answer: {
      outcome: 'partial_success',
      label: 'L1',
      suggested: ['x', 'y'],
      updates: { k: 'v', deep: { n: [1, null] } },
      verificationPlan: { files: ['a'], commands: ['true'] },
      notes: 'my notes',
      reason: 'r',
    },
  });
});

test.for([
  ['succeeded', 'success'],
  ['pass', 'success'],
  ['failed', 'fail'],
  ['failure', 'fail'],
  [' retry ', 'retry'],
] as const)('the outcome "%s" is read as %s, and nothing else needs to be said', ([said, outcome]) => {
  const nulls = {
    preferred_next_label: null,
    suggested_next_ids: null,
    verification_plan: null,
    context_updates: null,
  };
  for (const more of [{}, nulls, { unknown: 1 }]) {
    expect(parseAnswer(JSON.stringify({ outcome: said, ...more }))).toEqual({
      answer: { outcome, label: '', suggested: [], updates: {}, notes: '', reason: '' },
    });
  }
});

test.for([
  ['fail', '', 'the notes'],
  ['retry', ' ', 'the notes'],
  ['fail', 'the reason', 'the reason'],
  ['success', '', ''],
] as const)('a %s whose reason is "%s" has "%s" for one', ([outcome, failure_reason, reason]) => {
  const said = JSON.stringify({ outcome, failure_reason, notes: 'the notes' });
  expect(parseAnswer(said)).toMatchObject({ answer: { outcome, reason, notes: 'the notes' } });
});

test.for([
  ['', /^is not valid JSON: the answer is empty/],
  ['null', /^is null instead of a JSON object|^is not valid JSON/],
  ['[]', /^is an array instead of a JSON object$/],
  ['{"notes":"hm"}', /^missing outcome$/],
  ['{"outcome":" "}', /^missing outcome$/],
  [
    '{"outcome":"skipped"}',
    /^has the outcome "skipped", which is none of success, partial_success, retry, fail$/,
  ],
  ['{"outcome":"constructor"}', /^has the outcome "constructor"/],
  ['{"outcome":1}', /^has the outcome 1, which is none of/],
  ['{"outcome":"success","notes":{}}', /^has notes wrong: an object instead of a string$/],
  ['{"outcome":"success","suggested_next_ids":["a",1]}', /^has suggested_next_ids wrong/],
  [
    '{"outcome":"success","context_updates":[]}',
    /^has context_updates wrong: an array instead of an object$/,
  ],
  ['{"outcome":"success","verification_plan":{"commands":"x"}}', /^has verification_plan wrong/],
  [
    `{"outcome":"success","context_updates":${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`,
    /^is not valid JSON: .*nested/,
  ],
] as const)('the answer %s is refused, and the field is named', ([text, problem]) => {
  const read = parseAnswer(text);
  expect('problem' in read ? read.problem : 'accepted').toMatch(problem);
});

test('the schema is closed and asks for every field', () => {
  expect(answerSchema).toMatchObject({
    additionalProperties: false,
    required: Object.keys(whole),
    properties: {
      outcome: { enum: ['success', 'partial_success', 'retry', 'fail'] },
      context_updates: { additionalProperties: false, properties: {} },
    },
  });
});

test('lines come whole, wherever the text is cut', () => {
  const texts = fc.array(fc.constantFrom('a', 'é', '\r\n', '\n', 'bc', ''), { maxLength: 30 });
  fc.assert(
    fc.property(texts, (pieces) => {
      const told: string[] = [];
      const reader = lines((line) => told.push(line));
      for (const piece of pieces) reader.push(piece);
      reader.end();
      const wanted = pieces
        .join('')
        .split('\n')
        .map((line) => line.replace(/\r$/, ''));
      if (pieces.join('').endsWith('\n') || pieces.join('') === '') wanted.pop();
      expect(told).toEqual(wanted);
    }),
  );
});

test('a line that is too long is left out, and the next one is read', () => {
  const told: string[] = [];
  const reader = lines((line) => told.push(line));
  for (let n = 0; n < 17; n++) reader.push('x'.repeat(1024 * 1024));
  reader.push('\nnext\n');
  expect(told).toEqual(['next']);
});
