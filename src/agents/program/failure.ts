/** The wait that a sentence about a limit names: `Please try again in 7m12s.`, `Please retry after 33 seconds.`, `try again at
 *  Nov 26th, 2026 5:29 AM`, `resets 1pm (Europe/Lisbon)`. */
import type { FailureClass, Park } from '../../core/outcome.ts';

const hourMs = 3_600_000;
const units: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, hourMs],
  [/^(?:d|days?)$/i, 86_400_000],
];
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Milliseconds; undefined where the sentence names no time that can be read. Times of day are those of this machine unless a
 *  zone is named. */
export const waitNamed = (text: string, now: Date): number | undefined =>
  lengthIn(text) ?? untilStamp(text, now) ?? untilMoment(text, now);

/** `usage limit reached|1760000000`: seconds since 1970. */
function untilStamp(text: string, now: Date): number | undefined {
  const stamp = /\|(\d{10})\b/.exec(text)?.[1];
  return stamp === undefined ? undefined : Math.max(0, Number(stamp) * 1000 - now.getTime());
}

function lengthIn(text: string): number | undefined {
  const length =
    /\b(?:try again|retry|resets?) (?:in|after) ((?:\d+(?:\.\d+)?\s*[a-z]+(?:,?\s+(?:and\s+)?)?)+)/i.exec(
      text,
    )?.[1];
  if (length === undefined) return undefined;
  let sum: number | undefined;
  for (const [, amount, word = ''] of length.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const each = units.find(([name]) => name.test(word))?.[1];
    if (each === undefined) break;
    sum = (sum ?? 0) + Number(amount) * each;
  }
  return sum === undefined || !Number.isFinite(sum) ? undefined : Math.ceil(sum);
}

/** A moment's name: `5:29 AM`, `Nov 26th, 2026 5:29 AM`, `Oct 3 at 5pm (Europe/Lisbon)`, `13:00`. */
const named =
  /\b(?:try again at|resets?(?: at)?) (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,?(?: at)? )?(\d{1,2})(?::(\d{2}))?(?: ?([ap])m\b|(?<=:\d\d))(?: \(([\w/+-]+)\))?/i;

function untilMoment(text: string, now: Date): number | undefined {
  const found = named.exec(text);
  if (found === null) return undefined;
  const [, month, day, year, hour, minute = '0', half, written] = found;
  const zone = written !== undefined && isZone(written) ? written : undefined;
  const today = partsIn(now, zone);
  const inMonth = month === undefined ? today.month : months.indexOf(month.toLowerCase());
  if (inMonth < 0) return undefined;
  const waitFor = (more: { readonly days?: number; readonly years?: number }): number =>
    momentIn(
      {
        year: Number(year ?? today.year) + (more.years ?? 0),
        month: inMonth,
        day: Number(day ?? today.day) + (more.days ?? 0),
        hour: half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0),
        // Its seconds are left out: at the end of that minute it has come.
        minute: Number(minute) + 1,
      },
      zone,
    ) - now.getTime();
  const wait = waitFor({});
  // A time of day that has long been today is tomorrow's, a day that has long been next year's; one that has just been has come.
  if (day === undefined && wait < -hourMs) return Math.max(0, waitFor({ days: 1 }));
  if (day !== undefined && year === undefined && wait < -24 * hourMs)
    return Math.max(0, waitFor({ years: 1 }));
  return Math.max(0, wait);
}

type Parts = Readonly<Record<'year' | 'month' | 'day' | 'hour' | 'minute', number>>;

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** The date and time of day there; without a zone, on this machine. `month` counts from 0. */
function partsIn(at: Date, zone: string | undefined): Parts {
  const numeric = 'numeric' as const;
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, hourCycle: 'h23' },
    ...(zone === undefined ? {} : { timeZone: zone }),
  });
  const zoned = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => zoned.get(type) ?? 0;
  return {
    ...{ year: part('year'), month: part('month') - 1, day: part('day') },
    ...{ hour: part('hour'), minute: part('minute') },
  };
}

const utc = ({ year, month, day, hour, minute }: Parts): number => Date.UTC(year, month, day, hour, minute);

/** In milliseconds since 1970. The zone's distance from UTC is that of the moment itself, not of now. */
function momentIn(parts: Parts, zone: string | undefined): number {
  const target = utc(parts);
  const distance = (at: number) => utc(partsIn(new Date(at), zone)) - Math.floor(at / 60_000) * 60_000;
  return target - distance(target - distance(target));
}

/* What the HTTP status of a model's server means, whichever program met it. */

/** Whether the server, or a gateway before it, is down, overloaded or too busy to read a request: 502 to 504, those of content
 *  networks (529 is "overloaded"), 408 (request timeout) and 425 (too early). An internal error (500) may be this request's own. */
export const isDown = (status: number): boolean =>
  (status >= 502 && status <= 504) || status >= 520 || status === 408 || status === 425;

/** What an HTTP status waits for: a fix, the end of an outage, or a rate limit's end, where the server says when (`waitMs`, in
 *  milliseconds) and where it does not. */
export function parkOf(status: number, waitMs?: number): Park | undefined {
  if (status === 401 || status === 403) return { kind: 'auth' };
  if (status === 402) return { kind: 'billing' };
  if (isDown(status)) return { kind: 'outage' };
  if (status !== 429) return undefined;
  return waitMs === undefined ? { kind: 'quota', unsaid: true } : { kind: 'quota' };
}

const unreachable =
  /\bECONN(?:REFUSED|RESET|ABORTED)\b|\bETIMEDOUT\b|\bEAI_AGAIN\b|\bENOTFOUND\b|\bconnection (?:refused|reset|timed out|error)\b|\bcould ?n[o']t (?:connect|resolve host)\b|\bunable to connect\b|\berror sending request\b|\bfetch failed\b|\btemporary failure in name resolution\b/i;
const inTrouble = /\boverloaded(?:_error)?\b|\bservice unavailable\b|\bbad gateway\b|\bgateway time-?out\b/i;

/** Whether a program's own line about its failure reports a provider that is down: by the status, else by words. */
export function saysOutage(line: string): boolean {
  const status = /\b(?:status(?: code)?|HTTP(?:\/[\d.]+)?|error(?: code)?)[\s:=("']*(\d{3})\b/i.exec(
    line,
  )?.[1];
  return status === undefined ? unreachable.test(line) || inTrouble.test(line) : isDown(Number(status));
}

/** Whose failure an HTTP status is. */
export function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return isDown(status) || status === 429 || status >= 500 ? 'infra' : 'agent';
}
