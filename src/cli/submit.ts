/** `factory submit`: puts runs into the queue. */
import { placeWords } from '../app/acts.ts';
import { typedCommand } from '../app/typed-command.ts';
import { countedItems, localTime } from '../core/amounts.ts';
import type { SubmitReport } from '../core/records/queue-report.ts';
import { type SettingName, settingNames } from '../core/settings/run.ts';
import type { TypedFlag, TypedFlags } from '../keeper/passed-flags.ts';
import { type SubmitRequest, submitRuns } from '../keeper/submit.ts';
import { invocationOf } from './arguments.ts';
import { warnOf } from './flags.ts';
import type { CliIo } from './io.ts';
import { type QueuePlace, withQueue } from './open-queue.ts';
import { openView } from './report/live.ts';
import type { VerbResult } from './verb.ts';

export type SubmitOptions = QueuePlace & { readonly [K in SettingName]?: TypedFlag } & {
  readonly priority?: number;
  readonly notBefore?: string;
  readonly key?: string;
  readonly inOrder?: boolean;
  readonly var?: Readonly<Record<string, string>>;
  readonly strict?: boolean;
  readonly allowDirty?: boolean;
  readonly notify?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly color?: boolean;
};

export async function submitCommand(
  names: readonly string[],
  options: SubmitOptions,
  io: CliIo,
): Promise<VerbResult> {
  const view = await openView(options, io);
  const submitted = await withQueue(options, io, (queue, runsDir) =>
    submitRuns(queue, submitRequestOf(names, options), { ...io, runsDir }, (found) => {
      for (const read of found) warnOf(read, io, view);
    }),
  );
  if ('problems' in submitted) return submitted;
  for (const warning of submitted.warnings) view.log('warn', invocationOf(warning, io.called?.program));
  io.out(
    options.json === true
      ? `${JSON.stringify(submitted, null, 2)}\n`
      : `${(options.quiet === true ? submitted.runs.map(({ run_id }) => run_id) : submittedLines(submitted, io)).join('\n')}\n`,
  );
  return 0;
}

/** The flags by their meaning. */
export const submitRequestOf = (names: readonly string[], options: SubmitOptions): SubmitRequest => ({
  names,
  flags: Object.fromEntries(
    settingNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  ) as TypedFlags,
  vars: options.var ?? {},
  strict: options.strict === true,
  allowDirty: options.allowDirty === true,
  notify: options.notify,
  priority: options.priority ?? 0,
  notBefore: options.notBefore,
  key: options.key,
  inOrder: options.inOrder === true,
});

/** So many runs are listed one by one. */
const mostListed = 20;

function submittedLines({ runs, runs_dir }: SubmitReport, { cwd, called, clock }: CliIo): readonly string[] {
  const more = runs.length - mostListed;
  return [
    ...runs.slice(0, mostListed).map((run) => lineOf(run, clock.now())),
    ...(more > 0 ? [`… and ${more} more: ${countedItems(runs.length, 'run')}`] : []),
    `  queue  ${typedCommand(called?.program ?? 'factory', ['queue', ...placeWords(runs_dir, cwd)])}`,
  ];
}

function lineOf({ run_id, title, state, due_at, already }: SubmitReport['runs'][number], now: Date): string {
  const name = title === '' ? run_id : `${run_id}  ${title}`;
  if (state === 'begun') return `already submitted: ${name} (the run is there)`;
  const due = due_at === null ? '' : ` (not before ${localTime(due_at, now)})`;
  const when = state === 'held' ? ' (in order)' : due;
  return `${already ? 'already submitted' : 'queued'}: ${name}${already ? ` (${state})` : when}`;
}
