/** What is set for all runs of a runs folder: caps per day and their time zone, and what holds for runs with a label. Each is declared
 *  once: `factory queue set`, the file, the docs and the report are made from these tables. */
import * as z from 'zod';
import { knownZones, zoneNamed } from '../days.ts';
import { nearestOf } from '../nearest.ts';
import { once } from '../once.ts';
import { labelForm } from '../records/job.ts';
import { type AttributeSpec, type AttributeTable, type AttributeType, attr, count, number } from './types.ts';

/** A cap of zero would stop every run. */
const cap = (type: AttributeType<number>): AttributeType<number> => ({
  ...type,
  wants: type.json === 'integer' ? 'a whole number greater than 0' : 'a number greater than 0',
  read(value) {
    const read = type.read(value);
    if (!read.ok || read.value > 0) return read;
    return {
      ok: false,
      why: 'is zero, so no run could make a call; to keep jobs from running, hold them (factory queue hold RUN)',
    };
  },
});

const timeZone = (): AttributeType<string> => ({
  wants: 'the name of a time zone, such as Europe/Berlin or UTC',
  example: 'Europe/Berlin',
  read({ text }) {
    const word = text.trim();
    const zone = zoneNamed(word);
    if (zone !== undefined) return { ok: true, value: zone };
    return { ok: false, why: 'is not a time zone', meant: nearestZone(word) };
  },
});

/** `Berlin` and `europe/berlim` mean `Europe/Berlin`. */
function nearestZone(word: string): string | undefined {
  const zones = knownZones();
  const city = zones.find((zone) => zone.split('/').at(-1)?.toLowerCase() === word.toLowerCase());
  return city ?? nearestOf(word, zones);
}

/** Caps per day, of all runs of the folder or of those with a label. */
export const dayCapSettings = {
  max_cost_usd_day: attr(
    cap(number(0)),
    'What the model calls of all runs may cost in a day, in US dollars.',
    { unset: 'no cap', example: '50' },
  ),
  max_tokens_day: attr(
    cap(count(0)),
    'How many tokens the model calls of all runs may use in a day, input and output.',
    { unset: 'no cap', example: '20000000' },
  ),
} as const satisfies AttributeTable;
export type DayCapName = keyof typeof dayCapSettings;

/** Of the whole folder. */
export const folderSettings = {
  ...dayCapSettings,
  time_zone: attr(timeZone(), 'The time zone in which a day begins and ends.', {
    unset: 'the zone of the machine on which the first setting was made',
    example: 'Europe/Berlin',
  }),
} as const satisfies AttributeTable;

/** Of runs with a label (`--label`). */
export const labelSettings = {
  ...dayCapSettings,
  max_running: attr(cap(count(0)), 'How many queued runs with the label may run at once.', {
    unset: 'no cap',
    example: '2',
  }),
} as const satisfies AttributeTable;

export type LabelSettings = {
  readonly [K in keyof typeof labelSettings]?: number;
};
export type QueueSettings = { readonly [K in DayCapName]?: number } & {
  readonly schema_version: 1;
  /** RFC 3339. */
  readonly changed_at: string;
  readonly time_zone: string;
  readonly labels: Readonly<Record<string, LabelSettings>>;
};

export type QueueSettingName = keyof typeof folderSettings | keyof typeof labelSettings;
export const queueSettingNames = [
  ...new Set([...Object.keys(folderSettings), ...Object.keys(labelSettings)]),
] as readonly QueueSettingName[];

/** The declaration of a setting: of the folder, or of runs with a label; undefined where there is none of that name. */
export function queueSetting(name: string, ofLabel: boolean): AttributeSpec | undefined {
  const table: AttributeTable = ofLabel ? labelSettings : folderSettings;
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A field of the file: what the setting's text may be. */
const field = (spec: AttributeSpec) =>
  z
    .union([z.number(), z.string()])
    .superRefine((value, context) => {
      const read = spec.read({ kind: 'string', text: String(value) });
      const isTyped = spec.json === undefined ? typeof value === 'string' : typeof value === 'number';
      if (!read.ok) context.addIssue({ code: 'custom', message: read.why });
      else if (!isTyped) context.addIssue({ code: 'custom', message: `is not ${spec.wants}` });
    })
    .meta({ type: spec.json ?? 'string', description: spec.does });

const fieldsOf = (table: AttributeTable) =>
  Object.fromEntries(Object.entries(table).map(([name, spec]) => [name, field(spec).exactOptional()]));

/** `queue/settings.json`. */
export const queueSettingsSchema = once(() =>
  z
    .strictObject({
      schema_version: z.literal(1),
      changed_at: z.iso.datetime(),
      ...fieldsOf(folderSettings),
      time_zone: field(folderSettings.time_zone),
      labels: z.record(
        z.string().regex(labelForm, 'is not a label'),
        z.strictObject(fieldsOf(labelSettings)),
      ),
    })
    .transform((settings) => settings as QueueSettings),
);
