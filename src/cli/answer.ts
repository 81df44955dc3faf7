/** `factory answer`: shows the question that a run asks, and answers it. */
import { thisUser } from '../app/acts.ts';
import { answerAndResume } from '../app/answer-and-resume.ts';
import type { AnswerReport } from '../app/answers.ts';
import { startDetached } from '../app/detach.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import type { RunRow } from '../app/inspect/shapes.ts';
import { flagWords } from '../app/typed-command.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { giverWords } from '../core/question-words.ts';
import type { Question } from '../core/records/question.ts';
import { answerTo } from '../run/answer-files.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import { type CliIo, paints, type Terminal } from './io.ts';
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
  const given =
    options.choice !== undefined || options.text !== undefined
      ? { from: 'command' as const, question, choice: options.choice, text: options.text }
      : await askedFor(found, question, options, paint, io);
  if (typeof given === 'number' || 'problems' in given) return given;
  const by = options.by ?? thisUser();
  const { cwd, env } = io;
  const start =
    options.resume === false
      ? undefined
      : (argv: readonly string[]) =>
          startDetached([...argv, ...flagWords({ notify: options.notify })], { cwd, env });
  const done = await answerAndResume(found.dir, { by, ...given }, { ...io, start });
  if ('problems' in done) return done;
  const attach = `${io.called?.program ?? 'factory'} attach ${namedRun(found.dir, io.cwd)}`;
  io.out(
    options.json === true ? `${JSON.stringify(done, null, 2)}\n` : `${answeredText(done, attach, paint)}\n`,
  );
  return 0;
}

/** Shows the question; on a terminal it asks. Answers with an exit code where nothing is to be done. */
async function askedFor(
  { id, dir }: NamedRun,
  named: string | undefined,
  options: AnswerOptions,
  paint: Paint,
  io: CliIo,
) {
  const row = await inspectRow(dir, io);
  const history = openRun(dir).history();
  const recorded = history.ok ? history.checkpoint.question : undefined;
  const question = row?.question ?? null;
  const { terminal } = io;
  if (question === null || recorded === undefined || (named !== undefined && named !== question.id))
    return notAsked({ id, dir }, named, question, io);
  if (options.json === true)
    io.out(`${JSON.stringify({ schema_version: 1, run_id: id, question }, null, 2)}\n`);
  else if (question.answer !== null)
    io.out(
      `${questionText(question, paint)}\nanswered ${giverWords(question.answer)}: ${question.answer.words}\n`,
    );
  else if (terminal !== undefined) return asked(dir, recorded, options, { ...io, terminal });
  else io.out(`${askedText(question, paint)}\n`);
  return 0;
}

function notAsked(
  { id, dir }: NamedRun,
  named: string | undefined,
  open: RunRow['question'],
  io: CliIo,
): Refusal {
  const what = open === null ? `run ${id} asks no question` : `run ${id} does not ask ${named}`;
  const fix =
    open === null
      ? `factory show ${namedRun(dir, io.cwd)} says what it does`
      : `its open question is ${open.id}`;
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

function answeredText(
  { question, given, resumed, why, pid, next, run_id }: AnswerReport,
  attach: string,
  paint: Paint,
): string {
  const head = `${paint.green('✓')} ${question} answered ${giverWords(given)}: ${paint.bold(given.words)}`;
  switch (resumed) {
    case 'waiting':
      return `${head}\nthe process that waits for it resumes run ${run_id}`;
    case 'background':
      return `${head}\nrun ${run_id} continues in the background (process ${pid})\n  attach  ${attach}`;
    case 'no':
      return `${head}\nthe answer is kept; the run is not resumed${why === '' ? '' : `: ${why}`}\n  resume  ${next}`;
  }
}
