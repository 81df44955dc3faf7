/** What people see of the queue: its jobs, its workers, and what holds what back. */
import { join } from 'node:path';
import { placeWords } from '../app/acts.ts';
import { capsOf } from '../app/day-caps.ts';
import type { InspectHost } from '../app/inspect/rows.ts';
import { type OpenRunList, openRunList } from '../app/inspect/run-list.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { typedCommand } from '../app/typed-command.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { needsPerson } from '../core/needs-person.ts';
import type { QueuedJob } from '../core/records/job.ts';
import type { QueueJobRow, QueueReport, QueueWorkerRow } from '../core/records/queue-report.ts';
import { holdsOf } from '../fleet/holds.ts';
import { type WorkerStanding, type Workers, watchWorkers } from '../fleet/workers.ts';
import { namesIn } from '../platform/files/read.ts';
import { namedRun } from '../run/runs.ts';
import { noWorker, type QueueFacts, whyNotRunning } from './held-back.ts';
import { holdRows } from './hold-rows.ts';
import { schedulesOf } from './schedule-rows.ts';

/** Where the queue is looked at from. */
export type QueueViewHost = InspectHost & {
  /** Absolute. */
  readonly runsDir: string;
  /** The rows of the runs, for a process that asks often. */
  readonly runs?: OpenRunList;
  /** Likewise: a worker on another host is dead only to one who has watched it for a while. */
  readonly workers?: Workers;
};

/** What `factory queue` and the endpoint answer with. Reads only. */
export async function queueReport(
  queue: Pick<JobQueue, 'place' | 'list'>,
  host: QueueViewHost,
): Promise<QueueReport> {
  const { runsDir, clock } = host;
  const runs = host.runs ?? openRunList(runsDir, host);
  const queued = await queue.list();
  const facts: QueueFacts & Pick<QueueReport, 'schedules' | 'holds'> = {
    workers: (host.workers ?? watchWorkers(runsDir, clock)).read().map(workerRow),
    schedules: schedulesOf(runsDir, { clock }),
    holds: holdRows(holdsOf(runsDir), queued),
    caps: await capsOf(runsDir, clock, queued),
    titles: new Map(queued.map(({ job }) => [job.run_id, job.title])),
  };
  const { workers, schedules, holds, caps } = facts;
  // One reading of the folder: of thousands of jobs each would be looked for.
  const runNames = new Set(namesIn(runsDir));
  const jobs: QueueJobRow[] = [];
  let waiting = 0;
  for (const one of queued) {
    const before = one.state === 'waiting' ? waiting++ : 0;
    const why = whyNotRunning(one, before, facts);
    const isLooked = one.state === 'running' || one.state === 'held' || one.job.reason?.kind === 'question';
    const id = one.job.run_id;
    const run = isLooked && runNames.has(id) ? await runs.row(id) : undefined;
    jobs.push({
      ...rowOf(one, clock.now()),
      why,
      has_run: runNames.has(id),
      status: run?.status ?? null,
      next: nextOf(one, run, why, host),
    });
  }
  return {
    schema_version: 1,
    at: clock.now().toISOString(),
    ...{ runs_dir: runsDir, place: queue.place, counts: countsOf(jobs) },
    ...{ jobs, workers: [...workers], schedules, holds, caps: [...caps] },
  };
}

const workerRow = ({
  name,
  host,
  pid,
  standing,
  since,
  version,
  ...facts
}: WorkerStanding): QueueWorkerRow => ({
  ...{ name, host, pid, state: standing, since, version, slots: facts.slots, busy: facts.busy },
  ...{ engine_starts: facts.engine_starts ?? 0, take_overs: facts.take_overs ?? 0 },
  labels: facts.labels === undefined ? null : [...facts.labels],
  ...{ draining: facts.draining, refuses: facts.refuses ?? '' },
  leaves: Object.entries(facts.leaves).map(([run_id, why]) => ({ run_id, why })),
});

/** How many jobs are in each state. */
export function countsOf(jobs: readonly Pick<QueueJobRow, 'state' | 'reason'>[]): QueueReport['counts'] {
  const counts = { running: 0, waiting: 0, later: 0, held: 0 };
  for (const { state } of jobs) counts[state]++;
  const forPeople = jobs.filter(needsPerson);
  const asleep = forPeople.filter(({ state }) => state === 'later');
  return { ...counts, needs_person: forPeople.length, needs_person_later: asleep.length };
}

function rowOf(queued: QueuedJob, now: Date): Omit<QueueJobRow, 'why' | 'has_run' | 'status' | 'next'> {
  const { job, state } = queued;
  return {
    ...{ run_id: job.run_id, title: job.title, state, priority: job.priority, labels: [...job.labels] },
    ...{ submitted_at: job.submitted_at, submitted_by: job.submitted_by },
    reason: state === 'later' || state === 'held' ? (job.reason?.kind ?? null) : null,
    due_at: state === 'later' ? queued.due_at : null,
    waited_ms: state === 'waiting' ? Math.max(0, now.getTime() - dueSince(queued)) : null,
    after: job.after ?? null,
    worker: state === 'running' ? queued.worker : null,
    since: state === 'running' ? queued.since : null,
    taken_over: job.taken_over ?? 0,
  };
}

/** Since when a waiting job is due: its submission, or the last time that it was put to sleep or woke. */
const dueSince = ({ job: { submitted_at, reason } }: QueuedJob): number =>
  Math.max(...[submitted_at, reason?.at, reason?.until].map((at) => Date.parse(at ?? '') || 0));

/** What a person has to do. */
function nextOf(queued: QueuedJob, run: RunRow | undefined, why: string, host: QueueViewHost): string {
  const { job, state } = queued;
  const program = host.called?.program ?? 'factory';
  if (state === 'waiting' && why === noWorker)
    return typedCommand(program, ['keep', ...placeWords(host.runsDir, host.cwd)]);
  const isAsked = job.reason?.kind === 'question' && run?.question?.answer === null;
  if (state === 'later' && isAsked) return run.next;
  if (state !== 'held' || job.reason?.kind === 'after') return '';
  // It waits for a higher limit: moved, it would be held again.
  if (run?.status === 'paused_quota') return run.next;
  if (isAsked) return run.next;
  return `${program} queue move ${namedRun(join(host.runsDir, job.run_id), host.cwd)} --now`;
}
