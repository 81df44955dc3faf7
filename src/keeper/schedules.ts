/** What people do with schedules: make, list, pause, resume, run and remove them. */

import { existsSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { thisUser } from '../app/acts.ts';
import type { ReadPipeline } from '../app/read-pipeline.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { localZone } from '../core/days.ts';
import { type Diagnostic, placedMessage, type Refusal, refused, wrong } from '../core/diagnostic.ts';
import { nearestOf } from '../core/nearest.ts';
import {
  type MissedRule,
  type Schedule,
  scheduledRunId,
  scheduleNameProblem,
} from '../core/records/schedule.ts';
import { cronTimes, neverComes } from '../fleet/cron.ts';
import {
  addSchedule,
  clearScheduleProblem,
  readSchedule,
  readSchedules,
  removeSchedule,
  replaceSchedule,
} from '../fleet/schedules.ts';
import { makeRunsDir } from '../run/runs.ts';
import type { TypedFlags } from './passed-flags.ts';
import type { SubmitScheduled } from './schedule-ticks.ts';
import { sourcesOf } from './sources.ts';
import { checkedJobs, type SubmitHost, type SubmitRequest } from './submit.ts';

export type ScheduleRequest = Pick<
  SubmitRequest,
  'flags' | 'vars' | 'strict' | 'allowDirty' | 'notify' | 'priority'
> & {
  readonly cron: string;
  /** A pipeline or a spec, as typed. */
  readonly source: string;
  /** By default the name of its file. */
  readonly name?: string | undefined;
  /** By default that of this machine. */
  readonly zone?: string | undefined;
  readonly missed: MissedRule;
};

export type NewSchedule = {
  readonly schedule: Schedule;
  /** When it submits first. */
  readonly next: Date;
  readonly found: readonly ReadPipeline[];
  readonly warnings: readonly string[];
};

/** Keeps a schedule, once all is checked that `factory submit` checks; answers with all that is wrong. */
export async function createSchedule(
  request: ScheduleRequest,
  host: SubmitHost,
): Promise<NewSchedule | Refusal> {
  const { runsDir, clock } = host;
  const problems: Diagnostic[] = [];
  const name = request.name ?? nameOfSource(request.source);
  const badName = scheduleNameProblem(name);
  if (badName !== undefined)
    problems.push(wrong('usage', `--name: ${badName}`, 'for example --name nightly'));
  const read = cronTimes(request.cron, request.zone ?? localZone());
  if ('problem' in read) problems.push(read.problem);
  const times = 'problem' in read ? undefined : read;
  const now = clock.now();
  const never = times === undefined ? undefined : neverComes(request.cron, times, now);
  if (never !== undefined) problems.push(never);
  const several = onlyOne(request.source, host.cwd);
  if (several !== undefined) problems.push(...several.problems);
  const next = times?.next(now);
  const checked =
    several === undefined ? await checkedJobs(submitted(request, [request.source]), host) : several;
  if ('problems' in checked && several === undefined) problems.push(...checked.problems);
  if (problems.length > 0 || times === undefined || next === undefined || 'problems' in checked)
    return { problems };
  const schedule = recordOf({ ...request, name, zone: times.zone }, host);
  if (readSchedule(runsDir, name) !== undefined) return nameInUse(name);
  await makeRunsDir(runsDir);
  if (!(await addSchedule(runsDir, schedule))) return nameInUse(name);
  return { schedule, next, found: checked.found, warnings: checked.warnings };
}

/** `specs/report.md` → `report`. */
const nameOfSource = (source: string): string => basename(source, extname(source)).replace(/[^\w.-]+/g, '-');

const nameInUse = (name: string): Refusal =>
  refused(
    'schedule-name',
    `there is a schedule "${name}" already`,
    `choose another --name, or remove that one: factory schedule remove ${name}`,
  );

/** A folder of specs has another content at each time. */
function onlyOne(source: string, cwd: string): Refusal | undefined {
  const found = sourcesOf([source], cwd);
  if ('problems' in found) return found;
  const [one] = found.sources;
  const isFolder = one?.spec !== undefined && one.spec !== resolve(cwd, source);
  if (found.sources.length === 1 && !isFolder) return undefined;
  return refused(
    'usage',
    `${source} is a folder, and a schedule submits one pipeline or spec`,
    'make a schedule for each of its specs',
  );
}

function recordOf(
  {
    flags,
    vars,
    strict,
    allowDirty,
    notify,
    priority,
    cron,
    source,
    name,
    zone,
    missed,
  }: ScheduleRequest & {
    readonly name: string;
    readonly zone: string;
  },
  { cwd, clock }: SubmitHost,
): Schedule {
  const at = clock.now().toISOString();
  return {
    ...{ schema_version: 1, name, cron: cron.trim(), zone, missed, paused: false },
    ...{ from: at, created_at: at, created_by: thisUser() },
    request: {
      ...{ cwd, source, vars: { ...vars }, strict, allow_dirty: allowDirty, priority },
      flags: JSON.parse(JSON.stringify(flags)),
      ...(notify === undefined ? {} : { notify }),
    },
  };
}

type Submitted = Pick<ScheduleRequest, 'flags' | 'vars' | 'strict' | 'allowDirty' | 'notify' | 'priority'>;

const submitted = (
  { flags, vars, strict, allowDirty, notify, priority }: Submitted,
  names: readonly string[],
  key?: string,
): SubmitRequest => ({ names, flags, vars, strict, allowDirty, notify, priority, key, inOrder: false });

/** The flags of a schedule as they were typed. */
export const flagsOfSchedule = ({ request }: Schedule): TypedFlags => request.flags as TypedFlags;

/** Submits runs of schedules into `queue`, each checked as `factory submit` checks it. */
export const submitScheduled =
  (queue: JobQueue, host: Omit<SubmitHost, 'cwd'>): SubmitScheduled =>
  async (schedule, runId) => {
    const { runsDir } = host;
    const isThere = async () => existsSync(join(runsDir, runId)) || (await queue.get(runId)) !== undefined;
    if (await isThere()) return { kind: 'already' };
    const { cwd, source, allow_dirty: allowDirty, notify, ...rest } = schedule.request;
    const flags = flagsOfSchedule(schedule);
    const request = submitted({ ...rest, flags, allowDirty, notify }, [source], runId);
    const checked = await checkedJobs(request, { ...host, cwd });
    if ('problems' in checked) return { kind: 'refused', text: wordsOfProblems(checked) };
    const jobs = checked.jobs.map(({ job, target }) => ({
      job: { ...job, submitted_by: schedule.created_by },
      target,
    }));
    const [added] = await queue.submit(jobs);
    return { kind: added === true ? 'submitted' : 'already' };
  };

const wordsOfProblems = ({ problems }: Refusal): string => {
  const [first, ...more] = problems;
  const rest = more.length === 0 ? '' : ` (and ${more.length} more)`;
  const message = placedMessage(first?.message ?? '', first?.place);
  return `${message}${first?.fix === undefined ? '' : `; ${first.fix}`}${rest}`;
};

/** The schedule of that name, or why there is none. */
export function scheduleNamed(runsDir: string, name: string): { readonly schedule: Schedule } | Refusal {
  const read = scheduleNameProblem(name) === undefined ? readSchedule(runsDir, name) : undefined;
  if (read?.kind === 'read') return { schedule: read.schedule };
  if (read !== undefined)
    return refused(
      'schedule-file',
      read.why,
      `correct that file, or remove it: factory schedule remove ${name}`,
    );
  const meant = nearestOf(
    name,
    readSchedules(runsDir).map((one) => one.name),
  );
  return refused(
    'schedule-unknown',
    `there is no schedule "${name}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}factory schedule list lists them`,
  );
}

/** Pauses a schedule, or ends its pause: times of a pause do not count as missed. */
export async function pauseSchedule(
  runsDir: string,
  name: string,
  paused: boolean,
  { clock }: Pick<SubmitHost, 'clock'>,
): Promise<{ readonly schedule: Schedule } | Refusal> {
  const found = scheduleNamed(runsDir, name);
  if ('problems' in found || found.schedule.paused === paused) return found;
  const from = paused ? {} : { from: clock.now().toISOString() };
  const schedule = { ...found.schedule, paused, ...from };
  await replaceSchedule(runsDir, schedule);
  return { schedule };
}

/** Submits a run of it now, whether it is paused or not. Its next time stays. */
export async function runSchedule(
  queue: JobQueue,
  name: string,
  host: Omit<SubmitHost, 'cwd'>,
): Promise<{ readonly run_id: string; readonly already: boolean } | Refusal> {
  const found = scheduleNamed(host.runsDir, name);
  if ('problems' in found) return found;
  const run_id = scheduledRunId(name, host.clock.now());
  const answer = await submitScheduled(queue, host)(found.schedule, run_id);
  if (answer.kind === 'refused')
    return refused('schedule-run', `the schedule "${name}" submits nothing: ${answer.text}`);
  clearScheduleProblem(host.runsDir, found.schedule);
  return { run_id, already: answer.kind === 'already' };
}

/** Removes it, also one whose file cannot be read. The runs that it has submitted stay. */
export async function dropSchedule(runsDir: string, name: string): Promise<Refusal | undefined> {
  const found = scheduleNamed(runsDir, name);
  const isFile = !('problems' in found) || readSchedules(runsDir).some((one) => one.name === name);
  if (!isFile) return found as Refusal;
  await removeSchedule(runsDir, name);
  return undefined;
}
