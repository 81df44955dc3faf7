/** Asks a person on the terminal. */
import { Writable } from 'node:stream';
import { optionsChosen, takesEmptyText } from '../core/human-gate.ts';
import { defaultLabel, optionWords } from '../core/question-words.ts';
import type { Question } from '../core/records/question.ts';
import type { Io, Terminal } from './io.ts';
import { questionText } from './report/question.ts';
import { painter } from './report/run.ts';

type GivenAnswer = { readonly choice: string } | { readonly text: string };

/** Shows the question and reads an answer; undefined without one: at the end of input, on Escape or Ctrl-C, and when the
 *  signal fires because another answer was first. */
export async function askOnTerminal(
  question: Question,
  terminal: Terminal,
  where: AskedWhere,
): Promise<GivenAnswer | undefined> {
  // Loaded only when a question is asked.
  const { isCancel, text } = await import('@clack/prompts');
  where.io.err(`${questionText({ ...question, default: defaultLabel(question) }, painter(where.colour))}\n`);
  const typed = await prompted(terminal, where, (options) =>
    text({
      message: promptWords(question),
      ...options,
      validate: (line) => typedProblem(question, line ?? ''),
    }),
  );
  return isCancel(typed) ? undefined : meant(question, typed ?? '');
}

/** Asks for a yes; false for a no, and where no answer is given. */
export async function confirmOnTerminal(
  message: string,
  terminal: Terminal,
  where: AskedWhere,
): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  const answer = await prompted(terminal, where, (options) =>
    confirm({ message, initialValue: false, ...options }),
  );
  return answer === true;
}

type AskedWhere = {
  readonly io: Pick<Io, 'err' | 'width'>;
  readonly colour: boolean;
  readonly signal: AbortSignal;
};

/** Shows a prompt until it is answered, the input ends, or the signal fires. */
async function prompted<T>(
  { input, output, interrupt }: Terminal,
  { io, colour, signal }: AskedWhere,
  ask: (options: {
    readonly withGuide: false;
    readonly input: Terminal['input'];
    readonly output: Writable;
    readonly signal: AbortSignal;
  }) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const end = () => ended.abort();
  const pressed = (_: unknown, key: { ctrl?: boolean; name?: string } | undefined) => {
    if (key?.ctrl !== true) return;
    if (key.name === 'd') end();
    // The terminal is in raw mode and sends no signal.
    if (key.name === 'c') interrupt();
  };
  input.on('keypress', pressed).once('end', end).once('close', end);
  try {
    return await ask({
      withGuide: false,
      input,
      output: drawnOn(output, io, colour),
      signal: AbortSignal.any([signal, ended.signal]),
    });
  } finally {
    input.off('keypress', pressed).off('end', end).off('close', end);
  }
}

const keysOf = ({ options }: Pick<Question, 'options'>): string => options.map(({ key }) => key).join(' or ');

function promptWords(question: Question): string {
  const { options, text_to } = question;
  const what =
    options.length === 0 ? 'the answer' : `${keysOf(question)}${text_to === null ? '' : ', or a text'}`;
  return `Type ${what}, then Enter (Ctrl-C: not now)`;
}

function meant({ options }: Question, line: string): GivenAnswer {
  const [option, ...more] = optionsChosen(options, line);
  return option === undefined || more.length > 0 ? { text: line } : { choice: option.key };
}

function typedProblem(question: Question, line: string): string | undefined {
  const isEmpty = line.trim() === '';
  if (isEmpty ? takesEmptyText(question) : question.text_to !== null) return undefined;
  if (optionsChosen(question.options, line).length === 1) return undefined;
  return isEmpty
    ? `type ${keysOf(question)}`
    : `there is no option "${line.trim()}": ${question.options.map(optionWords).join(', ')}`;
}

/** The terminal with a width also where it does not know its own, and without colours where they are not wanted. */
function drawnOn(output: Writable, io: Pick<Io, 'width'>, colour: boolean): Writable {
  const drawn = new Writable({
    decodeStrings: false,
    write(piece: unknown, _, done) {
      const text = String(piece);
      output.write(colour ? text : text.replace(/\x1b\[[\d;]*m/g, ''));
      done();
    },
  });
  return Object.defineProperty(drawn, 'columns', { get: () => io.width });
}
