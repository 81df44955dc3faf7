/** Questions to people and their answers, as views show them. */
import { quoteWord } from '../../core/policy/words.ts';
import { defaultLabel, givenWords } from '../../core/question-words.ts';
import type { Question, TakenAnswer } from '../../core/records/question.ts';
import { answerTo } from '../../run/answer-files.ts';
import { namedRun } from '../../run/runs.ts';
import type { Host } from '../types.ts';
import type { GivenAnswer, OpenQuestion } from './question-shapes.ts';

/** What the run in `dir` asks, with an answer that it has not taken yet. */
export function openQuestionOf(
  dir: string,
  question: Question,
  host: Pick<Host, 'cwd' | 'called'>,
): OpenQuestion {
  const { id, mode, text, after, text_to, timeout_action, options, asked_at, deadline } = question;
  const answer = answerTo(dir, question);
  const command = commandToAnswer(dir, id, host);
  return {
    ...{ id, mode, text, after, text_to, timeout_action, asked_at, deadline },
    options: options.map((option) => ({
      ...option,
      command: `${command} --choice ${quoteWord(option.key)}`,
    })),
    text_command: text_to === null ? null : `${command} --text TEXT`,
    default: defaultLabel(question),
    answer: answer === undefined ? null : givenAnswerOf(answer),
  };
}

/** The command that shows the question and asks; with `--choice` or `--text` behind it, the one that answers. */
export const commandToAnswer = (
  dir: string,
  id: string,
  { cwd, called }: Pick<Host, 'cwd' | 'called'>,
): string => {
  return `${called?.program ?? 'factory'} answer ${namedRun(dir, cwd)} ${id}`;
};

export const givenAnswerOf = (answer: TakenAnswer): GivenAnswer => {
  const { choice = null, text = null, by, at, from } = answer;
  return { words: givenWords(answer), choice, text, by, at, from };
};
