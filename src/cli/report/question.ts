/** A question to a person as text: what was asked, what can be answered, and the commands that answer. */
import type { OpenQuestion } from '../../app/inspect/question-shapes.ts';
import { dueWords, optionWords } from '../../core/question-words.ts';
import type { Question } from '../../core/records/question.ts';
import { columnsOf } from './diagnostics.ts';
import type { Sheet } from './fit.ts';
import { foreign, oneLine, type Paint } from './run.ts';

const mostLines = 12;

type Shown = Pick<
  OpenQuestion,
  'id' | 'text' | 'after' | 'text_to' | 'default' | 'timeout_action' | 'asked_at' | 'deadline'
> & { readonly options: readonly Pick<OpenQuestion['options'][number], 'key' | 'label'>[] };

/** The question under the result that it is about, with its options. `default`: the label. */
export function questionText(question: Shown, paint: Paint): string {
  const { id, text, after, options, text_to } = question;
  const result = after === null ? [] : afterLines(after).map((line) => paint.dim(line));
  const due = dueWords(question, question.default);
  return [
    ...result,
    `${paint.yellow('?')} ${paint.bold(foreign(text, '  '))} ${paint.dim(`(${id})`)}`,
    ...options.map((option) => `  ${oneLine(optionWords(option), 200)}`),
    ...(text_to === null ? [] : [options.length === 0 ? '  any text' : '  or any text']),
    ...(due === '' ? [] : [`  ${paint.dim(due)}`]),
  ].join('\n');
}

/** The commands that answer it, one for each option; none for one that is answered already. */
export function answerCommands(
  { options, text_command, answer }: OpenQuestion,
  paint: Paint,
  sheet: Sheet | undefined,
): readonly string[] {
  if (answer !== null) return [];
  return [
    ...options.map(({ command, label }) => {
      const comment = `# ${oneLine(label, 60)}`;
      // The options are above: a command that would wrap goes without its comment.
      const isWide = sheet !== undefined && columnsOf(`  ${command} ${comment}`) > sheet.columns;
      return `  ${paint.bold(command)}${isWide ? '' : ` ${paint.dim(comment)}`}`;
    }),
    ...(text_command === null ? [] : [`  ${paint.bold(text_command)}`]),
  ];
}

/** The question, with the commands that answer it as the last lines. */
export const askedText = (question: OpenQuestion, paint: Paint, sheet: Sheet | undefined): string =>
  [questionText(question, paint), ...answerCommands(question, paint, sheet)].join('\n');

/** The outcome of the execution before, and the end of what it printed or answered. */
function afterLines({
  node,
  outcome,
  notes,
  output = '',
}: NonNullable<Question['after']>): readonly string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return [
    `  after ${node}: ${outcome.replaceAll('_', ' ')}${notes === '' ? '' : `, ${oneLine(notes, 200)}`}`,
    ...lines.slice(-mostLines).map((line) => `  │ ${oneLine(line, 200)}`),
  ];
}
