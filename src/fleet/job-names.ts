/** The name of a job's file carries what decides who takes it next. Sorted by name, jobs are in the order of claims. */
import { type Job, priorityBound } from '../core/records/job.ts';
import { runIdForm } from '../core/records/names.ts';

/** `PRIORITY+SUBMITTED+RUN+LABELS.json`; in `later` and `run` a time goes before it. A sign that sorts before all that a run id
 *  may have separates the parts. */
export type JobEntry = {
  readonly name: string;
  /** Without the time before it. */
  readonly base: string;
  readonly runId: string;
  /** Undefined where the name has no room for them. */
  readonly labels: readonly string[] | undefined;
  /** Milliseconds since 1970: in `later` when it is due, in `run` since when a worker has it; else 0. */
  readonly at: number;
};

const form = /^(?:(\d{15})\+)?(\d{4}\+\d{15}\+([A-Za-z0-9][A-Za-z0-9._-]*)\+([^+]*)\.json)$/;

/** Undefined for a name that is no job's. */
export function readJobName(name: string): JobEntry | undefined {
  const [, at, base, runId, labels] = form.exec(name) ?? [];
  if (base === undefined || runId === undefined || labels === undefined) return undefined;
  const known = labels === '' ? [] : labels === unnamed ? undefined : labels.split(',');
  return { name, base, runId, labels: known, at: Number(at ?? 0) };
}

const unnamed = '@';
/** A name may have 255 bytes; the time before it, and the place in the name of one that is being changed, need some. */
const mostOfBase = 230;

export function baseName(job: Job): string {
  if (!runIdForm.test(job.run_id))
    throw new Error(`Internal: a job for the run id ${JSON.stringify(job.run_id)}`);
  const priority = String(priorityBound - job.priority).padStart(4, '0');
  const start = `${priority}+${milliseconds(job.submitted_at)}+${job.run_id}+`;
  const labels = job.labels.join(',');
  const fits = start.length + labels.length + '.json'.length <= mostOfBase;
  return `${start}${fits ? labels : unnamed}.json`;
}

/** For sorting: a time of RFC 3339, or milliseconds since 1970. */
export const timeBefore = (at: string | number, base: string): string => `${milliseconds(at)}+${base}`;

function milliseconds(at: string | number): string {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return String(Math.max(0, Math.trunc(ms) || 0)).padStart(15, '0');
}

/** The order of claims: by priority, time of submission, run id. */
export const byBase = (a: JobEntry, b: JobEntry): number => (a.base < b.base ? -1 : a.base > b.base ? 1 : 0);

export const byName = (a: JobEntry, b: JobEntry): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
