/** Engines: the processes that execute the runs of a worker's jobs. They outlive it. */
import { join } from 'node:path';
import * as z from 'zod';
import { type DetachedStart, problemOfStart, problemPrinted } from '../app/detach.ts';
import { flagWords } from '../app/typed-command.ts';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import type { Job } from '../core/records/job.ts';
import { isFolder } from '../platform/files/read.ts';
import { systemWords } from '../platform/files/write.ts';
import { type JobMoment, type JobStep, lookEnds } from './job-end.ts';

type Start = Extract<JobStep, { do: 'start' }>;

export type EngineHost = {
  readonly runsDir: string;
  /** Passed to engines whose request names no target. */
  readonly notify: string | undefined;
  /** Runs `factory …argv` in the background. */
  readonly start: (
    argv: readonly string[],
    options: {
      readonly cwd: string;
      readonly signal: AbortSignal;
      /** It executes no node, and asks the queue that this worker has. */
      readonly asksQueue: boolean;
    },
  ) => Promise<DetachedStart>;
};

/** `started` settles when the engine has begun the run; undefined: it has ended before. `end` settles with its end. */
export type Engine = { readonly started: Promise<number | undefined>; readonly end: Promise<EngineMoment> };

/** `failed`: no engine can be started here at the moment. */
export type EngineMoment = JobMoment & { readonly failed?: true };

/** Starts the engine of a job. The signal interrupts it as long as it has not begun. */
export function startEngine(job: Job, step: Start, signal: AbortSignal, host: EngineHost): Engine {
  const { cwd } = job.request;
  if (!isFolder(cwd)) {
    const problem = {
      code: 'cwd',
      message: `the folder ${cwd} is not there`,
      fix: 'submit it again from another one',
    };
    return { started: Promise.resolve(undefined), end: Promise.resolve(refusedBy(step.verb, 2, problem)) };
  }
  const asksQueue = job.request.follow !== undefined;
  const starting = host.start(engineWords(job, step, host), { cwd, signal, asksQueue });
  return {
    started: starting.then(
      (start) => (start.kind === 'begun' ? start.pid : undefined),
      () => undefined,
    ),
    end: starting.then(
      (start) => endOfEngine(step.verb, start, signal),
      (error: unknown) => {
        const problem = {
          code: 'spawn',
          message: `its engine could not be started: ${systemWords(error)}`,
          fix: '',
        };
        return { ...refusedBy(step.verb, interrupted, problem), failed: true };
      },
    ),
  };
}

/** Exit code of a start that was interrupted: the job is due again. */
const interrupted = 130;

export function engineWords(
  { run_id: id, request }: Pick<Job, 'run_id' | 'request'>,
  { verb, early }: Start,
  { runsDir, notify }: Pick<EngineHost, 'runsDir' | 'notify'>,
): readonly string[] {
  if (request.follow !== undefined)
    return ['follow', ...request.follow, ...flagWords({ look: true, runsdir: runsDir, json: true })];
  const own = request[verb];
  const words = verb === 'run' ? ['run', ...own, `--run-id=${id}`] : ['resume', id, ...own];
  const target = hasTarget(own) ? undefined : notify;
  return [...words, ...flagWords({ runsdir: runsDir, json: true, now: early, notify: target })];
}

/** Whether the words name a target of notices. */
const hasTarget = (words: readonly string[]): boolean => words.some((word) => /^--?notify(?:=|$)/.test(word));

/** The target of notices about a job: its own, else that of the worker. */
export function noticeTargetOf(
  { request }: Pick<Job, 'request'>,
  otherwise: string | undefined,
): string | undefined {
  const { run } = request;
  const at = run.findIndex((word) => /^--?notify(?:=|$)/.test(word));
  const word = run[at];
  if (word === undefined) return otherwise;
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : run[at + 1];
}

async function endOfEngine(
  verb: Start['verb'],
  start: DetachedStart,
  cancel: AbortSignal,
): Promise<EngineMoment> {
  if (start.kind === 'begun') {
    const { code, signal } = await start.ended;
    return { at: 'end', how: howOf(code, signal), ...(signal === null ? { code } : {}) };
  }
  const { code, signal } = start;
  const look = lookPrinted(start.stdout);
  if (look !== undefined) return { at: 'look', ...look };
  // It was interrupted before it could say so.
  if (cancel.aborted && signal === 'SIGINT')
    return refusedBy(verb, interrupted, { code: '', message: 'its start was interrupted', fix: '' });
  if (signal === null && (code === 75 || code === interrupted || problemPrinted(start) !== undefined))
    return refusedBy(verb, code, { code: '', ...problemOfStart(start) });
  const how = howOf(code, signal);
  const ended = { at: 'end', how, ...(signal === null ? { code } : {}) } as const;
  // Where nothing was left to run it has printed the result.
  return start.stdout === '' ? { ...ended, failed: true } : ended;
}

const lookSchema = once(() =>
  z.object({ what: z.enum(lookEnds), why: z.string(), next: z.string().nullable() }),
);

/** What a look at a pull request has printed. */
const lookPrinted = (stdout: string) => lookSchema().safeParse(jsonIn(stdout)).data;

const refusedBy = (
  verb: Start['verb'],
  code: number,
  problem: (JobMoment & { at: 'refusal' })['problem'],
): JobMoment => ({ at: 'refusal', verb, code, problem });

const howOf = (code: number, signal: string | null): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

export const runDirOf = (runsDir: string, { run_id: id }: Pick<Job, 'run_id'>): string => join(runsDir, id);
