/** `factory queue set` and `unset`: caps per day and other settings of all runs of a runs folder. */
import { capsOf } from '../app/day-caps.ts';
import { changeQueueSetting } from '../app/queue-settings.ts';
import { countedItems } from '../core/amounts.ts';
import { capAmount, measureOf } from '../core/budget/day-caps.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { localZone, zonedWords } from '../core/days.ts';
import { refused } from '../core/diagnostic.ts';
import type { QueueCapRow } from '../core/records/queue-report.ts';
import { type DayCapName, dayCapSettings, type QueueSettings } from '../core/settings/queue.ts';
import { readQueueSettings } from '../fleet/settings.ts';
import { invocationOf } from './arguments.ts';
import { usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import { type QueuePlace, withQueue } from './open-queue.ts';
import type { VerbResult } from './verb.ts';

type SettingOptions = QueuePlace & { readonly label?: string; readonly json?: boolean };

export async function queueSet(
  name: string | undefined,
  value: string | undefined,
  options: SettingOptions,
  io: CliIo,
): Promise<VerbResult> {
  if (name === undefined)
    return withQueue(options, io, (queue, runsDir) => print(queue, runsDir, options, io));
  if (value === undefined)
    return usage(
      `no value for ${name} is named`,
      `factory queue set ${name} VALUE; factory queue set prints all`,
    );
  return change(name, value, options, io);
}

export const queueUnset = (name: string, options: SettingOptions, io: CliIo): Promise<VerbResult> =>
  change(name, undefined, options, io);

/** Changes a setting, and lets jobs try again that a cap has held back. */
const change = (
  name: string,
  value: string | undefined,
  options: SettingOptions,
  io: CliIo,
): Promise<VerbResult> =>
  withQueue(options, io, async (queue, runsDir) => {
    const about = { name, value, label: options.label };
    const done = await changeQueueSetting(runsDir, about, { clock: io.clock, zone: localZone() });
    if ('problems' in done) return done;
    for (const { job, state } of await queue.list())
      if (state === 'later' && job.reason?.kind === 'cap') await queue.change(job.run_id, { target: 'now' });
    return print(queue, runsDir, options, io);
  });

async function print(
  queue: Pick<JobQueue, 'list'>,
  runsDir: string,
  options: SettingOptions,
  io: CliIo,
): Promise<VerbResult> {
  const read = readQueueSettings(runsDir);
  if (read.kind === 'unreadable') return refused('queue-settings', read.why, read.fix);
  const settings = read.kind === 'set' ? read.settings : undefined;
  const caps = await capsOf(runsDir, io.clock, await queue.list());
  const text =
    options.json === true
      ? JSON.stringify({ settings: settings ?? null, caps }, null, 2)
      : settings === undefined
        ? invocationOf('nothing is set: factory queue set max_cost_usd_day 50', io.called?.program)
        : linesOf(settings, caps).join('\n');
  io.out(`${text}\n`);
  return 0;
}

function linesOf(settings: QueueSettings, caps: readonly QueueCapRow[]): readonly string[] {
  const zone = settings.time_zone;
  return [`time_zone ${zone}`, ...caps.map((cap) => capLine(cap, zone))];
}

/** `max_cost_usd_day 50 --label big: 12.5 USD spent, 0.4 USD reserved, resets at …`. */
function capLine({ label, measure, limit, spent, reserved, resets_at }: QueueCapRow, zone: string): string {
  const flag = label === null ? '' : ` --label ${label}`;
  const name = (Object.keys(dayCapSettings) as DayCapName[]).find((one) => measureOf(one) === measure);
  if (name === undefined) return `max_running ${limit}${flag}: ${countedItems(spent, 'run')} now`;
  const under = reserved > 0 ? `, ${capAmount(name, reserved)} reserved` : '';
  const resets = resets_at === null ? '' : `, resets at ${zonedWords(new Date(resets_at), zone)}`;
  return `${name} ${limit}${flag}: ${capAmount(name, spent)} spent today${under}${resets}`;
}
