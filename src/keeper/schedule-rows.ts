/** The schedules of a runs directory, as people see them. */
import { existsSync } from 'node:fs';
import { typedCommand } from '../app/typed-command.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { zonedWords } from '../core/days.ts';
import type { QueueScheduleRow } from '../core/records/queue-report.ts';
import type { Schedule } from '../core/records/schedule.ts';
import { cronTimes } from '../fleet/cron.ts';
import { lateMs } from '../fleet/due-times.ts';
import { readProgress, readScheduleProblem, readSchedules } from '../fleet/schedules.ts';
import { wordsOf } from './passed-flags.ts';
import { flagsOfSchedule } from './schedules.ts';

/** By name. Reads only. */
export const schedulesOf = (
  runsDir: string,
  { clock }: { readonly clock: Pick<Clock, 'now'> },
): QueueScheduleRow[] =>
  readSchedules(runsDir).map((read) =>
    read.kind === 'read'
      ? rowOf(runsDir, read.schedule, clock.now())
      : {
          ...{ name: read.name, cron: '', zone: '', command: '', next: null, last: null, last_run: null },
          ...{ paused: false, problem: read.why },
        },
  );

function rowOf(runsDir: string, schedule: Schedule, now: Date): QueueScheduleRow {
  const { name, cron, zone, paused, from } = schedule;
  const times = cronTimes(cron, zone);
  const progress = readProgress(runsDir, schedule);
  const { until = from, last = null } = typeof progress === 'object' ? progress : {};
  const since = new Date(Math.max(Date.parse(from), Date.parse(until)));
  const due = paused || 'problem' in times ? undefined : times.next(since);
  // A time without a run is late, and the next one comes all the same.
  const isLate = due !== undefined && now.getTime() - due.getTime() > lateMs;
  const next = isLate && !('problem' in times) ? times.next(now) : due;
  const problem =
    'problem' in times
      ? times.problem.message
      : progress === 'unreadable'
        ? 'what it has submitted last cannot be read'
        : (problemOf(runsDir, schedule) ?? (isLate ? lateWords(schedule, due) : ''));
  return {
    ...{ name, cron, zone, command: commandOf(schedule), paused, problem },
    ...{ next: next?.toISOString() ?? null, last: last?.time ?? null, last_run: last?.run_id ?? null },
  };
}

function problemOf(runsDir: string, schedule: Schedule): string | undefined {
  const problem = readScheduleProblem(runsDir, schedule);
  if (problem === undefined) return undefined;
  const at = zonedWords(new Date(problem.time), schedule.zone);
  return `nothing was submitted at ${at}: ${problem.text}`;
}

function lateWords({ zone, request: { cwd } }: Schedule, due: Date): string {
  const why = existsSync(cwd) ? 'no worker has looked since' : `no worker has the folder ${cwd}`;
  return `nothing was submitted at ${zonedWords(due, zone)}: ${why}`;
}

/** The command that submits the same once. */
function commandOf(schedule: Schedule): string {
  const { source, vars, cwd } = schedule.request;
  const words = Object.entries(vars).map(([name, value]) => `--var=${name}=${value}`);
  return typedCommand('factory', ['submit', source, ...words, ...wordsOf(flagsOfSchedule(schedule), cwd)]);
}
