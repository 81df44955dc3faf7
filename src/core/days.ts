/** Days of a time zone, those on which clocks are changed included. Pure. */

const forms = new Map<string, Intl.DateTimeFormat>();

/** Prints a date as YYYY-MM-DD and its time as HH:MM. */
function formOf(zone: string): Intl.DateTimeFormat {
  const known = forms.get(zone);
  if (known !== undefined) return known;
  const date = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const form = new Intl.DateTimeFormat('en-CA', { timeZone: zone, ...date, ...time });
  forms.set(zone, form);
  return form;
}

function partsOf(at: Date, zone: string): { readonly day: string; readonly time: string } {
  const parts = Object.fromEntries(
    formOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const { year, month, day, hour, minute } = parts;
  return { day: `${year}-${month}-${day}`, time: `${hour}:${minute}` };
}

/** The canonical name of a time zone, undefined for none: `europe/berlin` → `Europe/Berlin`. */
export function zoneNamed(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The time zone of this machine. */
export const localZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** All names of time zones that this program knows. */
export const knownZones = (): readonly string[] => [...Intl.supportedValuesOf('timeZone'), 'UTC'];

/** A day of a time zone. */
export type Day = {
  /** As YYYY-MM-DD. */
  readonly name: string;
  readonly zone: string;
  /** Milliseconds since 1970; the next day begins at `end`. */
  readonly start: number;
  readonly end: number;
};

export const dayName = (at: Date, zone: string): string => partsOf(at, zone).day;

/** The day of that time. It may have 23 or 25 hours, and may begin at another hour than midnight. */
export function dayAt(at: Date, zone: string): Day {
  const name = dayName(at, zone);
  const ms = at.getTime();
  const inDay = (time: number): boolean => dayName(new Date(time), zone) === name;
  // Longer than any day, also one after which a zone has skipped the next.
  const most = 50 * 3_600_000;
  const end = boundary(ms, ms + most, (time) => !inDay(time));
  return { name, zone, start: boundary(ms - most, ms, inDay), end };
}

/** The first time at which `is` holds, given that it holds at `yes` and not at `no`. */
function boundary(no: number, yes: number, is: (time: number) => boolean): number {
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (is(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** `2026-03-30 00:00 (Europe/Berlin)`. */
export function zonedWords(at: Date, zone: string): string {
  const { day, time } = partsOf(at, zone);
  return `${day} ${time} (${zone})`;
}
