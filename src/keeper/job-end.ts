/** What becomes of a job that a worker has: from how its run stands, and how its engine has ended. Pure. */
import type { StartProblem } from '../app/detach.ts';
import { unreachable } from '../core/json.ts';
import type { PausedWord } from '../core/outcome.ts';
import { type Job, type JobReason, jobReasons } from '../core/records/job.ts';

/** How a run stands, as far as its job depends on it. */
export type RunStanding =
  /** There is no run directory. */
  | { readonly kind: 'absent' }
  /** A process executes it; `why` says which. */
  | { readonly kind: 'owned'; readonly here: boolean; readonly why: string }
  /** A resume would change nothing; `whole`: all its records are written. */
  | { readonly kind: 'ended'; readonly status: string; readonly whole: boolean }
  | {
      readonly kind: 'suspended';
      readonly status: PausedWord;
      readonly reason: string;
      /** RFC 3339; undefined where waiting does not help. */
      readonly dueAt: string | undefined;
      /** One of its questions is answered. */
      readonly answered: boolean;
    }
  /** `by`: who asked for it, if anyone did. */
  | { readonly kind: 'interrupted'; readonly by: 'person' | 'drain' | undefined }
  /** `execution`: what was at work, `NODE@VISIT`. */
  | { readonly kind: 'crashed'; readonly execution: string }
  | { readonly kind: 'unreadable'; readonly why: string };

/** How a look at a pull request ends: nothing is to be done for a while, the pull request is over, or a person is needed. */
export const lookEnds = ['sleeps', 'merged', 'closed', 'person'] as const;

/** Since when the worker looks after the job: it was due, a dead worker has left it, or an engine has ended under this worker. */
export type JobMoment =
  | { readonly at: 'claim' }
  | { readonly at: 'take_over' }
  /** `how`: of the process, for people; unknown of one that this worker did not start. */
  | { readonly at: 'end'; readonly how: string; readonly code?: number }
  /** Of a job that follows a pull request: `next` is the time of the next look. */
  | {
      readonly at: 'look';
      readonly what: (typeof lookEnds)[number];
      readonly why: string;
      readonly next: string | null;
    }
  /** An engine refused to begin. */
  | {
      readonly at: 'refusal';
      readonly verb: 'run' | 'resume';
      readonly code: number;
      readonly problem: StartProblem;
    };

export type JobStep =
  /** `early`: before the time that its run waits for. */
  | { readonly do: 'start'; readonly verb: 'run' | 'resume'; readonly early: boolean }
  /** Until the process that has the run ends. */
  | { readonly do: 'watch'; readonly why: string }
  | { readonly do: 'finish'; readonly status: string }
  /** `attention`: a person is to be notified, since no engine does. */
  | {
      readonly do: 'put';
      readonly job: Job;
      readonly target: 'now' | { readonly dueAt: string } | 'held';
      readonly attention: boolean;
    };

export type JobFacts = {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long to wait before this run is started again: it was started in vain. */
  readonly waitMs: number;
};

/** Milliseconds after which a run is asked for again that an engine on another host has: a dead one is silent for no longer. */
const elsewhereMs = 15_000;
/** Milliseconds after which a run is tried again whose disk was full. */
const fullDiskMs = 600_000;
/** Crashes at one execution after which a person is needed. */
const mostCrashes = 2;

export function nextOfJob(job: Job, run: RunStanding, moment: JobMoment, facts: JobFacts): JobStep {
  const begins = moment.at === 'claim' || moment.at === 'take_over';
  if (job.request.follow !== undefined) return begins ? start('run') : nextLook(job, moment, facts);
  switch (run.kind) {
    case 'owned':
      if (run.here) return { do: 'watch', why: run.why };
      return put(job, later(facts.now + elsewhereMs), because('elsewhere', run.why, facts));
    case 'absent':
      return begins ? start('run') : withoutRun(job, moment, facts);
    case 'ended':
      if (run.whole) return { do: 'finish', status: run.status };
      if (begins) return start('resume');
      return refusedStart(job, moment, facts) ?? again(job, 'its last records are not written', facts);
    case 'suspended':
      if (moment.at === 'claim') return start('resume', isEarly(job, run, facts));
      return refusedStart(job, moment, facts) ?? suspended(job, run, facts);
    case 'interrupted':
      if (moment.at === 'claim') return start('resume');
      return refusedStart(job, moment, facts) ?? interrupted(job, run, moment, facts);
    case 'crashed':
      if (begins) return start('resume');
      return refusedStart(job, moment, facts) ?? crashed(job, run.execution, moment, facts);
    case 'unreadable':
      return needsPerson(job, run.why, facts);
    default:
      return unreachable(run);
  }
}

/** Milliseconds after which a look is repeated that GitHub, or this machine, did not let end. */
const lookAgainMs = 300_000;

function nextLook(job: Job, moment: JobMoment, facts: JobFacts): JobStep {
  if (moment.at === 'look') {
    const { what, why, next } = moment;
    if (what === 'merged' || what === 'closed') return { do: 'finish', status: what };
    if (what === 'person') return needsPerson(job, why, facts);
    const due = Math.max(Date.parse(next ?? '') || 0, facts.now + 1000);
    const { crash: _, ...calm } = job;
    return put(calm, later(due), because('wait', why, facts));
  }
  if (moment.at !== 'refusal') return crashed(job, '', moment, facts);
  const { code, problem } = moment;
  if (code === interruptedCode) return put(job, 'now', undefined);
  return code === suspendedCode
    ? put(job, later(facts.now + lookAgainMs), because('outage', problem.message, facts))
    : needsPerson(job, wordsOf(problem), facts);
}

const start = (verb: 'run' | 'resume', early = false): JobStep => ({ do: 'start', verb, early });

/** A person has moved a job whose run waits for a time: a job that became due by itself keeps its reason. */
const isEarly = (job: Job, run: RunStanding & { kind: 'suspended' }, { now }: JobFacts): boolean =>
  job.reason === undefined && run.dueAt !== undefined && Date.parse(run.dueAt) > now && !run.answered;

/** The run directory is missing after a start. */
function withoutRun(job: Job, moment: JobMoment, facts: JobFacts): JobStep {
  if (moment.at !== 'refusal') return crashed(job, '', moment, facts);
  const { code, problem } = moment;
  if (code === interruptedCode) return again(job, 'its start was interrupted', facts);
  if (code === suspendedCode)
    return put(job, later(facts.now + fullDiskMs), because('disk', problem.message, facts));
  return needsPerson(job, wordsOf(problem), facts);
}

const suspendedCode = 75;
const interruptedCode = 130;

/** Problems of a start that say only that another process was faster. */
const passing: readonly string[] = ['run-locked', 'run-taken'];

/** A start that was refused although its run is there would be refused again; undefined where its run says what to do. */
function refusedStart(job: Job, moment: JobMoment, facts: JobFacts): JobStep | undefined {
  if (moment.at !== 'refusal' || moment.code === suspendedCode || moment.code === interruptedCode)
    return undefined;
  const { verb, problem } = moment;
  // Another process has made the run meanwhile.
  if (verb === 'run' || passing.includes(problem.code)) return again(job, problem.message, facts);
  return needsPerson(job, wordsOf(problem), facts);
}

const wordsOf = ({ message, fix }: StartProblem): string => (fix === '' ? message : `${message}; ${fix}`);

function interrupted(
  job: Job,
  { by }: RunStanding & { kind: 'interrupted' },
  moment: JobMoment,
  facts: JobFacts,
): JobStep {
  if (by === 'person') return put(job, 'held', because('stopped', 'a person stopped it', facts));
  if (moment.at === 'take_over') return start('resume');
  return by === 'drain' ? put(job, 'now', undefined) : again(job, 'it was interrupted', facts);
}

function suspended(job: Job, run: RunStanding & { kind: 'suspended' }, facts: JobFacts): JobStep {
  const { status, reason, dueAt, answered } = run;
  // A quota without a time was not enough at many resets.
  const kind = status === 'paused_quota' && dueAt === undefined ? 'attention' : reasonOf(status);
  if (answered) return again(job, reason, facts);
  const why = because(kind, reason, facts);
  if (status === 'paused_disk') return put(job, later(facts.now + fullDiskMs), why);
  if (dueAt === undefined) return put(job, 'held', why);
  const due = Math.max(Date.parse(dueAt), facts.now + facts.waitMs);
  return put(job, due > facts.now ? later(due) : 'now', why);
}

/** The reason of a job whose run is suspended. */
function reasonOf(status: PausedWord): JobReason {
  const word = status === 'paused_answer' ? 'question' : status.replace('paused_', '');
  return jobReasons.find((one) => one === word) ?? 'attention';
}

function crashed(job: Job, execution: string, moment: JobMoment, facts: JobFacts): JobStep {
  const { crash, ...rest } = job;
  // A full disk keeps a run from recording that it is suspended.
  if ('code' in moment && moment.code === suspendedCode)
    return put(job, later(facts.now + fullDiskMs), because('disk', 'a disk is full', facts));
  if (moment.at === 'refusal') return again(job, moment.problem.message, facts);
  const times = crash?.execution === execution ? crash.times + 1 : 1;
  const how = moment.at === 'end' ? ` (${moment.how})` : '';
  const where = execution === '' ? 'before its run began' : `at ${execution}`;
  if (times >= mostCrashes)
    return needsPerson(rest, `its engine crashed ${times} times ${where}${how}`, facts);
  return again({ ...job, crash: { execution, times } }, `its engine crashed ${where}${how}`, facts);
}

/** Due at once; after starts in vain, later. */
function again(job: Job, text: string, facts: JobFacts): JobStep {
  if (facts.waitMs === 0) return put(job, 'now', undefined);
  return put(job, later(facts.now + facts.waitMs), because('crash', text, facts));
}

const needsPerson = (job: Job, text: string, facts: JobFacts): JobStep => ({
  ...put(job, 'held', because('attention', text, facts)),
  attention: true,
});

type Put = Extract<JobStep, { do: 'put' }>;

function put({ reason: _, ...job }: Job, target: Put['target'], reason: Job['reason'] | undefined): Put {
  const until = typeof target === 'object' ? { until: target.dueAt } : {};
  const why = reason === undefined ? {} : { reason: { ...reason, ...until } };
  return { do: 'put', job: { ...job, ...why }, target, attention: false };
}

const later = (at: number) => ({ dueAt: new Date(at).toISOString() });

const because = (kind: JobReason, text: string, { now }: JobFacts): Job['reason'] & {} => ({
  kind,
  text,
  at: new Date(now).toISOString(),
});

/** Milliseconds to wait after so many starts in a row that brought the run no further: nothing after the first. */
export const waitAfterStarts = (inVain: number): number =>
  inVain < 2 ? 0 : Math.min(1000 * 2 ** (inVain - 2), 300_000);
