/** `factory runs`: the runs, newest first, and which of them need attention. */
import { placeWords } from '../app/acts.ts';
import type { RunList } from '../app/answers.ts';
import { type OpenRunList, openRunList } from '../app/inspect/run-list.ts';
import { runList } from '../app/inspect/run-pages.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { lookOf } from '../app/inspect/states.ts';
import { stateOrWait } from '../app/inspect/wait-words.ts';
import { jobsWithoutRun } from '../app/queued-run.ts';
import { typedCommand } from '../app/typed-command.ts';
import { costWords, countedItems, elapsedWords, localTime } from '../core/amounts.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { quoteWord } from '../core/policy/words.ts';
import { runsDirOf } from './find-run.ts';
import { type CliIo, type Io, paints } from './io.ts';
import { databaseUrlOf } from './options.ts';
import { nextLines } from './report/fit.ts';
import { storyOf } from './report/inspect.ts';
import { columns, oneLine, type Paint, painter } from './report/run.ts';
import { stateCell, statePaint } from './report/states.ts';
import type { VerbResult } from './verb.ts';

export type RunsOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  /** Only runs that need attention, each with the next command. */
  readonly attention?: boolean;
  /** Only runs that run, or have stopped at most so many milliseconds ago. */
  readonly since?: number;
  readonly watch?: boolean;
  /** How many; true: as many as usual. */
  readonly days?: number | true;
};

type RunsIo = Io & { readonly clock: Clock };

export async function runsCommand(options: RunsOptions, io: CliIo): Promise<VerbResult> {
  if (options.watch === true) return (await import('./runs-watch.ts')).watchRunTable(options, io);
  if (options.days !== undefined) return (await import('./runs-days.ts')).printDays(options, io);
  const { all, list } = await readRunTable(openRunList(runsDirOf(options, io), io), options, io);
  if (options.json === true) io.out(`${JSON.stringify(list, null, 2)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    const view = { paint, width: io.outIsTerminal ? io.width : undefined, now: io.clock.now() };
    io.out(`${runTableLines({ all, list }, options, view, io).join('\n')}\n`);
  }
  return 0;
}

/** All runs, and of them those that the options ask for. */
export type RunTable = { readonly all: readonly RunRow[]; readonly list: RunList };

/** Reads it now. */
export async function readRunTable(from: OpenRunList, options: RunsOptions, io: RunsIo): Promise<RunTable> {
  const runsDir = runsDirOf(options, io);
  const all = (await from.rows()).map((run) => ({ ...run, next: nextAsTyped(run, runsDir, options) }));
  const since = options.since === undefined ? undefined : io.clock.now().getTime() - options.since;
  const shown = all.filter(
    (run) =>
      (options.attention !== true || run.needs_attention) && (since === undefined || hasRunSince(run, since)),
  );
  const queued = await jobsWithoutRun(runsDir, { ...io, db: databaseUrlOf(options, io) });
  return { all, list: { ...runList(runsDir, all, shown), ...(queued === undefined ? {} : { queued }) } };
}

/** `width` is undefined where the output is no terminal. */
export type TableView = { readonly paint: Paint; readonly width: number | undefined; readonly now: Date };

/** The table with what is below it; of the runs only the first `most`. */
export function runTableLines(
  { all, list: { runs_dir, runs, queued = 0 } }: RunTable,
  options: RunsOptions,
  view: TableView,
  io: RunsIo,
  most = runs.length,
): readonly string[] {
  return [
    ...(all.length === 0
      ? [`there are no runs in ${runs_dir}`]
      : listing(all, runs.slice(0, most), options, view)),
    ...(queued === 0
      ? []
      : [
          `${queued} ${queued === 1 ? 'is' : 'are'} queued and ${queued === 1 ? 'has' : 'have'} not begun: ${queueOf(runs_dir, io)}`,
        ]),
  ];
}

/** Whether a run runs, or its latest record is later; of a damaged one no time is known. */
export const hasRunSince = (
  { status, ended_at }: Pick<RunRow, 'status' | 'ended_at'>,
  from: number,
): boolean => status === 'running' || ended_at === null || Date.parse(ended_at) >= from;

const queueOf = (runsDir: string, { cwd, called }: RunsIo): string =>
  typedCommand(called?.program ?? 'factory', ['queue', ...placeWords(runsDir, cwd)]);

/** With `--runsdir` as the user typed it. */
const nextAsTyped = ({ next }: RunRow, runsDir: string, { runsdir }: RunsOptions): string =>
  runsdir === undefined
    ? next
    : next.replace(` --runsdir ${quoteWord(runsDir)}`, () => ` --runsdir ${quoteWord(runsdir)}`);

/** The rows, how many runs there are, and the next command: of each row with `attention`, else of the first that needs one. */
function listing(
  runs: readonly RunRow[],
  rows: readonly RunRow[],
  { attention }: RunsOptions,
  view: TableView,
): readonly string[] {
  const { width } = view;
  const [head = '', ...lines] = table(rows, view);
  const count = runs.length > 1 || rows.length === 0 ? [countOf(runs)] : [];
  if (rows.length === 0) return count;
  if (attention === true)
    return [
      head,
      ...lines.flatMap((line, at) => [
        line,
        ...nextLines(rows[at]?.next ?? '', width && width - 2).map((part) => `  ${part}`),
      ]),
      ...count,
    ];
  const first = rows.find((run) => run.needs_attention && run.next !== '');
  return [head, ...lines, ...count, ...(first === undefined ? [] : nextLines(first.next, width))];
}

/** `28 runs: 13 need attention (9 failed, 4 crashed), 15 completed`. */
export function countOf(
  runs: readonly (Pick<RunRow, 'status' | 'needs_attention'> & Partial<Pick<RunRow, 'dismissed'>>)[],
): string {
  const words = (some: typeof runs): string => {
    const counts = new Map<string, number>();
    for (const { status, dismissed } of some) {
      const word = `${lookOf(status).word}${dismissed === true ? ' and dismissed' : ''}`;
      counts.set(word, 1 + (counts.get(word) ?? 0));
    }
    return [...counts].map(([word, many]) => `${many} ${word}`).join(', ');
  };
  const waiting = runs.filter((run) => run.needs_attention);
  const many = waiting.length;
  const first =
    many === 0
      ? 'none needs attention'
      : `${many} ${many === 1 ? 'needs' : 'need'} attention (${words(waiting)})`;
  const others = words(runs.filter((run) => !run.needs_attention));
  return `${countedItems(runs.length, 'run')}: ${[first, others].filter((one) => one !== '').join(', ')}`;
}

/** Columns that the headline of a run needs after the other cells; with fewer it is on a second line. */
const leastHeadline = 40;

/** A row per run; where there is little room, the headline of a run that is not completed stands on a second line. */
function table(runs: readonly RunRow[], { paint, width, now }: TableView): readonly string[] {
  const oneRow = columns(withTitles(cellsOf(runs, true, new Date(0)), runs, 32));
  const wide = width === undefined || width - (oneRow[0]?.used ?? 0) >= leastHeadline;
  const all = wide ? oneRow : narrowRows(runs, width, now);
  return all.map(({ cells, used, last }, at) => {
    const run = runs[at - 1];
    if (run === undefined) return paint.dim(cells.join('  ').trimEnd());
    const painted = cells.map((cell, column) =>
      column === 1 ? statePaint(stateOrWait(run.status, run.waiting), paint)(cell) : cell,
    );
    const room = width === undefined ? 100 : width - used - 1;
    const row = [...painted, room < 12 ? '' : oneLine(last, room)].join('  ').trimEnd();
    const below = wide || run.status === 'completed' ? '' : oneLine(storyOf(run), width - 3);
    return below === '' ? row : `${row}\n  ${paint.dim(below)}`;
  });
}

function narrowRows(runs: readonly RunRow[], width: number, now: Date): ReturnType<typeof columns> {
  const rows = cellsOf(runs, false, now);
  const others = columns(rows)[0]?.used ?? 0;
  return columns(withTitles(rows, runs, Math.max(10, Math.min(24, width - others - 3))));
}

/** The cells of the table with its head, without the titles, which get what room is left. */
function cellsOf(runs: readonly RunRow[], wide: boolean, now: Date): readonly (readonly string[])[] {
  const paid = runs.some(({ spent }) => spent.calls > 0);
  const ordered = runs.some(({ progress }) => progress !== null);
  const ids = shortIds(runs, wide);
  const names = [...(ordered ? ['orders'] : []), 'started', 'time', ...(paid ? ['cost'] : []), ''];
  return [
    ['run', 'status', ...names],
    ...runs.map((run, at) => [
      ids[at] ?? run.run_id,
      stateCell(stateOrWait(run.status, run.waiting)),
      ...(ordered ? [run.progress === null ? '' : `${run.progress.done}/${run.progress.total}`] : []),
      run.started_at === '' ? '?' : localTime(run.started_at, now),
      elapsedWords(run.elapsed_ms),
      ...(paid ? [run.spent.calls === 0 ? '' : costWords(run.spent)] : []),
      wide || run.status === 'completed' ? storyOf(run) : '',
    ]),
  ];
}

/** The cells with the titles as the third column, cut to `most` characters. */
function withTitles(
  rows: readonly (readonly string[])[],
  runs: readonly RunRow[],
  most: number,
): readonly (readonly string[])[] {
  return rows.map(([id = '', status = '', ...more], at) => {
    const title = at === 0 ? 'title' : oneLine(runs[at - 1]?.title ?? '', most) || '?';
    return [id, status, title, ...more];
  });
}

/** In little room a generated id is as long as it needs to be unique here. */
function shortIds(runs: readonly RunRow[], wide: boolean): readonly string[] {
  const ids = runs.map(({ run_id }) => run_id);
  if (wide) return ids;
  const isShort = (length: number): boolean =>
    new Set(ids.map((id) => id.slice(0, length))).size === ids.length;
  const length = [10, 14, 18].find(isShort) ?? 26;
  return ids.map((id) => (/^[0-9A-Z]{26}$/.test(id) ? id.slice(0, length) : id));
}
