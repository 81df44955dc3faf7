/** Submits the runs of schedules when they are due. Any number of workers may do so at once: a time has one run id, and so one run. */
import { existsSync } from 'node:fs';
import type { Clock } from '../core/contracts/clock.ts';
import { errorText } from '../core/diagnostic.ts';
import { type Schedule, scheduledRunId } from '../core/records/schedule.ts';
import { cronTimes } from '../fleet/cron.ts';
import { dueTimes } from '../fleet/due-times.ts';
import {
  clearScheduleProblem,
  linkScheduleProblem,
  readProgress,
  readSchedules,
  schedulesVersion,
  writeProgress,
} from '../fleet/schedules.ts';

/** Puts the run of a schedule into the queue. `already`: it is there, or was. `refused`: the run cannot begin before a person has
 *  changed something. Rejects where it may be tried again. */
export type SubmitScheduled = (
  schedule: Schedule,
  runId: string,
) => Promise<
  { readonly kind: 'submitted' | 'already' } | { readonly kind: 'refused'; readonly text: string }
>;

export type ScheduleTick = {
  /** When the next time comes; undefined where none does. */
  readonly next: Date | undefined;
  readonly submitted: readonly { readonly name: string; readonly run_id: string }[];
  /** What a person should know; each is answered once. */
  readonly problems: readonly {
    readonly name: string;
    readonly text: string;
    /** Who is to be notified of its runs. */
    readonly notify?: string;
  }[];
};

/** Milliseconds after which all schedules are read again, whether their folder seems to have changed or not. */
const rereadMs = 10_000;

/** Looks for due times with each call, which may come as often as it likes: without one it costs a look at the folder. */
export function scheduleTicks(
  runsDir: string,
  submit: SubmitScheduled,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => Promise<ScheduleTick> {
  const memory: Memory = { owed: new Map(), reports: new Map() };
  let known: { readonly version: string; readonly at: number; readonly next: Date | undefined } | undefined;
  return async () => {
    const version = schedulesVersion(runsDir);
    const at = clock.monotonic();
    const isFresh = known !== undefined && known.version === version && at - known.at < rereadMs;
    if (isFresh && (known?.next === undefined || clock.now() < known.next))
      return { next: known?.next, submitted: [], problems: [] };
    const all = await Promise.all(
      readSchedules(runsDir).map(async (read) =>
        read.kind === 'read'
          ? tickOne(runsDir, read.schedule, submit, clock.now(), memory)
          : { next: undefined, submitted: [], problems: reportedOnce(read.name, read.why, memory) },
      ),
    );
    const next = earliest(all.map((one) => one.next));
    known = { version, at, next };
    return {
      next,
      submitted: all.flatMap(({ submitted }) => submitted),
      problems: all.flatMap(({ problems }) => problems),
    };
  };
}

/** What this process knows of schedules, by name. */
type Memory = {
  /** The first time that could not be submitted yet: it is not missed. */
  readonly owed: Map<string, Date>;
  /** The latest trouble that was answered. */
  readonly reports: Map<string, string>;
};

function reportedOnce(name: string, text: string, { reports }: Memory): ScheduleTick['problems'] {
  if (reports.get(name) === text) return [];
  reports.set(name, text);
  return [{ name, text }];
}

const earliest = (times: readonly (Date | undefined)[]): Date | undefined =>
  times.reduce(
    (first, time) => (time === undefined || (first !== undefined && first <= time) ? first : time),
    undefined,
  );

async function tickOne(
  runsDir: string,
  schedule: Schedule,
  submit: SubmitScheduled,
  now: Date,
  memory: Memory,
): Promise<ScheduleTick> {
  const { name, paused, request } = schedule;
  const nothing = (next?: Date): ScheduleTick => ({ next, submitted: [], problems: [] });
  const times = cronTimes(schedule.cron, schedule.zone);
  // A worker without the folder leaves the schedule to others.
  if (paused || 'problem' in times || !existsSync(request.cwd)) {
    memory.owed.delete(name);
    return nothing();
  }
  let owed = memory.owed.get(name);
  try {
    const since = doneUntil(runsDir, schedule);
    const due = dueTimes(times, { since, now, owed }, schedule.missed);
    if (!due.passed) return nothing(due.next);
    owed ??= due.times[0];
    const done = await submitted(runsDir, schedule, due.times, submit);
    await writeDone(runsDir, schedule, now, done.last);
    memory.owed.delete(name);
    memory.reports.delete(name);
    return { ...done, next: due.next };
  } catch (error) {
    // Tried again with the next tick; meanwhile the time is not missed.
    if (owed !== undefined) memory.owed.set(name, owed);
    const text = `a run that is due cannot be submitted now: ${errorText(error)}`;
    return { next: now, submitted: [], problems: reportedOnce(name, text, memory) };
  }
}

/** Times up to this one are done. Throws where what workers have written cannot be read. */
export function doneUntil(runsDir: string, schedule: Schedule): Date {
  const progress = readProgress(runsDir, schedule);
  if (progress === 'unreadable') throw new Error('what it has submitted last cannot be read');
  return new Date(Math.max(Date.parse(schedule.from), Date.parse(progress?.until ?? schedule.from)));
}

type Done = Pick<ScheduleTick, 'submitted' | 'problems'> & {
  readonly last: { readonly time: string; readonly run_id: string } | null;
};

async function submitted(
  runsDir: string,
  schedule: Schedule,
  times: readonly Date[],
  submit: SubmitScheduled,
): Promise<Done> {
  const { name, request } = schedule;
  const of = request.notify === undefined ? {} : { notify: request.notify };
  const runs: { name: string; run_id: string }[] = [];
  const problems: ScheduleTick['problems'][number][] = [];
  let last: Done['last'] = null;
  for (const at of times) {
    const run_id = scheduledRunId(name, at);
    const time = at.toISOString();
    const answer = await submit(schedule, run_id);
    if (answer.kind === 'refused') {
      const { text } = answer;
      if (await linkScheduleProblem(runsDir, schedule, { time, text })) problems.push({ name, text, ...of });
      continue;
    }
    clearScheduleProblem(runsDir, schedule);
    if (answer.kind === 'submitted') runs.push({ name, run_id });
    last = { time, run_id };
  }
  return { submitted: runs, problems, last };
}

/** Two workers may write one after the other: what is done stays done. */
async function writeDone(runsDir: string, schedule: Schedule, now: Date, last: Done['last']): Promise<void> {
  const before = readProgress(runsDir, schedule);
  const was = before === 'unreadable' ? undefined : before;
  const earlier = was?.last ?? null;
  await writeProgress(runsDir, schedule, {
    until: new Date(Math.max(now.getTime(), Date.parse(was?.until ?? schedule.from))).toISOString(),
    last: last === null || (earlier !== null && earlier.time > last.time) ? earlier : last,
  });
}
