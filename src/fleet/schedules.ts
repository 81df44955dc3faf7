/** The files of schedules. People write the schedule itself, workers what they have done for it: no change of one loses one of the other. */
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import type * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { labelForm } from '../core/records/job.ts';
import {
  type Schedule,
  type ScheduleProblem,
  type ScheduleProgress,
  scheduleProblemSchema,
  scheduleProgressSchema,
  scheduleSchema,
} from '../core/records/schedule.ts';
import { linkOnce } from '../platform/files/link.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { removeFile, syncFolder, writeJson } from '../platform/files/write.ts';
import { fleetLayout } from './layout.ts';

export type ScheduleRead =
  | { readonly kind: 'read'; readonly name: string; readonly schedule: Schedule }
  /** `why` names the file. */
  | { readonly kind: 'unreadable'; readonly name: string; readonly why: string };

const mostBytes = 16 * 1024 * 1024;

/** All schedules of the runs directory, by name. */
export const readSchedules = (runsDir: string): readonly ScheduleRead[] =>
  namesIn(fleetLayout(runsDir).schedules.root)
    .flatMap((file) => {
      const name = file.endsWith('.json') ? file.slice(0, -'.json'.length) : '';
      return labelForm.test(name) ? (readSchedule(runsDir, name) ?? []) : [];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));

/** Undefined where there is none. */
export function readSchedule(runsDir: string, name: string): ScheduleRead | undefined {
  const path = fleetLayout(runsDir).schedules.schedule(name);
  const is = readPlain(path, mostBytes);
  if (is.kind === 'missing') return undefined;
  const unreadable = (why: string): ScheduleRead => ({ kind: 'unreadable', name, why: `${path} ${why}` });
  if (is.kind !== 'text') return unreadable(is.why);
  const read = scheduleSchema().safeParse(jsonIn(is.text));
  if (read.success && read.data.name === name) return { kind: 'read', name, schedule: read.data };
  const [issue] = read.error?.issues ?? [];
  const at = issue?.path.join('.') ?? '';
  return unreadable(`is no schedule "${name}"${at === '' ? '' : ` (${at}: ${issue?.message ?? ''})`}`);
}

/** False where there is one of that name, which is kept. */
export const addSchedule = (runsDir: string, schedule: Schedule): Promise<boolean> =>
  linkOnce(fleetLayout(runsDir).schedules.schedule(schedule.name), `${JSON.stringify(schedule, null, 2)}\n`);

export const replaceSchedule = (runsDir: string, schedule: Schedule): Promise<void> =>
  writeJson(fleetLayout(runsDir).schedules.schedule(schedule.name), schedule, {
    mode: 0o600, // as when it was added: it may name a secret target of notices
    sync: true,
    syncFolder: true,
  });

/** The runs that it has submitted stay. */
export async function removeSchedule(runsDir: string, name: string): Promise<void> {
  const { schedule, progress, problem } = fleetLayout(runsDir).schedules;
  removeFile(schedule(name));
  await syncFolder(dirname(schedule(name)));
  // A tick that has read the schedule may write these again: they are of a schedule that is not there, and count for no other.
  for (const path of [progress(name), problem(name)]) removeFile(path);
}

/** Undefined where no worker has done anything for this very schedule. */
export const readProgress = (runsDir: string, of: Schedule): ScheduleProgress | undefined | 'unreadable' =>
  readOf(fleetLayout(runsDir).schedules.progress(of.name), scheduleProgressSchema(), of);

export const writeProgress = (
  runsDir: string,
  of: Schedule,
  progress: Pick<ScheduleProgress, 'until' | 'last'>,
): Promise<void> => {
  const whole: ScheduleProgress = { schema_version: 1, of: of.created_at, ...progress };
  return writeJson(fleetLayout(runsDir).schedules.progress(of.name), whole, { sync: true, syncFolder: true });
};

export function readScheduleProblem(runsDir: string, of: Schedule): ScheduleProblem | undefined {
  const read = readOf(fleetLayout(runsDir).schedules.problem(of.name), scheduleProblemSchema(), of);
  return read === 'unreadable' ? undefined : read;
}

/** Links the problem. False where the schedule has one already: one of several workers reports it. */
export async function linkScheduleProblem(
  runsDir: string,
  of: Schedule,
  problem: Pick<ScheduleProblem, 'time' | 'text'>,
): Promise<boolean> {
  const path = fleetLayout(runsDir).schedules.problem(of.name);
  // Of an earlier schedule with this name.
  if (readScheduleProblem(runsDir, of) === undefined) removeFile(path);
  const whole: ScheduleProblem = { schema_version: 1, of: of.created_at, ...problem };
  return linkOnce(path, `${JSON.stringify(whole, null, 2)}\n`);
}

export const clearScheduleProblem = (runsDir: string, { name }: Pick<Schedule, 'name'>): void =>
  removeFile(fleetLayout(runsDir).schedules.problem(name));

function readOf<T extends { readonly of: string }>(
  path: string,
  schema: z.ZodType<T>,
  { created_at }: Schedule,
): T | undefined | 'unreadable' {
  const is = readPlain(path, mostBytes);
  if (is.kind === 'missing') return undefined;
  const read = is.kind === 'text' ? schema.safeParse(jsonIn(is.text)) : undefined;
  if (read?.success !== true) return 'unreadable';
  return read.data.of === created_at ? read.data : undefined;
}

/** What changes when a schedule is added, changed or removed: each of these renames a file in the folder. */
export function schedulesVersion(runsDir: string): string {
  try {
    const is = lstatSync(fleetLayout(runsDir).schedules.root, { bigint: true, throwIfNoEntry: false });
    return is === undefined ? '' : `${is.ino} ${is.mtimeNs}`;
  } catch {
    return '';
  }
}
