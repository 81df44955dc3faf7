/** The queue as the page shows it: sections, times and bars. */

import type { ShownState } from '../../../app/inspect/states.ts';
import { localTime, usdWords } from '../../../core/amounts.ts';
import { needsPerson } from '../../../core/needs-person.ts';
import type {
  QueueCapRow,
  QueueJobRow,
  QueueReport,
  QueueWorkerRow,
} from '../../../core/records/queue-report.ts';
import { agoText, durationText, tokensText } from './format.ts';

export interface JobSection {
  readonly title: string;
  readonly jobs: readonly QueueJobRow[];
  /** Of all its jobs: a long section shows the first ones. */
  readonly count: number;
}

/** Jobs under their headings, those that need a person first. Empty sections are left out. */
export function jobSections({ jobs, counts }: Pick<QueueReport, 'jobs' | 'counts'>): readonly JobSection[] {
  const of = (state: QueueJobRow['state']) => jobs.filter((job) => job.state === state && !needsPerson(job));
  const { running, waiting, later, held, needs_person, needs_person_later } = counts;
  return [
    { title: 'Needs a person', jobs: jobs.filter(needsPerson), count: needs_person },
    { title: 'Running', jobs: of('running'), count: running },
    { title: 'Waiting', jobs: of('waiting'), count: waiting },
    { title: 'Sleeping', jobs: of('later'), count: later - needs_person_later },
    { title: 'Held', jobs: of('held'), count: held - (needs_person - needs_person_later) },
  ].filter(({ count }) => count > 0);
}

/** The state whose icon a job has, and the word for it. */
export function jobLook({ state, reason }: Pick<QueueJobRow, 'state' | 'reason'>): {
  readonly state: ShownState;
  readonly word: string;
} {
  switch (state) {
    case 'running':
      return { state: 'running', word: 'running' };
    case 'waiting':
      return { state: 'waiting', word: 'waiting' };
    case 'later':
      return reason === 'question'
        ? { state: 'paused_answer', word: 'needs an answer' }
        : { state: 'suspended', word: 'sleeping' };
    case 'held':
      return reason === 'question'
        ? { state: 'paused_answer', word: 'held, needs an answer' }
        : reason === 'attention'
          ? { state: 'crashed', word: 'held, needs a person' }
          : { state: 'skipped', word: 'held' };
  }
}

/** What is known first of a job: why it does not run, or where it does. */
export function jobHeadline(job: QueueJobRow, workers: readonly QueueWorkerRow[]): string {
  if (job.why !== '') return job.why;
  if (job.state === 'waiting') return 'the next free slot takes it';
  if (job.state !== 'running') return jobLook(job).word;
  const host = workers.find(({ name }) => name === job.worker)?.host ?? job.worker ?? '';
  return `on ${host}${job.taken_over > 0 ? `, taken over ${timesText(job.taken_over)}` : ''}`;
}

const timesText = (times: number): string => (times === 1 ? 'once' : `${times} times`);

/** The time that matters of a job, in short words. `at`: when the report was made. */
export function jobTime(job: QueueJobRow, at: string, now: number): string {
  const { state, due_at, since, waited_ms, submitted_at } = job;
  if (state === 'later' && due_at !== null)
    return `until ${localTime(due_at, new Date(now)).replace(/^\d{4}-/, '')}`;
  if (state === 'running' && since !== null) return `for ${durationText(now - Date.parse(since))}`;
  const due = waited_ms === null ? submitted_at : new Date(Date.parse(at) - waited_ms).toISOString();
  return `${state === 'held' ? 'submitted' : 'due'} ${agoText(due, now)}`;
}

/** What a worker is, for people. */
export function workerState({ state, draining, refuses }: QueueWorkerRow): {
  readonly word: string;
  readonly state: ShownState;
} {
  if (state === 'dead') return { word: 'dead', state: 'crashed' };
  if (draining) return { word: 'draining', state: 'suspended' };
  if (refuses !== '') return { word: 'takes nothing', state: 'suspended' };
  return state === 'alive'
    ? { word: 'alive', state: 'running' }
    : { word: 'not watched yet', state: 'waiting' };
}

/** An amount in the unit of a cap. */
export function capAmountText({ measure }: Pick<QueueCapRow, 'measure'>, amount: number): string {
  switch (measure) {
    case 'cost_usd':
      return usdWords(amount);
    case 'tokens':
      return tokensText(amount);
    case 'runs':
      return String(amount);
  }
}

const measures = { cost_usd: 'cost per day', tokens: 'tokens per day', runs: 'runs at once' } as const;
export const capTitle = ({ label, measure }: QueueCapRow): string =>
  `${label === null ? 'All runs' : `Label ${label}`}, ${measures[measure]}`;

/** The parts of a bar, in percent of the cap; together never more than the whole bar. */
export function capParts({ limit, spent, reserved }: QueueCapRow): {
  readonly spent: number;
  readonly reserved: number;
} {
  const part = (amount: number) => (limit <= 0 ? 100 : Math.min(100, Math.max(0, (100 * amount) / limit)));
  const used = part(spent);
  return { spent: used, reserved: Math.min(100 - used, part(reserved)) };
}
