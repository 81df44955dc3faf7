import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  mostQuestions,
  questionsAbout,
  questionsText,
  type SpecQuestion,
  specAnswersIn,
  specWithAnswers,
} from '../../../src/core/orders/spec-questions.ts';

const spec = `# Links
Report broken   links.
A link is broken if it does not answer [NEEDS CLARIFICATION: within how many seconds?].
Sort the report.`;
const question = (quotation: string, more: Partial<SpecQuestion> = {}): SpecQuestion => ({
  quotation,
  question: 'What?',
  proposal: 'This.',
  ...more,
});
const about = (...questions: SpecQuestion[]) => {
  const got = questionsAbout(spec, { questions });
  return 'questions' in got
    ? { of: got.questions.map(({ quotation }) => quotation), dropped: got.dropped }
    : got;
};
const mark = '[NEEDS CLARIFICATION: within how many seconds?]';

test('questions count whose quotation is in the specification, however it is wrapped; marks of spec-kit come first', () => {
  expect(
    about(question('Sort the report.'), question('Report broken links.'), question('Print a sum.')),
  ).toEqual({
    of: [mark, 'Sort the report.', 'Report broken links.'],
    dropped: 1,
  });
});

test('a mark about which the model asks is not asked about again, and comes first', () => {
  const asked = question('does not answer [NEEDS CLARIFICATION: within how many seconds?]', {
    proposal: 'ten',
  });
  expect(about(question('Sort the report.'), asked)).toEqual({
    of: [asked.quotation, 'Sort the report.'],
    dropped: 0,
  });
});

test('words that only a mark has are about that mark; words that are elsewhere too are not', () => {
  expect(about(question('Sort the report.'), question('within how many seconds?'))).toEqual({
    of: ['within how many seconds?', 'Sort the report.'],
    dropped: 0,
  });
  expect(about(question('in'))).toEqual({ of: [mark, 'in'], dropped: 0 });
});

test('what the template of spec-kit says of marks is no mark', () => {
  const left = `3. Mark with [NEEDS CLARIFICATION: specific question]
- [ ] No [NEEDS CLARIFICATION] markers remain`;
  expect(questionsAbout(left, { questions: [] })).toEqual({ questions: [], dropped: 0 });
});

test('a mark with brackets in it is whole', () => {
  const got = questionsAbout('Use [NEEDS CLARIFICATION: [a], [b] or both?] here.', { questions: [] });
  expect(got).toMatchObject({
    questions: [{ quotation: '[NEEDS CLARIFICATION: [a], [b] or both?]', question: '[a], [b] or both?' }],
  });
});

test('at most five are asked, and an empty word is no question', () => {
  const many = Array.from({ length: 9 }, (_, n) => question('Sort the report.', { question: `What ${n}?` }));
  expect(about(...many, question('Sort', { question: ' ' }))).toMatchObject({ dropped: 6 });
  expect(about(...many)).toHaveProperty('of.length', mostQuestions);
});

test.for([[undefined], [[]], [{ questions: 'none' }], [{ questions: [{ question: 'What?' }] }]])(
  'an answer of another form is a problem: %j',
  ([answer]) => {
    expect(questionsAbout(spec, answer)).toHaveProperty('problem');
  },
);

const three = [question('a'), question('b'), question('c')];
test.for([
  ['nothing', '', [undefined, undefined, undefined]],
  ['blank lines', ' \n\n', [undefined, undefined, undefined]],
  ['one', '2: other  words', [undefined, 'other words', undefined]],
  ['several, in any order and form', '3) c\n 1. a', ['a', undefined, 'c']],
  ['several lines', '1: first\nand more\n2: b', ['first and more', 'b', undefined]],
  [
    'several on one line, as a terminal takes it',
    '1: fast; or slow; 3: by time',
    ['fast; or slow', undefined, 'by time'],
  ],
  ['without a blank', '2:other', [undefined, 'other', undefined]],
  [
    'a number in an answer',
    '2: at most\n1.5 seconds,\n1:30 at night',
    [undefined, 'at most 1.5 seconds, 1:30 at night', undefined],
  ],
] as const)('answers are read: %s', ([, text, expected]) => {
  const got = specAnswersIn(text, three);
  expect('answers' in got ? got.answers.map((one) => one.text) : got).toEqual(expected);
});

test.for([
  ['4: x', 'no question 4'],
  ['0: x', 'no question 0'],
  ['1: x\n1: y', 'answered twice'],
  ['other words', 'names no question'],
  ['2:', 'has no words'],
  ['1: fast, 2: by time', 'If "2:" begins another answer'],
] as const)('an answer that cannot be read says why: %j', ([text, why]) => {
  expect(specAnswersIn(text, three)).toEqual({ problem: expect.stringContaining(why) });
});

test('the answer to an only question needs no number', () => {
  for (const text of ['ten seconds', '1.5 seconds', '10:30'])
    expect(specAnswersIn(text, [question('a')])).toEqual({ answers: [{ text }] });
});

test('the specification keeps its text, and has each answer with who gave it and when', () => {
  const answers = [{ text: undefined }, { text: 'ten seconds' }];
  const questions = [question('Sort the report.', { proposal: 'By name.' }), question(mark)];
  expect(specWithAnswers(spec, { questions, answers, by: 'ada', at: '2026-11-29T12:00:00Z' })).toBe(`${spec}

## Answers to what the specification leaves open (ada, 2026-11-29T12:00:00Z)

They count more than the words that they are about.

1. "Sort the report.": What?
   Answer: By name. (as proposed)

2. "${mark}": What?
   Answer: ten seconds
`);
});

test('whatever a model asks, a person sees at most five numbered questions that can each be answered', () => {
  const words = fc.string({ unit: 'grapheme' });
  const asked = fc.array(
    fc.record({ quotation: fc.constantFrom('links', 'Sort the', 'no'), question: words, proposal: words }),
  );
  fc.assert(
    fc.property(asked, (questions) => {
      const got = questionsAbout(spec, { questions });
      if ('problem' in got) throw new Error(got.problem);
      expect(got.questions.length).toBeLessThanOrEqual(mostQuestions);
      const numbered = questionsText(got.questions).match(/^\d\. /gm) ?? [];
      expect(numbered).toHaveLength(got.questions.length);
      const text = got.questions.map((_, n) => `${n + 1}: x`).join('\n');
      expect(specAnswersIn(text, got.questions)).toHaveProperty('answers.length', got.questions.length);
    }),
  );
});
