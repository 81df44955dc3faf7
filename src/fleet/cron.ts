/** The times of a cron expression in a time zone. */
import { Cron } from 'croner';
import { knownZones, zoneNamed } from '../core/days.ts';
import { type Diagnostic, wrong } from '../core/diagnostic.ts';
import { nearestOf } from '../core/nearest.ts';

export type CronTimes = {
  /** The canonical name. */
  readonly zone: string;
  /** The first time after this one; undefined where none comes. */
  next(after: Date): Date | undefined;
};

const fields = ['minute', 'hour', 'day', 'month', 'weekday'] as const;
const words = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;
const howToWrite = 'write five fields in quotes, MINUTE HOUR DAY MONTH WEEKDAY: "30 2 * * 1-5"; or @daily';

/** The times, or what is wrong. A time that the change of a clock leaves out is the first one after the gap; of an hour that is
 *  repeated the first counts, except for an expression with `*` or steps in minutes or hours, which means each of them. */
export function cronTimes(cron: string, zone: string): CronTimes | { readonly problem: Diagnostic } {
  const named = zoneNamed(zone);
  if (named === undefined)
    return { problem: wrong('schedule-zone', `"${zone}" is not a time zone`, zoneFix(zone)) };
  const bad = (why: string, fix = howToWrite) => ({
    problem: wrong('schedule-cron', `the times "${cron}": ${why}`, fix),
  });
  const text = cron.trim();
  const count = text === '' ? 0 : text.split(/\s+/).length;
  if (count !== fields.length && !words.test(text))
    return bad(`${count === 1 ? 'one field' : `${count} fields`}, and it takes ${fields.length}`);
  let times: Cron;
  try {
    times = new Cron(text, { timezone: named, mode: '5-part', fixedTimeRule: 'no-wildcard' });
  } catch (error) {
    return bad(cronWords(error));
  }
  return { zone: named, next: (after) => times.nextRun(after) ?? undefined };
}

/** Whether any time comes, for a new schedule. */
export const neverComes = (cron: string, { next }: CronTimes, now: Date): Diagnostic | undefined =>
  next(now) === undefined
    ? wrong(
        'schedule-never',
        `the times "${cron}" never come: no month has such a day`,
        'change the day or the month; L is the last day of a month',
      )
    : undefined;

/** The reason in the words of the fields. */
function cronWords(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const plain = text
    .replace(/^CronPattern: /, '')
    .replace(/^Syntax error, /, '')
    .replace('dayOfWeek', 'weekday')
    .replace(/\.$/, '');
  return plain.charAt(0).toLowerCase() + plain.slice(1);
}

/** `Berlin` and `europe/berlim` mean `Europe/Berlin`. */
function zoneFix(zone: string): string {
  const zones = knownZones();
  const city = zones.find((one) => one.split('/').at(-1)?.toLowerCase() === zone.toLowerCase());
  const meant = city ?? nearestOf(zone, zones);
  return `${meant === undefined ? '' : `did you mean "${meant}"? `}for example Europe/Berlin, or UTC`;
}
