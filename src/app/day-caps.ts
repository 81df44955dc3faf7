/** The caps of a runs folder: what is set, what is spent of it, and whom it holds back. Reads only. */
import { join } from 'node:path';
import { type DayCap, dayCapsOf, measureOf, runsUnder } from '../core/budget/day-caps.ts';
import { exactSum } from '../core/budget/day-spend.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Day, dayAt } from '../core/days.ts';
import type { QueuedJob } from '../core/records/job.ts';
import type { QueueCapRow } from '../core/records/queue-report.ts';
import type { QueueSettings } from '../core/settings/queue.ts';
import { journaledSpend } from '../engine/day-spending.ts';
import { DayBook } from '../fleet/day-spend.ts';
import { placesOfLabels, readQueueSettings } from '../fleet/settings.ts';
import { isFolder } from '../platform/files/read.ts';

/** What the runs of a folder have spent on each day. */
export const openDayBook = (runsDir: string, clock: Clock): DayBook => {
  const exists = (run: string) => isFolder(join(runsDir, run));
  return new DayBook(runsDir, clock, (dir, dayOf) => journaledSpend(dir, dayOf, exists));
};

/** One row for each cap that is set; none where the settings cannot be read. `queued`: the jobs of the queue. `book` is that of a
 *  process which asks often. */
export async function capsOf(
  runsDir: string,
  clock: Clock,
  queued: readonly QueuedJob[] = [],
  book = openDayBook(runsDir, clock),
): Promise<readonly QueueCapRow[]> {
  const read = readQueueSettings(runsDir);
  if (read.kind !== 'set') return [];
  const { settings } = read;
  const caps = dayCapsOf(settings);
  const day = dayAt(clock.now(), settings.time_zone);
  const runs = caps.length === 0 ? [] : await book.runs(day);
  return [...caps.map((cap) => ofDay(cap, runsUnder(cap, runs), day, queued)), ...atOnce(settings, queued)];
}

function ofDay(
  cap: DayCap,
  runs: Awaited<ReturnType<DayBook['runs']>>,
  { end }: Day,
  queued: readonly QueuedJob[],
): QueueCapRow {
  const measure = measureOf(cap.name);
  const spent = exactSum(runs.map((run) => run.spent[measure]));
  const reserved = exactSum(runs.map((run) => run.reserved[measure]));
  const under = runsUnder(
    cap,
    queued.map(({ job }) => job),
  );
  return {
    ...{ label: cap.label ?? null, measure, limit: cap.limit, spent, reserved },
    rest: Math.max(0, exactSum([cap.limit, -spent, -reserved])),
    resets_at: new Date(end).toISOString(),
    stops: under
      .filter(({ reason }) => reason?.kind === 'cap' && reason.text.includes(`${cap.name}:`))
      .map(({ run_id }) => run_id),
  };
}

/** Caps on runs at once, by label. */
const atOnce = (settings: QueueSettings, queued: readonly QueuedJob[]): readonly QueueCapRow[] =>
  Object.entries(placesOfLabels(settings)).map(([label, limit]) => {
    const its = queued.filter(({ job }) => job.labels.includes(label));
    const spent = its.filter(({ state }) => state === 'running').length;
    const waiting = its.filter(({ state }) => state === 'waiting').map(({ job }) => job.run_id);
    return {
      ...{ label, measure: 'runs', limit, spent, reserved: 0, rest: Math.max(0, limit - spent) },
      ...{ resets_at: null, stops: spent >= limit ? waiting : [] },
    };
  });
