import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Job } from '../../src/core/records/job.ts';
import {
  type JobMoment,
  type JobStep,
  nextOfJob,
  type RunStanding,
  waitAfterStarts,
} from '../../src/keeper/job-end.ts';

const now = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const job: Job = {
  schema_version: 1,
  run_id: 'r1',
  title: 'r1',
  priority: 0,
  submitted_at: at(-60),
  submitted_by: 'ada',
  labels: [],
  request: { cwd: '/w', run: ['p.dot'], resume: [] },
};
const suspended = (
  status: (RunStanding & { kind: 'suspended' })['status'],
  dueAt?: string,
  answered = false,
): RunStanding => ({ kind: 'suspended', status, reason: 'why', dueAt, answered });
const ended: JobMoment = { at: 'end', how: 'exit code 1', code: 1 };
const killed: JobMoment = { at: 'end', how: 'signal SIGKILL' };
const refusal = (code: string, exit = 2, verb: 'run' | 'resume' = 'resume'): JobMoment => ({
  at: 'refusal',
  verb,
  code: exit,
  problem: { code, message: 'no', fix: '' },
});
const crashed: RunStanding = { kind: 'crashed', execution: 'a@1' };
const whole = (status: string): RunStanding => ({ kind: 'ended', status, whole: true });

/** The step in a word or two. */
const wordsOf = (step: JobStep): string => {
  if (step.do === 'start') return `${step.verb}${step.early ? ' --now' : ''}`;
  if (step.do !== 'put') return step.do;
  const to =
    typeof step.target === 'object' ? `later ${(Date.parse(step.target.dueAt) - now) / 1000}` : step.target;
  return [to, step.job.reason?.kind, step.attention ? 'notify' : undefined]
    .filter((word) => word !== undefined)
    .join(' ');
};
const next = (run: RunStanding, moment: JobMoment, waitMs = 0, of: Job = job) =>
  nextOfJob(of, run, moment, { now, waitMs });

const rows: readonly (readonly [string, RunStanding, JobMoment, string])[] = [
  ['a new run begins', { kind: 'absent' }, { at: 'claim' }, 'run'],
  ['a run that another worker began is resumed', crashed, { at: 'claim' }, 'resume'],
  [
    'a run that a person stopped and released is resumed',
    { kind: 'interrupted', by: 'person' },
    { at: 'claim' },
    'resume',
  ],
  ['a suspended run that is due is resumed', suspended('paused_quota', at(-1)), { at: 'claim' }, 'resume'],
  [
    'a suspended run that a person moved is resumed before its time',
    suspended('paused_quota', at(9)),
    { at: 'claim' },
    'resume --now',
  ],
  [
    'a run of another process on this host is watched',
    { kind: 'owned', here: true, why: '' },
    { at: 'claim' },
    'watch',
  ],
  [
    'a run of another host is asked for again',
    { kind: 'owned', here: false, why: '' },
    { at: 'claim' },
    'later 15 elsewhere',
  ],
  ['a run that has ended leaves the queue', whole('failed'), { at: 'claim' }, 'finish'],
  [
    'a run that was killed after its end is completed',
    { kind: 'ended', status: 'completed', whole: false },
    { at: 'take_over' },
    'resume',
  ],
  ['the engine of a dead worker that crashed is started again', crashed, { at: 'take_over' }, 'resume'],
  ['a dead worker that never began a run is replaced', { kind: 'absent' }, { at: 'take_over' }, 'run'],
  [
    'a dead worker leaves a stopped run held',
    { kind: 'interrupted', by: 'person' },
    { at: 'take_over' },
    'held stopped',
  ],
  ['a dead worker leaves a drained run', { kind: 'interrupted', by: 'drain' }, { at: 'take_over' }, 'resume'],
  [
    'a dead worker leaves a suspended run asleep',
    suspended('paused_quota', at(9)),
    { at: 'take_over' },
    'later 9 quota',
  ],
  ['a completed run leaves the queue', whole('completed'), ended, 'finish'],
  ['a quota puts the job to sleep', suspended('paused_quota', at(9)), ended, 'later 9 quota'],
  ['an outage puts the job to sleep', suspended('paused_outage', at(9)), ended, 'later 9 outage'],
  ['a node that waits puts the job to sleep', suspended('paused_wait', at(9)), ended, 'later 9 wait'],
  ['a time that is over makes the job due', suspended('paused_wait', at(-9)), ended, 'now wait'],
  ['a quota without a time holds the job', suspended('paused_quota'), ended, 'held attention'],
  ['a question holds the job', suspended('paused_answer'), ended, 'held question'],
  [
    'a question with a deadline wakes the job then',
    suspended('paused_answer', at(9)),
    ended,
    'later 9 question',
  ],
  ['an answered question makes the job due', suspended('paused_answer', at(9), true), ended, 'now'],
  ['a refused key holds the job', suspended('paused_auth'), ended, 'held attention'],
  ['a bill holds the job', suspended('paused_billing'), ended, 'held attention'],
  ['a full disk is tried again in ten minutes', suspended('paused_disk'), ended, 'later 600 disk'],
  [
    'a full disk that left no room for a record, too',
    crashed,
    { at: 'end', how: 'exit code 75', code: 75 },
    'later 600 disk',
  ],
  [
    'a full disk before the run began, too',
    { kind: 'absent' },
    refusal('system', 75, 'run'),
    'later 600 disk',
  ],
  ['a person who stops a run holds its job', { kind: 'interrupted', by: 'person' }, ended, 'held stopped'],
  ['a drain puts the job back', { kind: 'interrupted', by: 'drain' }, ended, 'now'],
  ['a signal from anywhere puts the job back', { kind: 'interrupted', by: undefined }, ended, 'now'],
  ['a first crash is resumed', crashed, killed, 'now'],
  ['a first crash before the run began is tried again', { kind: 'absent' }, killed, 'now'],
  [
    'a refused run needs a person',
    { kind: 'absent' },
    refusal('exit-reachable', 2, 'run'),
    'held attention notify',
  ],
  [
    'a refused resume needs a person',
    suspended('paused_quota', at(-9)),
    refusal('resume-pipeline'),
    'held attention notify',
  ],
  ['a run that another process made first is looked at again', crashed, refusal('usage', 2, 'run'), 'now'],
  ['a lock that was just released is tried again', crashed, refusal('run-locked'), 'now'],
  ['a lock on this host is watched', { kind: 'owned', here: true, why: '' }, refusal('run-locked'), 'watch'],
  [
    'a lock on another host is asked for again',
    { kind: 'owned', here: false, why: '' },
    refusal('run-locked'),
    'later 15 elsewhere',
  ],
  [
    'a time that has not come is no refusal',
    suspended('paused_wait', at(9)),
    refusal('', 75),
    'later 9 wait',
  ],
  [
    'a damaged run needs a person',
    { kind: 'unreadable', why: 'damaged' },
    { at: 'claim' },
    'held attention notify',
  ],
];

test.for(rows)('%s', ([, run, moment, expected]) => {
  expect(wordsOf(next(run, moment))).toBe(expected);
});

test('the second crash at one execution needs a person, one at another execution does not', () => {
  const first = next(crashed, killed);
  if (first.do !== 'put') throw new Error(first.do);
  expect(first.job.crash).toEqual({ execution: 'a@1', times: 1 });
  expect(wordsOf(next({ kind: 'crashed', execution: 'b@1' }, killed, 0, first.job))).toBe('now');
  const second = next(crashed, killed, 0, first.job);
  expect(wordsOf(second)).toBe('held attention notify');
  expect(second).toMatchObject({
    job: { reason: { text: 'its engine crashed 2 times at a@1 (signal SIGKILL)' } },
  });
  // A person who releases it gives it two more.
  expect(second).not.toHaveProperty('job.crash');
});

test('a job that became due by itself is not resumed before its time', () => {
  const reason = { kind: 'quota', text: 'why', at: at(-60) } as const;
  expect(wordsOf(next(suspended('paused_quota', at(9)), { at: 'claim' }, 0, { ...job, reason }))).toBe(
    'resume',
  );
});

test('a run that was started in vain waits longer each time, also past its own time', () => {
  expect([0, 1, 2, 3, 4, 20].map(waitAfterStarts)).toEqual([0, 0, 1000, 2000, 4000, 300_000]);
  expect(wordsOf(next(crashed, refusal('run-locked'), 4000))).toBe('later 4 crash');
  expect(wordsOf(next({ kind: 'interrupted', by: undefined }, ended, 4000))).toBe('later 4 crash');
  expect(wordsOf(next({ kind: 'interrupted', by: 'drain' }, ended, 4000))).toBe('now');
  expect(wordsOf(next(suspended('paused_quota', at(-9)), ended, 4000))).toBe('later 4 quota');
  expect(wordsOf(next(suspended('paused_quota', at(9)), ended, 4000))).toBe('later 9 quota');
});

test('only a run that has ended leaves the queue, and only a person releases what is held', () => {
  const standing = fc.constantFrom(...rows.map(([, run]) => run));
  const moment = fc.constantFrom(...rows.map(([, , one]) => one));
  fc.assert(
    fc.property(standing, moment, fc.nat(), (run, one, waitMs) => {
      const step = next(run, one, waitMs);
      if (step.do === 'finish') expect(run).toMatchObject({ kind: 'ended', whole: true });
      if (step.do === 'put' && step.target === 'held') expect(step.job.reason).toBeDefined();
      if (step.do === 'put') expect(step.job).toMatchObject({ run_id: 'r1', request: job.request });
    }),
  );
});

test.for([
  ['is due', { at: 'claim' }, 'run'],
  ['was left by a dead worker', { at: 'take_over' }, 'run'],
  ['sleeps', { at: 'look', what: 'sleeps', why: 'nothing', next: at(120) }, 'later 120 wait'],
  ['is merged', { at: 'look', what: 'merged', why: '', next: null }, 'finish'],
  ['is closed', { at: 'look', what: 'closed', why: '', next: null }, 'finish'],
  ['needs a person', { at: 'look', what: 'person', why: 'conflicts', next: null }, 'held attention notify'],
  ['GitHub asks to wait', refusal('github', 75, 'run'), 'later 300 outage'],
  ['was interrupted', refusal('', 130, 'run'), 'now'],
  ['the token is wrong', refusal('github', 2, 'run'), 'held attention notify'],
  ['was killed', killed, 'now'],
] as const)('a job that follows a pull request: %s', ([, moment, step]) => {
  const of: Job = { ...job, request: { ...job.request, follow: ['RUN1'] } };
  expect(wordsOf(next({ kind: 'absent' }, moment as JobMoment, 0, of))).toBe(step);
});
