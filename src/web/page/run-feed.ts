/** The list of runs, kept up to date: the newest come with its stream, older ones are asked for page by page. */
import { batch, signal } from '@preact/signals';
import type { RunList } from '../../app/answers.ts';
import type { RunRow } from '../../app/inspect/run-row.ts';
import { api, listStream } from './api.ts';
import { later } from './later.ts';
import { openFeed } from './live.ts';

/** The runs that were read; null until the first answer. */
export const runs = signal<readonly RunRow[] | null>(null);
/** How many there are, while older ones are still being read; else null. */
export const runsToRead = signal<number | null>(null);

/** When a row was received: the time that its run has taken grows from then on. */
export const receivedAt = (run: RunRow): number => received.get(run) ?? 0;
const received = new WeakMap<RunRow, number>();

/** Rows of a further page. */
const pageRows = 2000;
/** Milliseconds before a page is asked for again. */
const againMs = 1000;

/** By id; null: the run is gone. */
type Changes = Map<string, RunRow | null>;

/** Keeps `runs` up to date; answers a function that ends that. */
export function watchRuns(): () => void {
  const waiting: Changes = new Map();
  /** What has changed since the first page: the others may be older. */
  let sinceFirst: Changes | undefined;
  const apply = later(() => show(byId(runs.value ?? []), waiting));
  const change = (id: string, run: RunRow | null) => {
    if (run !== null) receive([run]);
    waiting.set(id, run);
    sinceFirst?.set(id, run);
    apply();
  };
  const readRest = async (first: RunList) => {
    const changes: Changes = new Map();
    sinceFirst = changes;
    const rows = byId(first.runs);
    for (let { after } = first; after != null; ) {
      const page = await api.runs({ limit: String(pageRows), after }).catch(() => pause(againMs));
      if (sinceFirst !== changes) return;
      if (page === undefined) continue;
      receive(page.runs);
      for (const run of page.runs) rows.set(run.run_id, run);
      after = page.after;
    }
    sinceFirst = undefined;
    batch(() => {
      runsToRead.value = null;
      show(rows, changes);
    });
  };
  const close = openFeed({
    url: () => listStream,
    on: {
      runs: (list: RunList) => {
        waiting.clear();
        receive(list.runs);
        sinceFirst = undefined;
        const isWhole = list.after == null;
        batch(() => {
          // What a reader sees stays until all that replaces it is here.
          if (isWhole || runs.value === null) runs.value = list.runs;
          runsToRead.value = isWhole ? null : list.counts.all;
        });
        if (!isWhole) void readRest(list);
      },
      run: (run: RunRow) => change(run.run_id, run),
      gone: ({ run_id }: { run_id: string }) => change(run_id, null),
    },
  });
  return () => {
    sinceFirst = undefined;
    runsToRead.value = null;
    close();
  };
}

const byId = (rows: readonly RunRow[]): Map<string, RunRow> => new Map(rows.map((run) => [run.run_id, run]));

function show(rows: Map<string, RunRow>, changes: Changes): void {
  for (const [id, run] of changes) run === null ? rows.delete(id) : rows.set(id, run);
  changes.clear();
  runs.value = [...rows.values()];
}

function receive(rows: readonly RunRow[]): void {
  const at = Date.now();
  for (const run of rows) received.set(run, at);
}

const pause = (ms: number): Promise<undefined> =>
  new Promise((done) => {
    setTimeout(() => done(undefined), ms);
  });
