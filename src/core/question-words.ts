/** A question to a person and its answer in words, and what a person's words mean to it. Pure. */
import { localTime } from './amounts.ts';
import type { AnswerSource, Question, TakenAnswer } from './records/question.ts';

/** `[A] Approve` */
export const optionWords = ({ key, label }: Pick<Question['options'][number], 'key' | 'label'>): string =>
  `[${key}] ${label}`;

type Given = Pick<TakenAnswer, 'label' | 'choice' | 'text'>;

/** What was answered: the label of the option, else the text; empty where none came in time. */
export const answeredText = ({ label, choice, text }: Given): string => label ?? choice ?? text ?? '';

/** The same for people, who see that a text is empty. */
export const givenWords = (given: Given): string =>
  answeredText(given) || (given.text === '' ? '(empty)' : '');

const sources: Readonly<Record<AnswerSource, string>> = {
  terminal: 'terminal',
  command: 'command',
  page: 'page',
  api: 'API',
  library: 'library',
  timeout: 'because the time was up',
  auto: 'automatically',
};

/** `by ada (page)` */
export const giverWords = ({ by, from }: Pick<TakenAnswer, 'by' | 'from'>): string =>
  from === 'timeout' || from === 'auto' ? sources[from] : `by ${by} (${sources[from]})`;

/** What happens when the time is up; empty for a question that waits without limit. `otherwise`: the label of the default. */
export function dueWords(
  { asked_at, deadline, timeout_action }: Pick<Question, 'asked_at' | 'deadline' | 'timeout_action'>,
  otherwise: string | null,
): string {
  if (deadline === null) return '';
  const what = otherwise === null || timeout_action === 'fail' ? 'the node fails' : `${otherwise} is taken`;
  return `without an answer ${what} at ${localTime(deadline, new Date(asked_at))}`;
}

/** The label of the default choice. */
export const defaultLabel = ({
  default: otherwise,
  options,
}: Pick<Question, 'default' | 'options'>): string | null =>
  options.find(({ to }) => to === otherwise)?.label ?? otherwise;
