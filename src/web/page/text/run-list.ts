/** The list of runs: in which order and under which heading they are shown. */
import type { RunRow } from '../../../app/inspect/run-row.ts';

export interface RunSection {
  readonly title: string;
  readonly runs: readonly RunRow[];
}

/** Runs under their headings: those that need attention, running ones, those that ended today, earlier ones; the newest
 *  first. Empty sections are left out. */
export function runSections(runs: readonly RunRow[], now: number): readonly RunSection[] {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const tomorrow = new Date(today).setHours(24);
  const sections: Record<string, RunRow[]> = {
    'Needs attention': [],
    Running: [],
    'Done today': [],
    Earlier: [],
  };
  const isToday = (at: number): boolean => at >= today && at < tomorrow;
  for (const run of [...runs].sort(byTime)) {
    const title = run.needs_attention
      ? 'Needs attention'
      : run.status === 'running'
        ? 'Running'
        : isToday(Date.parse(timeOf(run)))
          ? 'Done today'
          : 'Earlier';
    sections[title]?.push(run);
  }
  return Object.entries(sections).flatMap(([title, some]) =>
    some.length === 0 ? [] : [{ title, runs: some }],
  );
}

const timeOf = (run: RunRow): string => run.ended_at ?? run.started_at;

const byTime = (a: RunRow, b: RunRow): number => {
  const [left, right] = [timeOf(a), timeOf(b)];
  return left < right ? 1 : left > right ? -1 : a.run_id < b.run_id ? 1 : -1;
};
