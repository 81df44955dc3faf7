/** Waits until a question of a suspended run is answered: by a file that any process links, by the host of this process, or by its
 *  deadline. */
import { openQuestions } from '../../core/fork.ts';
import { layout } from '../../core/records/layout.ts';
import type { Question } from '../../core/records/question.ts';
import { realEvery } from '../../platform/clock.ts';
import { watchFolder } from '../../platform/files/watch.ts';
import { answerTo } from '../../run/answer-files.ts';
import type { RunReader } from '../../run/open-run.ts';
import { answerRun } from '../answer-run.ts';
import type { Host } from '../types.ts';

/** Milliseconds between two looks for the file, where the system does not report it, and between two looks at the clock: the machine
 *  may have been asleep. */
const lookMs = { file: 250, clock: 60_000 } as const;

/** Waits for an answer to an open question of the run. True where a resume can continue, with an answer or past a deadline; false where
 *  this process does not wait (any longer): after a signal, and without `waits` once the host's person has not answered. */
export async function awaitAnswer(
  reader: RunReader,
  waits: boolean,
  host: Pick<Host, 'ask' | 'clock' | 'env' | 'signal' | 'log'>,
): Promise<boolean> {
  const history = reader.history();
  const questions = history.ok ? openQuestions(history.checkpoint) : [];
  if (questions.length === 0 || host.signal.aborted) return false;
  const over = new AbortController();
  const signal = AbortSignal.any([host.signal, over.signal]);
  try {
    return await Promise.race([
      ...questions.map((question) => deadlinePassed(question, host, signal)),
      aborted(host.signal),
      host.ask === undefined
        ? oneThere(reader.dir, questions, signal)
        : personAnswers(reader, questions, waits, host, signal),
    ]);
  } finally {
    over.abort();
  }
}

/** Settles when the file of an answer is there; never after the signal. */
function oneThere(runDir: string, questions: readonly Question[], signal: AbortSignal): Promise<boolean> {
  return new Promise((answered) => {
    const look = (): void => {
      if (questions.some((question) => answerTo(runDir, question) !== undefined)) answered(true);
    };
    const ends = [realEvery(lookMs.file, look), watchFolder(layout(runDir).answers, look)];
    signal.addEventListener(
      'abort',
      () => {
        for (const end of ends) end?.();
      },
      { once: true },
    );
    look();
  });
}

async function deadlinePassed(
  { deadline }: Question,
  { clock }: Pick<Host, 'clock'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const left = deadline === null ? lookMs.clock : Date.parse(deadline) - clock.now().getTime();
    if (left <= 0) return true;
    // Also without a deadline: it keeps the process alive.
    await clock.sleep(Math.min(left, lookMs.clock), signal);
    if (signal.aborted) return false;
  }
}

const aborted = (signal: AbortSignal): Promise<boolean> =>
  new Promise((over) => signal.addEventListener('abort', () => over(false), { once: true }));

/** Asks the person at this process one question after another; one that is answered elsewhere meanwhile is left. */
async function personAnswers(
  reader: RunReader,
  questions: readonly Question[],
  waits: boolean,
  host: Pick<Host, 'ask' | 'clock' | 'env' | 'log'>,
  signal: AbortSignal,
): Promise<boolean> {
  let isAnswered = false;
  for (const question of questions) {
    const over = new AbortController();
    const within = AbortSignal.any([signal, over.signal]);
    const there = oneThere(reader.dir, [question], within);
    isAnswered = (await Promise.race([there, askedUntil(reader, question, host, within)])) || isAnswered;
    over.abort();
    if (signal.aborted) return false;
  }
  if (isAnswered) return true;
  return waits ? oneThere(reader.dir, questions, signal) : false;
}

/** Asks until the answer is taken; false where the person gives none. */
async function askedUntil(
  reader: RunReader,
  question: Question,
  host: Pick<Host, 'ask' | 'clock' | 'env' | 'log'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const given = await host.ask?.(question, signal);
    if (signal.aborted || given === undefined) return false;
    const answered = await answerRun(reader.dir, { question: question.id, ...given, from: 'terminal' }, host);
    if (!('problems' in answered)) return true;
    const [problem] = answered.problems;
    host.log('warn', problem?.message ?? '', problem?.fix === undefined ? {} : { fix: problem.fix });
    if (problem?.code !== 'answer-option' && problem?.code !== 'answer-text') return false;
  }
}
