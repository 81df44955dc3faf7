/** `factory schedule`: submits a pipeline or spec again and again. */
import { placeWords } from '../app/acts.ts';
import { typedCommand } from '../app/typed-command.ts';
import { zonedWords } from '../core/days.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { QueueScheduleRow } from '../core/records/queue-report.ts';
import { type MissedRule, scheduledRunId } from '../core/records/schedule.ts';
import { readWorkers } from '../fleet/workers.ts';
import { schedulesOf } from '../keeper/schedule-rows.ts';
import {
  createSchedule,
  dropSchedule,
  type NewSchedule,
  pauseSchedule,
  runSchedule,
} from '../keeper/schedules.ts';
import { invocationOf } from './arguments.ts';
import { runsDirOf } from './find-run.ts';
import { warnOf } from './flags.ts';
import { type CliIo, paints } from './io.ts';
import { type QueuePlace, withQueue } from './open-queue.ts';
import { openView } from './report/live.ts';
import { columns, painter } from './report/run.ts';
import { type SubmitOptions, submitRequestOf } from './submit.ts';
import type { VerbResult } from './verb.ts';

type ScheduleOptions = Omit<SubmitOptions, 'key' | 'notBefore' | 'inOrder' | 'quiet' | 'name'> & {
  readonly name?: string;
  readonly zone?: string;
  readonly missed?: MissedRule;
};
type NamedOptions = QueuePlace & { readonly json?: boolean; readonly color?: boolean };

export async function scheduleCommand(
  cron: string | undefined,
  source: string | undefined,
  options: ScheduleOptions,
  io: CliIo,
): Promise<VerbResult> {
  if (cron === undefined || source === undefined) return incomplete(cron);
  const view = await openView(options, io);
  const runsDir = runsDirOf(options, io);
  const { name, zone, missed = 'once', ...its } = options;
  const { flags, vars, strict, allowDirty, notify, priority } = submitRequestOf([source], its);
  const request = { flags, vars, strict, allowDirty, notify, priority, cron, source, name, zone, missed };
  // A queue that cannot be opened would take none of its runs.
  const made = await withQueue(options, io, () => createSchedule(request, { ...io, runsDir }));
  if ('problems' in made) return made;
  for (const read of made.found) warnOf(read, io, view);
  for (const warning of made.warnings) view.log('warn', warning);
  if (readWorkers(runsDir, io.clock).every(({ standing }) => standing === 'dead'))
    view.log('warn', invocationOf('no worker runs: factory keep starts one', io.called?.program));
  if (options.json === true)
    printJson({ schema_version: 1, schedules: rowsNamed(runsDir, made.schedule.name, io) }, io);
  else io.out(`${createdLines(made, runsDir, io).join('\n')}\n`);
  return 0;
}

const incomplete = (cron: string | undefined): Refusal =>
  refused(
    'usage',
    cron === undefined ? 'the times and what to submit are missing' : 'what to submit is missing',
    'for example factory schedule "0 2 * * *" my-spec.md',
  );

function createdLines(
  { schedule, next }: NewSchedule,
  runsDir: string,
  { cwd, called }: CliIo,
): readonly string[] {
  const { name, cron, zone } = schedule;
  const list = typedCommand(called?.program ?? 'factory', ['schedule', 'list', ...placeWords(runsDir, cwd)]);
  return [
    `schedule ${name}: ${cron}`,
    `  next   ${zonedWords(next, zone)}`,
    `  run    ${scheduledRunId(name, next)}`,
    `  list   ${list}`,
  ];
}

const rowsNamed = (runsDir: string, name: string, { clock }: CliIo): readonly QueueScheduleRow[] =>
  schedulesOf(runsDir, { clock }).filter((one) => one.name === name);

const printJson = (value: object, io: CliIo): void => io.out(`${JSON.stringify(value, null, 2)}\n`);

export async function scheduleListCommand(options: NamedOptions, io: CliIo): Promise<VerbResult> {
  const rows = schedulesOf(runsDirOf(options, io), io);
  if (options.json === true) {
    printJson({ schema_version: 1, schedules: rows }, io);
    return 0;
  }
  if (rows.length === 0)
    io.out(
      `${invocationOf('no schedules; make one: factory schedule "0 2 * * *" my-spec.md', io.called?.program)}\n`,
    );
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const all = columns(rows.map((row) => [row.name, row.cron, row.zone, stateWords(row)]));
  for (const [at, { cells, last }] of all.entries()) {
    const row = rows[at];
    io.out(`${[...cells, last].join('  ').trimEnd()}\n`);
    if (row !== undefined) for (const line of detailsOf(row)) io.out(`${paint.dim(`  ${line}`)}\n`);
  }
  return 0;
}

const stateWords = ({ next, paused, zone }: QueueScheduleRow): string =>
  paused ? 'paused' : next === null ? '' : `next ${zonedWords(new Date(next), zone)}`;

const detailsOf = ({ command, last_run, problem }: QueueScheduleRow): readonly string[] => [
  ...(command === '' ? [] : [command]),
  ...(last_run === null ? [] : [`last run: ${last_run}`]),
  ...(problem === '' ? [] : [`needs attention: ${problem}`]),
];

/** The command that pauses, or ends the pause. */
const pausing =
  (paused: boolean) =>
  async (name: string, options: NamedOptions, io: CliIo): Promise<VerbResult> => {
    const runsDir = runsDirOf(options, io);
    const changed = await pauseSchedule(runsDir, name, paused, io);
    if ('problems' in changed) return changed;
    const rows = rowsNamed(runsDir, name, io);
    if (options.json === true) printJson({ schema_version: 1, schedules: rows }, io);
    else for (const row of rows) io.out(`schedule ${name}: ${stateWords(row)}\n`);
    return 0;
  };

export const schedulePauseCommand = pausing(true);
export const scheduleResumeCommand = pausing(false);

export async function scheduleRunCommand(
  name: string,
  options: NamedOptions,
  io: CliIo,
): Promise<VerbResult> {
  const ran = await withQueue(options, io, (queue, runsDir) => runSchedule(queue, name, { ...io, runsDir }));
  if ('problems' in ran) return ran;
  if (options.json === true) printJson({ schema_version: 1, ...ran }, io);
  else io.out(`${ran.already ? 'already submitted' : 'queued'}: ${ran.run_id}\n`);
  return 0;
}

export async function scheduleRemoveCommand(
  name: string,
  options: NamedOptions,
  io: CliIo,
): Promise<VerbResult> {
  const refusal = await dropSchedule(runsDirOf(options, io), name);
  if (refusal !== undefined) return refusal;
  if (options.json === true) printJson({ schema_version: 1, removed: name }, io);
  else io.out(`removed schedule ${name}; its runs stay\n`);
  return 0;
}
