/** What holds a job back, in words for people. Pure. */
import { countedItems } from '../core/amounts.ts';
import type { QueuedJob } from '../core/records/job.ts';
import type { QueueCapRow, QueueWorkerRow } from '../core/records/queue-report.ts';

export const noWorker = 'no worker runs';

/** What the whole queue looks like to one of its jobs. */
export type QueueFacts = {
  readonly workers: readonly QueueWorkerRow[];
  readonly caps: readonly QueueCapRow[];
  /** Titles of jobs, by run id. */
  readonly titles: ReadonlyMap<string, string>;
};

/** Whether a worker with these labels takes jobs of those; without any it takes all. */
export const takesLabels = (
  { labels }: { readonly labels?: readonly string[] | null },
  ofJob: readonly string[],
): boolean => labels == null || ofJob.every((label) => labels.includes(label));

/** Why a job does not run; empty where nothing holds it back. `before`: how many due jobs go first. */
export function whyNotRunning(queued: QueuedJob, before: number, facts: QueueFacts): string {
  const { job } = queued;
  switch (queued.state) {
    case 'running':
      return whyUnattended(queued.worker, facts);
    case 'waiting':
      return whyWaits(queued, before, facts);
    case 'later':
      return job.reason?.text ?? 'sleeps until its time';
    case 'held': {
      const { after, reason } = job;
      if (reason?.kind !== 'after' || after === undefined) return reason?.text ?? 'held';
      const title = facts.titles.get(after);
      return `in order behind ${title === undefined ? after : `${after} (${title})`}`;
    }
  }
}

function whyUnattended(name: string, { workers }: QueueFacts): string {
  const worker = workers.find((one) => one.name === name);
  return worker === undefined || worker.state === 'dead'
    ? `its worker ${name} is gone: the next one takes it over`
    : '';
}

function whyWaits({ job }: QueuedJob, before: number, { workers, caps }: QueueFacts): string {
  const living = workers.filter(({ state }) => state !== 'dead');
  if (living.length === 0) return noWorker;
  const able = living.filter((worker) => takesLabels(worker, job.labels));
  if (able.length === 0) return `no worker takes ${labelWords(job.labels)}`;
  const full = caps.find(
    ({ label, measure, limit, spent }) =>
      measure === 'runs' && label !== null && job.labels.includes(label) && spent >= limit,
  );
  if (full !== undefined)
    return `the label "${full.label}" is full: ${full.spent} of ${countedItems(full.limit, 'run')}`;
  const left = able.map(({ leaves }) => leaves.find(({ run_id }) => run_id === job.run_id)?.why);
  const why = left.find((one) => one !== undefined);
  if (why !== undefined && !left.includes(undefined)) return `no worker can execute it: ${why}`;
  const takers = able.filter((_, at) => left[at] === undefined);
  if (takers.every(({ draining }) => draining)) return 'its workers take no more: they are draining';
  const open = takers.filter(({ draining, refuses }) => !draining && refuses === '');
  if (open.length === 0) return takers.find(({ refuses }) => refuses !== '')?.refuses ?? '';
  const free = open.reduce((sum, { slots, busy }) => sum + Math.max(0, slots - busy), 0);
  if (free > before) return '';
  const slots = open.reduce((sum, one) => sum + one.slots, 0);
  const busy = slots === 1 ? 'the only slot is taken' : `all ${slots} slots are taken`;
  return before === 0
    ? busy
    : `${free === 0 ? busy : `${countedItems(free, 'slot')} free`}, ${before} ${before === 1 ? 'goes' : 'go'} first`;
}

/** `the label "gpu"`, `the labels "gpu" and "big"`. */
export const labelWords = (labels: readonly string[]): string =>
  `the label${labels.length === 1 ? '' : 's'} ${labels.map((label) => `"${label}"`).join(' and ')}`;
