/** Attributes of the type `wait.human`. */
import { questionModes } from '../records/question.ts';
import { type AttributeTable, attr, duration, text, trimmed, word } from './types.ts';

export const humanAttributes = {
  prompt: attr(text(), 'The question to the person, or `@file` relative to the file of the pipeline.', {
    unset: '`question`, else the label',
    example: 'Does the plan make sense?',
  }),
  question: attr(text(), 'The question to the person, where there is no `prompt`.'),
  mode: attr(
    word(...questionModes),
    'How the person answers: by one of the options, by yes or no (No is the outcome `fail`), or in words.',
    { default: 'choice', example: 'yes_no' },
  ),
  'human.default_choice': attr(
    trimmed('a target, key or label of an option'),
    'The option that counts when no answer comes in time: the id of its target, its key or its label.',
    { example: 'approve' },
  ),
  'human.timeout': attr(
    duration(),
    'How long the gate waits for an answer; `default_timeout` does not apply.',
    {
      unset: '`timeout`, else it waits without limit',
      example: '24h',
    },
  ),
  timeout: attr(duration(), 'The same as `human.timeout`.', {
    unset: 'it waits without limit',
    example: '24h',
  }),
  timeout_action: attr(
    word('default', 'fail'),
    'What follows a question without an answer in time: the default choice, or a failure of class `timeout`.',
    { unset: 'default where there is a default choice, else fail', example: 'fail' },
  ),
} as const satisfies AttributeTable;
