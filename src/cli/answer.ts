/** `factory answer`: shows the question that a run asks, and answers it. */
import { thisUser } from '../app/acts.ts';
import { answerAndResume, resumeAnswered } from '../app/answer-and-resume.ts';
import type { AnswerRequest } from '../app/answer-run.ts';
import type { AnswerReport } from '../app/answers.ts';
import { startDetached } from '../app/detach.ts';
import type { OpenQuestion } from '../app/inspect/question-shapes.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { flagWords } from '../app/typed-command.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { openQuestions } from '../core/fork.ts';
import { giverWords } from '../core/question-words.ts';
import type { Question } from '../core/records/question.ts';
import { answerTo } from '../run/answer-files.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import { type CliIo, paints, type Terminal } from './io.ts';
import { databaseUrlOf } from './options.ts';
import { sheetOf } from './report/fit.ts';
import { askedText, questionText } from './report/question.ts';
import { type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type AnswerOptions = {
  readonly runsdir?: string;
  readonly choice?: string;
  readonly text?: string;
  readonly by?: string;
  readonly resume?: boolean;
  readonly notify?: string;
  readonly db?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Milliseconds between two looks whether another answer was first. */
const lookMs = 250;

/** 0: answered, or shown where there is no terminal to ask on; 1: another answer was first, or none was given; 130: Ctrl-C. */
export async function answerCommand(
  run: string,
  question: string | undefined,
  options: AnswerOptions,
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  if (options.choice === undefined && options.text === undefined)
    return askedFor(found, question, options, paint, io);
  const { choice, text } = options;
  const done = await answered(found, { from: 'command', question, choice, text }, options, true, io);
  return 'problems' in done ? done : print(done, found, options, paint, io);
}

/** Gives the answer; the run is resumed where it is `last`, and the user has not said otherwise. */
function answered(
  { dir }: NamedRun,
  given: Omit<AnswerRequest, 'by'>,
  options: AnswerOptions,
  last: boolean,
  io: CliIo,
): Promise<AnswerReport | Refusal> {
  const start = last && options.resume !== false ? startOf(options, io) : undefined;
  return answerAndResume(
    dir,
    { by: options.by ?? thisUser(), ...given },
    { ...io, db: databaseUrlOf(options, io), start },
  );
}

const startOf =
  ({ notify }: AnswerOptions, { cwd, env }: CliIo) =>
  (argv: readonly string[]) =>
    startDetached([...argv, ...flagWords({ notify })], { cwd, env });

function print(
  done: AnswerReport,
  { dir }: NamedRun,
  options: AnswerOptions,
  paint: Paint,
  io: CliIo,
): VerbResult {
  const attach = `${io.called?.program ?? 'factory'} attach ${namedRun(dir, io.cwd)}`;
  io.out(
    options.json === true ? `${JSON.stringify(done, null, 2)}\n` : `${answeredText(done, attach, paint)}\n`,
  );
  return 0;
}

/** Shows the question, or all that the run asks; on a terminal it asks one after another. */
async function askedFor(
  { id, dir }: NamedRun,
  named: string | undefined,
  options: AnswerOptions,
  paint: Paint,
  io: CliIo,
): Promise<VerbResult> {
  const row = await inspectRow(dir, io);
  const history = openRun(dir).history();
  const recorded = history.ok ? openQuestions(history.checkpoint) : [];
  const all = row?.questions ?? [];
  const shown = all.filter((one) => named === undefined || one.id === named);
  if (shown.length === 0) return notAsked({ id, dir }, named, all, io);
  if (options.json === true) {
    const [question, ...more] = shown;
    const several = more.length === 0 ? {} : { questions: shown };
    io.out(`${JSON.stringify({ schema_version: 1, run_id: id, question, ...several }, null, 2)}\n`);
    return 0;
  }
  const { terminal } = io;
  const waiting: Question[] = [];
  for (const question of shown) {
    const open = recorded.find((one) => one.id === question.id);
    if (question.answer !== null || open === undefined)
      io.out(
        `${questionText(question, paint)}\n${question.answer === null ? '' : answerWords(question.answer)}`,
      );
    else if (terminal === undefined) io.out(`${askedText(question, paint, sheetOf(io))}\n`);
    else waiting.push(open);
  }
  return terminal === undefined ? 0 : askAll({ id, dir }, waiting, options, paint, { ...io, terminal });
}

const answerWords = (answer: NonNullable<OpenQuestion['answer']>): string =>
  `answered ${giverWords(answer)}: ${answer.words}\n`;

/** Asks one question after another; the last answer resumes the run. */
async function askAll(
  run: NamedRun,
  questions: readonly Question[],
  options: AnswerOptions,
  paint: Paint,
  io: CliIo & { readonly terminal: Terminal },
): Promise<VerbResult> {
  let last: AnswerReport | undefined;
  for (const [at, question] of questions.entries()) {
    const given = await asked(run.dir, question, options, io);
    if (typeof given === 'number') {
      if (last === undefined || options.resume === false) return given;
      // What was answered before counts.
      const resumed = await resumeAnswered(run.dir, last.question, {
        ...{ ...io, db: databaseUrlOf(options, io) },
        start: startOf(options, io),
      });
      return print({ ...last, ...resumed }, run, options, paint, io);
    }
    const done = await answered(run, given, options, at === questions.length - 1, io);
    if ('problems' in done) return done;
    last = done;
    if (at < questions.length - 1) io.out(`${givenText(done, paint)}\n`);
  }
  return last === undefined ? 0 : print(last, run, options, paint, io);
}

function notAsked(
  { id, dir }: NamedRun,
  named: string | undefined,
  open: RunRow['questions'],
  io: CliIo,
): Refusal {
  const what = open.length === 0 ? `run ${id} asks no question` : `run ${id} does not ask ${named}`;
  const fix =
    open.length === 0
      ? `factory show ${namedRun(dir, io.cwd)} says what it does`
      : `its open ${open.length === 1 ? 'question is' : 'questions are'} ${open.map((one) => one.id).join(', ')}`;
  return refused('answer-question', what, fix);
}

/** Asks on the terminal until there is an answer, there or from elsewhere. */
async function asked(
  dir: string,
  question: Question,
  options: AnswerOptions,
  io: CliIo & { readonly terminal: Terminal },
) {
  const { terminal } = io;
  const { askOnTerminal } = await import('./ask.ts');
  const signal = io.signal();
  const over = new AbortController();
  const stop = io.every(lookMs, () => {
    if (answerTo(dir, question) !== undefined) over.abort();
  });
  const colour = paints(io, io.errIsTerminal, options.color);
  const within = AbortSignal.any([signal, over.signal]);
  const given = await askOnTerminal(question, terminal, { io, colour, signal: within }).finally(stop);
  // The question that was shown, not one that the run asks by now.
  if (given !== undefined) return { from: 'terminal' as const, question: question.id, ...given };
  const first = answerTo(dir, question);
  if (first !== undefined) io.err(`answered ${giverWords(first)} at ${first.at}\n`);
  else
    io.err(`not answered; ask again: ${io.called?.program ?? 'factory'} answer ${namedRun(dir, io.cwd)}\n`);
  return signal.aborted ? 130 : 1;
}

const givenText = ({ question, given }: AnswerReport, paint: Paint): string =>
  `${paint.green('✓')} ${question} answered ${giverWords(given)}: ${paint.bold(given.words)}`;

function answeredText(report: AnswerReport, attach: string, paint: Paint): string {
  const { resumed, why, pid, next, run_id } = report;
  const head = givenText(report, paint);
  switch (resumed) {
    case 'waiting':
      return `${head}\nthe process that waits for it resumes run ${run_id}`;
    case 'background':
      return `${head}\nrun ${run_id} continues in the background (process ${pid})\n  attach  ${attach}`;
    case 'queued':
      return `${head}\nrun ${run_id} is due in the queue: a worker resumes it\n  queue   ${next}`;
    case 'no':
      return `${head}\nthe answer is kept; the run is not resumed${why === '' ? '' : `: ${why}`}\n  resume  ${next}`;
  }
}
