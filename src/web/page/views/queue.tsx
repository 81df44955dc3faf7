/** The queue: what runs, waits, sleeps and is held, why, and what can be done about it. */
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { QueueJobRow, QueueReport } from '../../../core/records/queue-report.ts';
import { slowNow } from '../clock.ts';
import { addKeys } from '../keys.ts';
import { connection } from '../live.ts';
import { go } from '../place.ts';
import { queue, queueProblem, server, watchQueue } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { exactTime } from '../text/format.ts';
import { type JobSection, jobHeadline, jobLook, jobSections, jobTime } from '../text/queue.ts';
import { Shape } from './icon.tsx';
import { JobButtons, JobDialog } from './job-acts.tsx';
import { Command } from './parts.tsx';
import { CapList, HoldList, ScheduleTable, WorkerTable } from './queue-facts.tsx';

const sections = computed(() => (queue.value === null ? [] : jobSections(queue.value)));
const selected = signal<string | null>(null);

export function Queue() {
  useEffect(watchQueue, []);
  useEffect(() => {
    document.title = 'Queue · factory';
    return addKeys({
      j: () => move(1),
      k: () => move(-1),
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
    });
  }, []);
  const report = queue.value;
  if (queueProblem.value !== null)
    return (
      <div class="empty">
        <h1>The queue cannot be read</h1>
        <p>{queueProblem.value}</p>
      </div>
    );
  if (report === null) return connection.value === null ? <p class="loading">Reading the queue…</p> : null;
  const { jobs, workers, schedules, holds, caps } = report;
  if (jobs.length + workers.length + schedules.length + holds.length + caps.length === 0)
    return <EmptyQueue />;
  return (
    <div class="queue">
      <h1 class="hidden">Queue</h1>
      <Summary report={report} />
      <section aria-label="Jobs">
        {sections.value.map((section) => (
          <Jobs key={section.title} section={section} report={report} />
        ))}
        {sections.value.length === 0 && (
          <p class="loading">
            No job is queued. <Command text="factory submit my-spec.md" />
          </p>
        )}
      </section>
      <div class="queue-facts">
        <WorkerTable workers={workers} />
        <CapList caps={caps} />
        <HoldList holds={holds} />
        <ScheduleTable schedules={schedules} />
      </div>
      <JobDialog />
    </div>
  );
}

function move(step: number): void {
  const ids = sections.value.flatMap(({ jobs }) => jobs.map(({ run_id }) => run_id));
  const at = selected.value === null ? -1 : ids.indexOf(selected.value);
  const next = ids[at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + step))];
  if (next === undefined) return;
  selected.value = next;
  document.querySelector<HTMLElement>(`[data-row="${CSS.escape(next)}"]`)?.focus();
}

/** One line for who only looks whether all is well. */
function Summary({ report }: { report: QueueReport }) {
  const { counts, workers, place } = report;
  const living = workers.filter(({ state }) => state !== 'dead');
  const slots = living.reduce((sum, one) => sum + one.slots, 0);
  const busy = living.reduce((sum, one) => sum + one.busy, 0);
  return (
    <div class="queue-sum">
      <p role="status">
        <strong>{counts.running} running</strong>, {counts.waiting} waiting, {counts.later} sleeping,{' '}
        {counts.held} held
        <span class="quiet">
          {' · '}
          {busy} of {slots} slots busy{place === 'folder' ? '' : ` · ${place}`}
        </span>
      </p>
      {living.length === 0 && (
        <p class="tone-warn">
          No worker runs: nothing in the queue runs. <Command text="factory keep" />
        </p>
      )}
    </div>
  );
}

function Jobs({ section: { title, jobs, count }, report }: { section: JobSection; report: QueueReport }) {
  return (
    <section class="runs-section">
      <h2>
        {title} <span class="number quiet">{count}</span>
      </h2>
      <ul>
        {jobs.map((job) => (
          <Job key={job.run_id} job={job} report={report} />
        ))}
      </ul>
      {jobs.length < count && (
        <p class="more quiet">
          and {count - jobs.length} more: <code>factory queue --json</code> lists all
        </p>
      )}
    </section>
  );
}

function Job({ job, report }: { job: QueueJobRow; report: QueueReport }) {
  const look = jobLook(job);
  const headline = jobHeadline(job, report.workers);
  const open = () => (job.has_run ? go(addressOfRun(job.run_id)) : undefined);
  return (
    <li
      class="job-row"
      data-row={job.run_id}
      tabIndex={-1}
      onFocus={() => {
        selected.value = job.run_id;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target === event.currentTarget) open();
      }}
    >
      <Shape state={look.state} />
      <span class="headline" title={headline}>
        <span class="hidden">{look.word}: </span>
        {headline}
      </span>
      <span class="title">
        {job.has_run ? (
          <a href={addressOfRun(job.run_id)} title={job.run_id}>
            {job.title}
          </a>
        ) : (
          <span title={job.run_id}>{job.title}</span>
        )}
      </span>
      <span class="labels">
        {job.labels.map((label) => (
          <span key={label} class="badge" title={`label ${label}`}>
            {label}
          </span>
        ))}
        {job.priority !== 0 && (
          <span class="badge number" title={`priority ${job.priority}: a higher one goes first`}>
            {job.priority > 0 ? '+' : ''}
            {job.priority}
          </span>
        )}
      </span>
      <time class="when quiet" title={timesOf(job)}>
        {jobTime(job, report.at, slowNow.value)}
      </time>
      <span class="acts">{server.value?.read_only === false && <JobButtons job={job} />}</span>
    </li>
  );
}

const addressOfRun = (run: string): string => pathOf({ view: 'run', run, tab: 'graph' });

const timesOf = ({ submitted_at, submitted_by, due_at }: QueueJobRow): string =>
  [
    `submitted by ${submitted_by} at ${exactTime(submitted_at)}`,
    ...(due_at === null ? [] : [`sleeps until ${exactTime(due_at)}`]),
  ].join(', ');

/** What a folder whose queue was never used shows: the two commands that use it. */
function EmptyQueue() {
  return (
    <div class="empty">
      <h1>The queue is empty</h1>
      <p>
        A queue runs specs and pipelines one after another, also while nobody is here: it waits for quotas and
        reset times, keeps to caps per day, and asks when a person is needed. One command puts runs into it:
      </p>
      <p>
        <Command text="factory submit my-spec.md" />
      </p>
      <p>Another one, on this machine or on any that has the folder, takes them out and executes them:</p>
      <p>
        <Command text="factory keep --slots 2" />
      </p>
      <p class="quiet">
        What is queued in <code>{server.value?.runs_dir}</code> appears here by itself.
      </p>
    </div>
  );
}
