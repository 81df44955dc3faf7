/** `factory runs`: the runs, newest first, and which of them need attention. */
import { basename } from 'node:path';
import { needsAttention, nextOf } from '../app/inspect/next.ts';
import { elapsedWords } from '../core/amounts.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { isPaused } from '../core/outcome.ts';
import { quoteWord } from '../core/policy/words.ts';
import { forkWords } from '../core/records/names.ts';
import { listRuns, type RunSummary } from '../store/runs.ts';
import { runsDirOf } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { columns, oneLine, type Paint, painter } from './report/run.ts';

export type RunsOptions = {
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  /** Only runs that need attention, each with the next command. */
  readonly attention?: boolean;
};

export async function runsCommand(options: RunsOptions, io: Io & { readonly clock: Clock }): Promise<number> {
  const runsDir = runsDirOf(options, io);
  // What is read of thousands of runs lives for a moment only.
  const runs = await listRuns(runsDir, io.clock);
  const program = io.called?.program ?? 'factory';
  const place = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  const isSuspended = (run: RunSummary) => isPaused(run.status);
  // Suspended runs come first.
  const rows = [...runs.filter(isSuspended), ...runs.filter((run) => !isSuspended(run))]
    .filter((run) => options.attention !== true || needsAttention(run.status))
    .map((run) => ({ ...run, next: nextOf(run, program, `${run.id}${place}`) }));
  if (options.json === true)
    io.out(`${JSON.stringify({ schema_version: 1, runs_dir: runsDir, runs: rows.map(record) }, null, 2)}\n`);
  else if (runs.length === 0) io.out(`there are no runs in ${runsDir}\n`);
  else io.out(`${listing(runs, rows, options, io).join('\n')}\n`);
  return 0;
}

type Row = RunSummary & { readonly next: string };

const record = ({ id, dir, status, startedAt, pipeline, ...run }: Row) => ({
  run_id: id,
  status,
  needs_attention: needsAttention(status),
  pipeline,
  started_at: startedAt,
  elapsed_ms: run.elapsedMs,
  spent: run.spent,
  wake_at: run.wakeAt,
  reason: run.reason,
  next_node: run.nextNode,
  failed_node: run.failedNode,
  forked_from: run.forkedFrom,
  replay_of: run.replayOf,
  run_dir: dir,
  next: run.next,
});

/** The rows, how many runs there are, and the next command: of each row with `attention`, else of the first that has one. */
function listing(
  runs: readonly RunSummary[],
  rows: readonly Row[],
  { attention, color }: RunsOptions,
  io: Io,
): readonly string[] {
  const width = io.outIsTerminal ? io.width : undefined;
  const [head = '', ...lines] = table(rows, painter(paints(io, io.outIsTerminal, color)), width);
  const count = runs.length > 1 || rows.length === 0 ? [countOf(runs)] : [];
  if (rows.length === 0) return count;
  if (attention === true)
    return [head, ...lines.flatMap((line, at) => [line, `  next: ${rows[at]?.next}`]), ...count];
  const first = rows.find((run) => needsAttention(run.status) && run.next !== '');
  return [head, ...lines, ...count, ...(first === undefined ? [] : [`next: ${first.next}`])];
}

/** `28 runs: 13 need attention (9 failed, 4 crashed), 15 completed`. */
export function countOf(runs: readonly Pick<RunSummary, 'status'>[]): string {
  const counts = new Map<RunSummary['status'], number>();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  const all = [...counts].map(([status, many]) => ({ many, status }));
  const words = (some: typeof all): string => some.map(({ many, status }) => `${many} ${status}`).join(', ');
  const waiting = all.filter(({ status }) => needsAttention(status));
  const many = waiting.reduce((sum, one) => sum + one.many, 0);
  const first =
    many === 0
      ? 'none needs attention'
      : `${many} ${many === 1 ? 'needs' : 'need'} attention (${words(waiting)})`;
  const others = words(all.filter(({ status }) => !needsAttention(status)));
  return `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}: ${[first, others].filter((one) => one !== '').join(', ')}`;
}

function table(runs: readonly RunSummary[], paint: Paint, width: number | undefined): readonly string[] {
  const cells = runs.map((run) => [
    run.id,
    run.status,
    oneLine(basename(run.pipeline), 24) || '?',
    oneLine(run.startedAt.slice(0, 16).replace('T', ' '), 16) || '?',
    elapsedWords(run.elapsedMs),
    storyOf(run),
  ]);
  const all = columns([['run', 'status', 'pipeline', 'started (UTC)', 'time', ''], ...cells]);
  return all.map(({ cells, taken, last }, at) => {
    const status = runs[at - 1]?.status;
    const story = oneLine(last, width === undefined ? 100 : Math.max(12, width - taken - 1));
    const painted = cells.map((cell, column) =>
      status === undefined ? paint.dim(cell) : column === 1 ? paint[colours[status]](cell) : cell,
    );
    return [...painted, story].join('  ').trimEnd();
  });
}

/** Red for failed runs, yellow for runs that can be resumed. */
const colours: Readonly<Record<RunSummary['status'], 'green' | 'cyan' | 'yellow' | 'red'>> = {
  completed: 'green',
  running: 'cyan',
  interrupted: 'yellow',
  crashed: 'yellow',
  paused_quota: 'yellow',
  paused_outage: 'yellow',
  paused_auth: 'yellow',
  paused_billing: 'yellow',
  failed: 'red',
  unreadable: 'red',
};

/** Details of a run's status. */
export const storyOf = (run: RunSummary): string =>
  [
    run.replayOf === null ? '' : `replay of ${run.replayOf}`,
    run.forkedFrom === null || run.forkedFrom.run_id === run.replayOf
      ? ''
      : `fork of ${forkWords(run.forkedFrom)}`,
    standOf(run),
  ]
    .filter((words) => words !== '')
    .join('; ');

function standOf({ status, reason, nextNode, wakeAt }: RunSummary): string {
  if (wakeAt !== null) return `resumes at ${wakeAt.slice(0, 16).replace('T', ' ')} UTC: ${reason}`;
  if (reason !== '') return reason;
  if (status === 'unreadable') return 'its files are damaged, missing or not readable for this user';
  return nextNode === '' ? '' : `${status === 'running' ? 'at' : 'stopped before'} ${nextNode}`;
}
