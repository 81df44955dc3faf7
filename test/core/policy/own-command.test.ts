import { expect, test } from 'vitest';
import { ownStepWords } from '../../../src/core/policy/own-command.ts';

test.for([
  ['factory order apply', ['order', 'apply']],
  [
    " factory plan  prompt --spec .factory/in/spec.md --model '' ",
    ['plan', 'prompt', '--spec', '.factory/in/spec.md', '--model', ''],
  ],
  ['factory order rollback --attempts 5', ['order', 'rollback', '--attempts', '5']],
  ["factory plan check --template 'it'\\''s.md'", ['plan', 'check', '--template', "it's.md"]],
  ['factory plan check --template "a b.md"', ['plan', 'check', '--template', 'a b.md']],
] as const)('%s is a step that the engine may carry out', ([text, words]) => {
  expect(ownStepWords(text)).toEqual(words);
});

test.for([
  'factory order proof',
  'factory scenario run scripts/scenarios --app .',
  'factory order next && true',
  'factory order next; true',
  'factory order next\ntrue',
  'factory order next | cat',
  'factory order next > x',
  'factory order next &',
  'factory plan emit $(date)',
  'factory plan emit `date`',
  'factory plan prompt --spec $SPEC',
  'factory plan prompt --spec "$SPEC"',
  'factory plan prompt --spec *.md',
  'factory plan prompt --spec ~/x',
  'factory plan emit # why',
  'X=1 factory plan emit',
  '/bin/factory plan emit',
  'factory plan spec.md',
  'factory order run',
])('%s belongs to the shell', (text) => {
  expect(ownStepWords(text)).toBeUndefined();
});
