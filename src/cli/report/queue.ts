/** The queue as lines for people. */
import { elapsedWords, localTime, usdWords } from '../../core/amounts.ts';
import { needsPerson } from '../../core/needs-person.ts';
import type {
  QueueCapRow,
  QueueHoldRow,
  QueueJobRow,
  QueueReport,
  QueueScheduleRow,
  QueueWorkerRow,
} from '../../core/records/queue-report.ts';
import { nextLines } from './fit.ts';
import { columns, oneLine, type Paint } from './run.ts';

type Space = {
  /** Columns; undefined where the output is no terminal. */
  readonly width: number | undefined;
  /** Most jobs of a state. */
  readonly most: number;
};

/** What needs a person, runs, waits, sleeps and is held, then what they wait for. */
export function queueLines(report: QueueReport, paint: Paint, space: Space): readonly string[] {
  const now = new Date(report.at);
  const sections = [
    jobTable(report, paint, space, now),
    ...[
      ...report.workers.map((worker) => workerLine(worker)),
      ...report.schedules.map((schedule) => scheduleLine(schedule, now)),
      ...report.holds.map((hold) => holdLine(hold, now)),
      ...report.caps.map((cap) => capLine(cap, now)),
    ].map((line) => [fitted(line, space.width)]),
  ];
  const next =
    report.jobs.find((job) => needsPerson(job) && job.next !== '') ??
    report.jobs.find((job) => job.state === 'waiting' && job.next !== '');
  return [
    countLine(report),
    ...sections.flat(),
    ...(next === undefined ? [] : nextLines(next.next, space.width, paint.bold)),
  ];
}

const fitted = (line: string, width: number | undefined): string =>
  width === undefined ? line : oneLineKept(line, width - 1);

/** With its blanks, which make columns. */
const oneLineKept = (line: string, most: number): string =>
  [...line].length <= most ? line : `${[...line].slice(0, most - 1).join('')}…`;

function countLine({ counts, place, jobs }: QueueReport): string {
  const { running, waiting, later, held, needs_person: forPeople } = counts;
  const where = place === 'folder' ? '' : ` (${place})`;
  if (jobs.length === 0) return `the queue is empty${where}`;
  const words = [
    ...(running > 0 ? [`${running} running`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(later > 0 ? [`${later} sleeping`] : []),
    ...(held > 0 ? [`${held} held`] : []),
  ];
  const people = forPeople > 0 ? `; ${forPeople} need${forPeople === 1 ? 's' : ''} a person` : '';
  return `${words.join(', ')}${people}${where}`;
}

function jobTable({ jobs }: QueueReport, paint: Paint, { width, most }: Space, now: Date): readonly string[] {
  if (jobs.length === 0) return [];
  const states = ['running', 'waiting', 'later', 'held'] as const;
  const shown = [
    ...jobs.filter(needsPerson).slice(0, most),
    ...states.flatMap((state) =>
      jobs.filter((job) => job.state === state && !needsPerson(job)).slice(0, most),
    ),
  ];
  const ids = shortIds(shown, width);
  const ranked = jobs.some(({ priority }) => priority !== 0);
  const labelled = jobs.some(({ labels }) => labels.length > 0);
  const cells = (job: QueueJobRow): readonly string[] => [
    ...[
      ids.get(job.run_id) ?? job.run_id,
      stateOf(job, now),
      oneLine(job.title, width === undefined ? 32 : 20),
    ],
    ...(ranked ? [String(job.priority)] : []),
    ...(labelled ? [job.labels.join(',')] : []),
    ...[timeOf(job, now), whyOf(job)],
  ];
  const head = [
    'run',
    'state',
    'title',
    ...(ranked ? ['priority'] : []),
    ...(labelled ? ['labels'] : []),
    'time',
    '',
  ];
  const rows = columns([head, ...shown.map(cells)]).map(({ cells: all, last }, at) => {
    const job = shown[at - 1];
    const line = fitted(`${all.join('  ')}  ${oneLine(last, 200)}`.trimEnd(), width);
    if (job === undefined) return paint.dim(line);
    return needsPerson(job) ? paint.yellow(line) : line;
  });
  const left = jobs.length - shown.length;
  return [...rows, ...(left > 0 ? [`… and ${left} more: --json lists all`] : [])];
}

/** On a terminal a generated id is as long as it needs to be unique here. */
function shortIds(jobs: readonly QueueJobRow[], width: number | undefined): ReadonlyMap<string, string> {
  if (width === undefined) return new Map();
  const ids = jobs.map(({ run_id }) => run_id).filter((id) => /^[0-9A-Z]{26}$/.test(id));
  const length =
    [10, 14, 18].find((long) => new Set(ids.map((id) => id.slice(0, long))).size === ids.length) ?? 26;
  return new Map(ids.map((id) => [id, id.slice(0, length)]));
}

function stateOf(job: QueueJobRow, now: Date): string {
  if (needsPerson(job)) return job.reason === 'question' ? 'needs an answer' : 'needs a person';
  return untilOf(job, now) ?? job.state;
}

const untilOf = ({ state, due_at }: QueueJobRow, now: Date): string | undefined =>
  state === 'later' && due_at !== null ? `until ${localTime(due_at, now)}` : undefined;

/** How long a waiting one waits, and a running one is with its worker; how long a question has time. */
function timeOf(job: QueueJobRow, now: Date): string {
  const { waited_ms, since } = job;
  if (needsPerson(job)) return untilOf(job, now) ?? '';
  if (waited_ms !== null) return elapsedWords(waited_ms);
  const began = Date.parse(since ?? '');
  return Number.isNaN(began) ? '' : elapsedWords(Math.max(0, now.getTime() - began));
}

const whyOf = ({ why, worker, state }: QueueJobRow): string =>
  state === 'running' && why === '' ? `on ${worker}` : why;

function workerLine({
  host,
  pid,
  state,
  slots,
  busy,
  labels,
  draining,
  refuses,
  leaves,
  version,
}: QueueWorkerRow): string {
  const words = [
    `worker ${host} (process ${pid}, ${version})`,
    ...(state === 'alive' ? [] : [state === 'dead' ? 'is gone' : 'is on another host']),
    `${busy} of ${slots} slots in use`,
    ...(labels === null ? [] : [`labels ${labels.join(', ') || 'none'}`]),
    ...(draining ? ['draining'] : []),
    ...(refuses === '' ? [] : [refuses]),
    ...leaves.map(({ run_id, why }) => `leaves ${run_id}: ${why}`),
  ];
  return words.join('; ');
}

function scheduleLine(
  { name, cron, zone, next, paused, command, problem }: QueueScheduleRow,
  now: Date,
): string {
  if (problem !== '') return `schedule ${name} needs attention: ${problem}`;
  const when = paused ? 'paused' : next === null ? 'never again' : `next at ${localTime(next, now)}`;
  return `schedule ${name} (${cron}, ${zone}): ${when}; ${command}`;
}

const holdLine = ({ id, agent, model, endpoint, until, runs }: QueueHoldRow, now: Date): string =>
  `hold ${id} of ${[agent, model, endpoint].filter((word) => word !== '').join(' ')} until ${localTime(until, now)}${runs.length === 0 ? '' : `: ${runs.length === 1 ? `${runs[0]} waits` : `${runs.length} runs wait`}`}`;

function capLine(
  { label, measure, limit, spent, reserved, rest, resets_at, stops }: QueueCapRow,
  now: Date,
): string {
  const words = (amount: number): string =>
    measure === 'cost_usd' ? usdWords(amount) : `${amount} ${measure}`;
  const whose = label === null ? 'cap' : `cap of the label "${label}"`;
  const used =
    measure === 'runs' ? `${spent} of ${limit} runs at once` : `${words(spent)} of ${words(limit)} today`;
  const more = [
    ...(reserved > 0 ? [`${words(reserved)} reserved`] : []),
    ...(measure === 'runs' ? [] : [`${words(rest)} left`]),
    ...(resets_at === null ? [] : [`resets at ${localTime(resets_at, now)}`]),
    ...(stops.length === 0 ? [] : [`holds back ${stops.length === 1 ? stops[0] : `${stops.length} runs`}`]),
  ];
  return `${whose}: ${[used, ...more].join(', ')}`;
}
