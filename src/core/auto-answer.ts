/** Answers that a run gives itself at its human gates: `--auto-answer first|default|FILE`. Pure. */
import * as z from 'zod';
import { optionsNamed } from './human-gate.ts';
import { once } from './once.ts';
import type { Question, TakenAnswer } from './records/question.ts';

const answerGiven = once(() =>
  z.union([z.string(), z.strictObject({ choice: z.string() }), z.strictObject({ text: z.string() })]),
);

/** By gate (`NODE`, or `NODE@VISIT` for one of its questions): an option's target, key or label, or a text. */
export const autoAnswersSchema = once(() =>
  z.union([z.enum(['first', 'default']), z.record(z.string(), answerGiven())]),
);
export type AutoAnswers = z.infer<ReturnType<typeof autoAnswersSchema>>;

type GivenAnswer = Pick<TakenAnswer, 'choice' | 'label' | 'text'>;

/** The answer; why it is none, as a message; undefined where a person has to answer. */
export function autoAnswer(
  answers: AutoAnswers,
  question: Question,
): GivenAnswer | { readonly why: string } | undefined {
  const { options, text_to, default: otherwise, id, node } = question;
  if (answers === 'first') {
    const [first] = options;
    return first === undefined ? { text: '' } : { choice: first.to, label: first.label };
  }
  if (answers === 'default') {
    if (otherwise === null) return undefined;
    const option = options.find(({ to }) => to === otherwise);
    return option === undefined ? { text: '' } : { choice: option.to, label: option.label };
  }
  const given = Object.hasOwn(answers, id)
    ? answers[id]
    : Object.hasOwn(answers, node)
      ? answers[node]
      : undefined;
  if (given === undefined) return undefined;
  if (typeof given === 'object' && 'text' in given)
    return text_to === null ? { why: `${id} takes no text, so the automatic answer does not count` } : given;
  const word = typeof given === 'string' ? given : given.choice;
  const [option, another] = optionsNamed(options, word);
  if (option !== undefined && another === undefined) return { choice: option.to, label: option.label };
  if (option === undefined && typeof given === 'string' && text_to !== null) return { text: given };
  return {
    why: `${id} has ${option === undefined ? 'no' : 'more than one'} option "${word}", so the automatic answer does not count`,
  };
}
