/** A queue and its runs as metrics. No titles and no texts of runs: a label of a metric has few values, and many read them. Pure. */
import { type RunRow, runRowSchema } from '../app/inspect/run-row.ts';
import type { QueueCapRow, QueueHoldRow, QueueReport } from '../core/records/queue-report.ts';
import type { Metric, Sample } from './metrics-text.ts';

/** What is counted besides the queue. */
type RunCounts = {
  readonly by_status: Readonly<Record<string, number>>;
  readonly needs_attention: number;
};

/** How many runs are in each status; of those without runs, zero. */
export function runCounts(rows: readonly Pick<RunRow, 'status' | 'needs_attention'>[]): RunCounts {
  const by_status: Record<string, number> = {};
  for (const status of runRowSchema().shape.status.options) by_status[status] = 0;
  for (const { status } of rows) by_status[status] = (by_status[status] ?? 0) + 1;
  return { by_status, needs_attention: rows.filter(({ needs_attention }) => needs_attention).length };
}

/** The metrics of a runs directory; without a report, when its queue cannot be read, only the others. */
export function queueMetrics(
  report: QueueReport | undefined,
  runs: RunCounts,
  version: string,
): readonly Metric[] {
  return [
    gauge('build_info', 'The version of factory that answers', [{ labels: { version }, value: 1 }]),
    gauge('queue_up', '1 if the queue can be read, else 0', [{ value: report === undefined ? 0 : 1 }]),
    gauge('runs', 'Runs of the directory, by status', by('status', runs.by_status)),
    gauge('runs_needing_attention', 'Runs that need a person', [{ value: runs.needs_attention }]),
    ...(report === undefined ? [] : ofReport(report)),
  ];
}

const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  ...{ name: `factory_${name}`, type: 'gauge', help, samples },
});
const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  ...{ name: `factory_${name}_total`, type: 'counter', help, samples },
});
const by = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(counts).map(([text, value]) => ({ labels: { [label]: text }, value }));

const ofReport = (report: QueueReport): readonly Metric[] => [
  ...ofJobs(report),
  ...ofWorkers(report),
  ...ofCaps(report.caps),
  ...ofHolds(report.holds),
  ...ofSchedules(report),
];

function ofJobs({ jobs, counts }: QueueReport): readonly Metric[] {
  const { needs_person, needs_person_later: _, ...states } = counts;
  const waits = jobs.map(({ waited_ms }) => waited_ms ?? 0);
  const labelled = new Map<string, Sample>();
  const reasons: Record<string, number> = {};
  for (const { state, labels, reason } of jobs) {
    if (reason !== null) reasons[reason] = (reasons[reason] ?? 0) + 1;
    for (const label of labels) {
      const key = `${state} ${label}`;
      labelled.set(key, { labels: { state, label }, value: (labelled.get(key)?.value ?? 0) + 1 });
    }
  }
  return [
    gauge('jobs', 'Jobs of the queue, by state', by('state', states)),
    gauge('labelled_jobs', 'Jobs with a label, by state; one with two labels counts for both', [
      ...labelled.values(),
    ]),
    gauge('jobs_not_due', 'Jobs that sleep or are held, by reason', by('reason', reasons)),
    gauge('jobs_needing_person', 'Jobs that ask a question or cannot continue by themselves', [
      { value: needs_person },
    ]),
    gauge('oldest_wait_seconds', 'How long the due job that waits longest has waited; 0 if none waits', [
      { value: waits.reduce((most, ms) => Math.max(most, ms), 0) / 1000 },
    ]),
  ];
}

function ofWorkers({ workers }: QueueReport): readonly Metric[] {
  const states = { alive: 0, dead: 0, unknown: 0, draining: 0 };
  for (const { state, draining } of workers) states[state === 'alive' && draining ? 'draining' : state]++;
  const living = workers.filter(({ state }) => state !== 'dead');
  const sum = (of: (worker: (typeof workers)[number]) => number) => [
    { value: living.reduce((total, worker) => total + of(worker), 0) },
  ];
  const each = (of: (worker: (typeof workers)[number]) => number): readonly Sample[] =>
    workers.map((worker) => ({ labels: { worker: worker.name }, value: of(worker) }));
  return [
    gauge('workers', 'Workers, by state', by('state', states)),
    gauge(
      'slots',
      'Runs that living workers can execute at once',
      sum(({ slots }) => slots),
    ),
    gauge(
      'slots_busy',
      'Runs that living workers execute',
      sum(({ busy }) => busy),
    ),
    counter(
      'engine_starts',
      'Runs that a worker has begun or resumed',
      each(({ engine_starts }) => engine_starts),
    ),
    counter(
      'take_overs',
      'Jobs that a worker took from dead workers',
      each(({ take_overs }) => take_overs),
    ),
  ];
}

function ofCaps(caps: readonly QueueCapRow[]): readonly Metric[] {
  const each = (of: (cap: QueueCapRow) => number): readonly Sample[] =>
    caps.map((cap) => ({ labels: { measure: cap.measure, label: cap.label ?? '' }, value: of(cap) }));
  return [
    gauge('cap_limit', 'Caps: per day of cost (USD) and tokens, at once of runs; without label: all runs', [
      ...each(({ limit }) => limit),
    ]),
    gauge(
      'cap_spent',
      'Of a cap: what was spent today, or runs now',
      each(({ spent }) => spent),
    ),
    gauge(
      'cap_reserved',
      'Of a cap: what calls that are under way have reserved',
      each(({ reserved }) => reserved),
    ),
    gauge(
      'cap_stopped_runs',
      'Runs that a cap holds back',
      each(({ stops }) => stops.length),
    ),
  ];
}

/** By agent and model: several accounts at a provider count together. */
function ofHolds(holds: readonly QueueHoldRow[]): readonly Metric[] {
  const accounts = new Map<string, QueueHoldRow[]>();
  for (const hold of holds) {
    const key = JSON.stringify([hold.agent, hold.model]);
    accounts.set(key, [...(accounts.get(key) ?? []), hold]);
  }
  const each = (of: (some: readonly QueueHoldRow[]) => number): readonly Sample[] =>
    [...accounts.values()].map((some) => ({
      labels: { agent: some[0]?.agent ?? '', model: some[0]?.model ?? '' },
      value: of(some),
    }));
  return [
    gauge(
      'holds',
      'Accounts that take no calls until a time',
      each((some) => some.length),
    ),
    gauge('hold_until_timestamp_seconds', 'When the last of these holds ends', [
      ...each((some) => Math.max(...some.map(({ until }) => seconds(until)))),
    ]),
    gauge('hold_waiting_runs', 'Runs that wait for a hold', [
      ...each((some) => some.reduce((sum, { runs }) => sum + runs.length, 0)),
    ]),
  ];
}

function ofSchedules({ schedules }: QueueReport): readonly Metric[] {
  return [
    gauge('schedule_paused', '1 for a schedule that is paused', [
      ...schedules.map(({ name, paused }) => ({ labels: { schedule: name }, value: paused ? 1 : 0 })),
    ]),
    gauge('schedule_next_timestamp_seconds', 'When a schedule submits next', [
      ...schedules.flatMap(({ name, next }) =>
        next === null ? [] : [{ labels: { schedule: name }, value: seconds(next) }],
      ),
    ]),
  ];
}

const seconds = (time: string): number => Date.parse(time) / 1000;
