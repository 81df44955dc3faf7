/** The list of runs in an answer, whole or in pages. Pure. */
import { isPaused } from '../../core/outcome.ts';
import { byWord } from '../../run/runs.ts';
import type { RunList } from '../answers.ts';
import { type RunFilter, runsLike } from './run-filters.ts';
import type { RunRow } from './run-row.ts';

export const newestFirst = (
  a: Pick<RunRow, 'started_at' | 'run_id'>,
  b: Pick<RunRow, 'started_at' | 'run_id'>,
): number => byWord(b.started_at, a.started_at) || byWord(b.run_id, a.run_id);

/** What `factory runs` answers with: the rows `shown`, by default all, suspended ones first, and how many there are. */
export const runList = (runsDir: string, rows: readonly RunRow[], shown = rows): RunList => ({
  schema_version: 1,
  runs_dir: runsDir,
  counts: countsOfRuns(rows),
  runs: suspendedFirst(shown),
});

function countsOfRuns(rows: readonly RunRow[]): RunList['counts'] {
  const by_status: Record<string, number> = {};
  for (const { status } of rows) by_status[status] = (by_status[status] ?? 0) + 1;
  return {
    all: rows.length,
    needs_attention: rows.filter((run) => run.needs_attention).length,
    by_status,
  };
}

const suspendedFirst = (rows: readonly RunRow[]): RunRow[] =>
  rows.toSorted((a, b) => Number(isPaused(b.status)) - Number(isPaused(a.status)));

export type RunPageRequest = {
  readonly only: RunFilter;
  /** Words that the rows have. */
  readonly q: string;
  /** Rows of a page; without it all, suspended ones first. */
  readonly limit?: number;
  /** The mark of the row before the page. */
  readonly after?: string;
};

/** The rows that are asked for of `rows`, which are all runs, newest first. The counts are those of all. */
export function runPage(runsDir: string, rows: readonly RunRow[], request: RunPageRequest): RunList {
  const { only, q, limit, after } = request;
  const like = runsLike(rows, only, q);
  const found = only === 'all' && q === '' ? {} : { found: like.length };
  const rest = after === undefined ? like : rowsAfter(like, after);
  if (limit === undefined) return { ...runList(runsDir, rows, rest), ...found };
  const runs = rest.slice(0, limit);
  const last = runs.at(-1);
  const next = rest.length > runs.length && last !== undefined ? markOf(last) : null;
  return { ...runList(runsDir, rows, []), ...found, runs, after: next };
}

/** The first page while runs are still being read: `all` is how many there are, `rows` are those that are known. Not every newer run
 *  may be among them, so the page after it begins with the newest again. */
export function unfinishedPage(
  runsDir: string,
  { rows, all }: { readonly rows: readonly RunRow[]; readonly all: number },
  limit: number,
): RunList {
  const { counts, ...list } = runList(runsDir, rows, []);
  return {
    ...{ ...list, counts: { ...counts, all, complete: false } },
    ...{ runs: rows.slice(0, limit), after: beforeAll },
  };
}

/** A mark before every row. */
const beforeAll = '9999~all';

/** The place of a row in the list (`pageMark`). A run that is removed meanwhile leaves its mark: the next page begins there all the same. */
const markOf = ({ started_at, run_id }: RunRow): string => `${started_at}~${run_id}`;

function rowsAfter(rows: readonly RunRow[], mark: string): readonly RunRow[] {
  const at = mark.indexOf('~');
  const last = { started_at: mark.slice(0, at), run_id: mark.slice(at + 1) };
  return rows.filter((row) => newestFirst(last, row) < 0);
}
