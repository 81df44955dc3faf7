/** Waits until the question of a suspended run is answered: by a file that any process links, by the host of this process, or by its
 *  deadline. */
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

/** Waits for the answer to the open question of the run. True where a resume can continue, with an answer or past the deadline;
 *  false where this process does not wait (any longer): after a signal, and without `waits` once the host's person has not answered. */
export async function awaitAnswer(
  reader: RunReader,
  waits: boolean,
  host: Pick<Host, 'ask' | 'clock' | 'env' | 'signal' | 'log'>,
): Promise<boolean> {
  const history = reader.history();
  const question = history.ok ? history.checkpoint.question : undefined;
  if (question === undefined || host.signal.aborted) return false;
  const over = new AbortController();
  const signal = AbortSignal.any([host.signal, over.signal]);
  try {
    return await Promise.race([
      fileThere(reader.dir, question, signal),
      deadlinePassed(question, host, signal),
      aborted(host.signal),
      ...(host.ask === undefined ? [] : [personAnswers(reader, question, waits, host, signal)]),
    ]);
  } finally {
    over.abort();
  }
}

/** Settles when the file is there; never after the signal. */
function fileThere(runDir: string, question: Question, signal: AbortSignal): Promise<boolean> {
  return new Promise((answered) => {
    const look = (): void => {
      if (answerTo(runDir, question) !== undefined) answered(true);
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

/** Asks the person at this process until the answer is taken. */
async function personAnswers(
  reader: RunReader,
  question: Question,
  waits: boolean,
  host: Pick<Host, 'ask' | 'clock' | 'env' | 'log'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const given = await host.ask?.(question, signal);
    if (signal.aborted) return false;
    if (given === undefined) break;
    const answered = await answerRun(reader.dir, { question: question.id, ...given, from: 'terminal' }, host);
    if (!('problems' in answered)) return true;
    const [problem] = answered.problems;
    host.log('warn', problem?.message ?? '', problem?.fix === undefined ? {} : { fix: problem.fix });
    if (problem?.code !== 'answer-option' && problem?.code !== 'answer-text') break;
  }
  if (!waits) return false;
  return new Promise(() => {});
}
