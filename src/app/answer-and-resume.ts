/** Answers the question of a run, and has the run resumed: by the process that waits for the answer, by a worker where the run has a
 *  job in a queue, else in the background. */
import { basename, dirname } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { openQuestions } from '../core/fork.ts';
import { livingOwners } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import { workerOf } from '../run/run-worker.ts';
import { commandFor, placeWords } from './acts.ts';
import { type AnswerRequest, answerRun } from './answer-run.ts';
import type { AnswerReport } from './answers.ts';
import { type DetachedStart, problemOfStart } from './detach.ts';
import { givenAnswerOf } from './inspect/question.ts';
import { type InspectHost, inspectRow } from './inspect/rows.ts';
import { releaseJob } from './queued-run.ts';
import { flagWords } from './typed-command.ts';

export type AnswerActHost = InspectHost & {
  readonly env: Environment;
  /** See `JobHost`. */
  readonly db?: string | undefined;
  /** Runs `factory …argv` in the background; undefined where the run is not to be resumed. */
  readonly start: ((argv: readonly string[]) => Promise<DetachedStart>) | undefined;
};

/** What `factory answer` answers with. An answer that is accepted stays also where the run cannot be resumed from here. */
export async function answerAndResume(
  dir: string,
  request: AnswerRequest,
  host: AnswerActHost,
): Promise<AnswerReport | Refusal> {
  const answered = await answerRun(dir, request, host);
  if ('problems' in answered) return answered;
  const { question, answer } = answered;
  const { choice, text, by } = request;
  const argv = ['answer', basename(dir), question.id, ...flagWords({ choice, text, by })];
  const resumed = await resumeAnswered(dir, question.id, host);
  const isQueued = resumed.resumed === 'queued';
  return {
    ...{ schema_version: 1, run_id: basename(dir), command: commandFor(dir, argv, host) },
    ...{ question: question.id, given: givenAnswerOf(answer), ...resumed },
    next: isQueued ? commandFor(dir, ['queue'], host) : ((await inspectRow(dir, host))?.next ?? ''),
  };
}

export type AnsweredResume = Pick<AnswerReport, 'resumed' | 'why' | 'pid' | 'log'>;

/** Resumes a run whose question was answered, unless a process that waits for the answer does. */
export async function resumeAnswered(
  dir: string,
  question: string,
  { cwd, clock, env, db, start }: Pick<AnswerActHost, 'cwd' | 'clock' | 'env' | 'db' | 'start'>,
): Promise<AnsweredResume> {
  const others = { why: '', pid: null, log: null };
  // A process that had the run may live on without waiting for it: one that uses the library.
  if (livingOwners(dir).length > 0 && (await isTaken(dir, question, { clock })))
    return { resumed: 'waiting', ...others };
  if (start === undefined) return { resumed: 'no', ...others };
  const job = await releaseJob(dir, { cwd, clock, env, db });
  if (job.kind === 'due') return { resumed: 'queued', ...others };
  if (job.kind === 'running') return { resumed: 'waiting', ...others };
  if (job.kind !== 'none') return { resumed: 'no', ...others, why: job.why };
  const started = await start(['resume', basename(dir), ...placeWords(dirname(dir), cwd), '--json']);
  if (started.kind === 'begun') return { resumed: 'background', why: '', pid: started.pid, log: started.log };
  // A server, or another process that has just begun to wait, may have been faster.
  if (started.code === 0 || (await isTaken(dir, question, { clock })))
    return { resumed: 'waiting', ...others };
  return { resumed: 'no', ...others, why: problemOfStart(started).message };
}

/** Milliseconds between two looks. */
const lookMs = 100;

/** Whether another process continues the run: it has it, or has taken the answer. By default waits a little longer than who waits for
 *  the answer needs to notice it. */
export async function isTaken(
  dir: string,
  question: string,
  { clock, patienceMs = 1000 }: { readonly clock: Clock; readonly patienceMs?: number },
): Promise<boolean> {
  for (const began = clock.monotonic(); ; ) {
    const history = openRun(dir).history();
    const isOpen = history.ok && openQuestions(history.checkpoint).some(({ id }) => id === question);
    if (!isOpen || workerOf(dir, clock, false).kind !== 'none') return true;
    if (clock.monotonic() - began >= patienceMs) return false;
    await clock.sleep(lookMs);
  }
}
