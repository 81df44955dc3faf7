/** A queue with something in every state, for views and metrics. */
import { needsPerson } from '../../src/core/needs-person.ts';
import type { QueueJobRow, QueueReport } from '../../src/core/records/queue-report.ts';

const minute = 60_000;

/** What a queue would answer at `now`. */
export function madeQueue(now: number): QueueReport {
  const at = (minutes: number) => new Date(now + minutes * minute).toISOString();
  const worker = 'build-1~4711~88123';
  const job = (n: number, more: Partial<QueueJobRow>): QueueJobRow => ({
    ...{ run_id: `01M8${String(n).padStart(4, '0')}ABCDEFGHJKMNPQRS`, title: `Spec ${n}` },
    ...{ state: 'waiting' as const, reason: null, why: '', priority: 0, labels: [] },
    ...{ submitted_at: at(-90), submitted_by: 'ada-lovelace', due_at: null, waited_ms: null, after: null },
    ...{ worker: null, since: null, taken_over: 0, next: '' },
    ...{ status: null, has_run: n < 12 },
    ...more,
  });
  const jobs = [
    job(3, {
      ...{ title: 'parser', state: 'running', labels: ['docs'], worker, since: at(-31), taken_over: 1 },
      status: 'running',
    }),
    job(40, {
      ...{ title: 'invoice export', priority: 5, waited_ms: 12 * minute },
      why: 'all 2 slots are taken',
    }),
    job(41, {
      ...{ title: 'thumbnails', labels: ['gpu'], waited_ms: 40 * minute },
      why: 'no worker takes the label "gpu"',
    }),
    job(1, {
      ...{ title: 'link checker', state: 'later', reason: 'quota', due_at: at(60), status: 'paused_quota' },
      why: 'quota until 23:00',
    }),
    job(42, {
      title: 'nightly report',
      state: 'later',
      reason: 'not_before',
      due_at: at(240),
      why: 'submitted for this time',
    }),
    job(9, {
      ...{ title: 'note', state: 'later', reason: 'question', status: 'paused_answer', due_at: at(1440) },
      ...{ why: 'waits for an answer: Publish?', next: 'factory answer 01M80009ABCDEFGHJKMNPQRS ask@1' },
    }),
    job(8, {
      ...{ title: 'release', state: 'held', reason: 'question', status: 'paused_answer' },
      ...{ why: 'Ship it?', next: 'factory answer 01M80008ABCDEFGHJKMNPQRS gate@2' },
    }),
    job(2, {
      ...{ title: 'importer', state: 'held', reason: 'attention', status: 'crashed' },
      ...{ why: 'crashed twice in verify@2', next: 'factory queue move 01M80002ABCDEFGHJKMNPQRS --now' },
    }),
    job(43, {
      ...{ title: 'second part', state: 'held', reason: 'after', after: '01M80040ABCDEFGHJKMNPQRS' },
      why: 'in order behind 01M80040ABCDEFGHJKMNPQRS (invoice export)',
    }),
    job(44, {
      ...{ title: 'old layout', state: 'held', reason: 'person', why: 'held by ada' },
      next: 'factory queue move 01M80044ABCDEFGHJKMNPQRS --now',
    }),
  ] satisfies QueueJobRow[];
  return {
    ...{ schema_version: 1, at: at(0), runs_dir: '/home/ada/project/.factory/runs', place: 'folder', jobs },
    counts: {
      ...{ running: 1, waiting: 2, later: 3, held: 4 },
      needs_person: jobs.filter(needsPerson).length,
      needs_person_later: 1,
    },
    workers: [
      {
        ...{ name: worker, host: 'build-1', pid: 4711, state: 'alive', since: at(-600), version: '0.1.0' },
        ...{ slots: 2, busy: 2, engine_starts: 14, take_overs: 1, labels: null, draining: false },
        ...{
          refuses: '',
          leaves: [{ run_id: '01M80041ABCDEFGHJKMNPQRS', why: 'it has not the holdout key' }],
        },
      },
      {
        ...{ name: 'build-2~812~5512', host: 'build-2', pid: 812, state: 'alive', since: at(-60) },
        ...{ version: '0.1.0', slots: 1, busy: 0, engine_starts: 3, take_overs: 0, labels: ['docs'] },
        ...{ draining: true, refuses: '', leaves: [] },
      },
      {
        ...{ name: 'build-3~99~1204', host: 'build-3', pid: 99, state: 'dead', since: at(-900) },
        ...{ version: '0.1.0', slots: 2, busy: 1, engine_starts: 7, take_overs: 0, labels: null },
        ...{ draining: false, refuses: '', leaves: [] },
      },
    ],
    schedules: [
      {
        ...{ name: 'nightly', cron: '0 2 * * *', zone: 'Europe/Berlin', command: 'specs/report.md' },
        ...{
          next: at(180),
          last: at(-1260),
          last_run: '01M80004ABCDEFGHJKMNPQRS',
          paused: false,
          problem: '',
        },
        last_run: 'nightly-20261128T010000Z',
      },
      {
        ...{ name: 'weekly', cron: '0 6 * * 1', zone: 'UTC', command: 'specs/audit.md' },
        ...{ next: null, last: null, last_run: null, paused: true, problem: '' },
      },
    ],
    holds: [
      {
        id: '0123456789abcdef',
        ...{ agent: 'openai', endpoint: 'https://api.openai.com/v1', model: 'gpt-5.2' },
        ...{ until: at(60), since: at(-5), runs: ['01M80001ABCDEFGHJKMNPQRS'] },
      },
    ],
    caps: [
      {
        ...{ label: null, measure: 'cost_usd', limit: 50, spent: 31.4, reserved: 2.1, rest: 16.5 },
        ...{ resets_at: at(120), stops: [] },
      },
      {
        ...{
          label: 'docs',
          measure: 'tokens',
          limit: 2_000_000,
          spent: 1_990_000,
          reserved: 0,
          rest: 10_000,
        },
        ...{ resets_at: at(120), stops: ['01M80042ABCDEFGHJKMNPQRS'] },
      },
      {
        ...{ label: 'gpu', measure: 'runs', limit: 1, spent: 0, reserved: 0, rest: 1 },
        ...{ resets_at: null, stops: [] },
      },
    ],
  };
}
