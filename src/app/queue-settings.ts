/** Changes what is set for all runs of a runs folder. Everything is checked before anything is written. */
import type { Clock } from '../core/contracts/clock.ts';
import { dayAt } from '../core/days.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { nearestOf } from '../core/nearest.ts';
import { labelForm, labelFormWords } from '../core/records/job.ts';
import {
  folderSettings,
  labelSettings,
  type QueueSettings,
  queueSetting,
  queueSettingNames,
} from '../core/settings/queue.ts';
import { dropSpendFiles } from '../fleet/day-spend.ts';
import { changeQueueSettings, readQueueSettings, type SettingsRead } from '../fleet/settings.ts';
import { openDayBook } from './day-caps.ts';

export type SettingChange = {
  readonly name: string;
  /** As typed; undefined to unset it. */
  readonly value: string | undefined;
  readonly label: string | undefined;
};

/** Sets or unsets one; what runs have spent today counts from now on. `zone`: of this machine, where none is set. */
export async function changeQueueSetting(
  runsDir: string,
  change: SettingChange,
  host: { readonly clock: Clock; readonly zone: string },
): Promise<{ readonly settings: QueueSettings } | Refusal> {
  const checked = checkedChange(change);
  if ('problems' in checked) return checked;
  const now = readQueueSettings(runsDir);
  if (now.kind === 'unreadable') return refused('queue-settings', now.why, now.fix);
  const next = (before: SettingsRead) => withChange(baseOf(before, host), change, checked.value);
  const dayOf = ({ time_zone }: QueueSettings) => dayAt(host.clock.now(), time_zone);
  // A user has removed the settings, and runs have not written what they spent since: their journals say it.
  if (now.kind === 'none') dropSpendFiles(runsDir, dayOf(next(now)).name);
  const settings = await changeQueueSettings(runsDir, next);
  await openDayBook(runsDir, host.clock).fileUnowned(dayOf(settings));
  return { settings };
}

function baseOf(
  before: SettingsRead,
  { clock, zone }: { readonly clock: Clock; readonly zone: string },
): QueueSettings {
  const changed_at = clock.now().toISOString();
  if (before.kind === 'set') return { ...before.settings, changed_at };
  return { schema_version: 1, changed_at, time_zone: zone, labels: {} };
}

function withChange(settings: QueueSettings, { name, label }: SettingChange, value: unknown): QueueSettings {
  if (label === undefined) return changed(settings, name, value);
  const { [label]: its = {}, ...others } = settings.labels;
  const next = changed(its, name, value);
  return { ...settings, labels: Object.keys(next).length === 0 ? others : { ...others, [label]: next } };
}

function changed<T extends object>(settings: T, name: string, value: unknown): T {
  const { [name as keyof T]: _, ...others } = settings;
  return (value === undefined ? others : { ...others, [name]: value }) as T;
}

/** The typed value, or what is wrong with the change. */
function checkedChange({ name, value, label }: SettingChange): { readonly value: unknown } | Refusal {
  if (label !== undefined && !labelForm.test(label))
    return refused('usage', `--label ${label} is not a label: ${labelFormWords}`, 'for example --label big');
  const spec = queueSetting(name, label !== undefined);
  if (spec === undefined) return unknownSetting(name, label);
  if (value === undefined)
    return name === 'time_zone'
      ? refused('usage', 'time_zone cannot be unset: a day needs a zone', 'factory queue set time_zone UTC')
      : { value: undefined };
  const read = spec.read({ kind: 'string', text: value });
  if (read.ok) return { value: read.value };
  const meant = read.meant ?? spec.example;
  return refused('usage', `${name} ${value} ${read.why}`, `for example factory queue set ${name} ${meant}`);
}

function unknownSetting(name: string, label: string | undefined): Refusal {
  const isKnown = queueSettingNames.some((one) => one === name);
  if (isKnown && label === undefined)
    return refused(
      'usage',
      `${name} is set for a label, and none is named`,
      `for example factory queue set ${name} ${queueSetting(name, true)?.example} --label big`,
    );
  if (isKnown)
    return refused('usage', `${name} is set for the whole runs folder, not for a label`, 'leave out --label');
  const words = name.split(/[^a-z]/).filter((word) => word !== '');
  const alike = queueSettingNames.find(
    (one) => words.length > 1 && words.every((word) => one.includes(word)),
  );
  const meant = nearestOf(name, queueSettingNames) ?? alike;
  const names = Object.keys(label === undefined ? folderSettings : labelSettings).join(', ');
  return refused(
    'usage',
    `there is no setting ${name}`,
    meant === undefined ? `use one of ${names}` : `did you mean ${meant}? There are ${names}`,
  );
}
