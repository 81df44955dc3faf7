/** The list of runs: which are shown, in which order, under which heading. */
import type { RunRow } from '../../../app/inspect/shapes.ts';

export const runFilters = ['all', 'attention', 'running', 'completed', 'failed', 'suspended'] as const;
export type RunFilter = (typeof runFilters)[number];

export interface RunSection {
  readonly title: string;
  readonly runs: readonly RunRow[];
}

const passes: Readonly<Record<RunFilter, (run: RunRow) => boolean>> = {
  all: () => true,
  attention: (run) => run.needs_attention,
  running: (run) => run.status === 'running',
  completed: (run) => run.status === 'completed' || run.status === 'overridden',
  failed: (run) => ['failed', 'crashed', 'interrupted', 'unreadable'].includes(run.status),
  suspended: (run) => run.status.startsWith('paused'),
};

/** The runs that a filter and all words of a search leave. */
export function runsLike(runs: readonly RunRow[], filter: RunFilter, search: string): readonly RunRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (!passes[filter](run)) return false;
    const text = [run.title, run.headline, run.pipeline, run.status, run.run_id, run.at_node ?? '']
      .join('\n')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Runs under their headings: those that need attention, running ones, those that ended today, earlier ones; the newest
 *  first. Empty sections are left out. */
export function runSections(runs: readonly RunRow[], now: number): readonly RunSection[] {
  const today = new Date(now).toDateString();
  const sections: Record<string, RunRow[]> = {
    'Needs attention': [],
    Running: [],
    'Done today': [],
    Earlier: [],
  };
  for (const run of [...runs].sort(byTime)) {
    const ended = run.ended_at ?? run.started_at;
    const title = run.needs_attention
      ? 'Needs attention'
      : run.status === 'running'
        ? 'Running'
        : new Date(ended).toDateString() === today
          ? 'Done today'
          : 'Earlier';
    sections[title]?.push(run);
  }
  return Object.entries(sections).flatMap(([title, some]) =>
    some.length === 0 ? [] : [{ title, runs: some }],
  );
}

const byTime = (a: RunRow, b: RunRow): number => {
  const [left, right] = [a.ended_at ?? a.started_at, b.ended_at ?? b.started_at];
  return left < right ? 1 : left > right ? -1 : a.run_id < b.run_id ? 1 : -1;
};
