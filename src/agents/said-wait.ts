/** The wait that a server's sentence names: `Please try again in 7m12s.`, `Please retry after 33
 *  seconds.`, `try again at Nov 26th, 2026 5:29 AM`. */

const hourMs = 3_600_000;
const units: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, hourMs],
  [/^(?:d|days?)$/i, 86_400_000],
];
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Milliseconds; undefined where the sentence names no time that can be read. Times of day are those of this machine. */
export const saidWait = (text: string, now: Date): number | undefined =>
  lengthIn(text) ?? untilMoment(text, now);

function lengthIn(text: string): number | undefined {
  const length =
    /\b(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?\s*[a-z]+(?:,?\s+(?:and\s+)?)?)+)/i.exec(text)?.[1];
  if (length === undefined) return undefined;
  let sum: number | undefined;
  for (const [, amount, word = ''] of length.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const each = units.find(([name]) => name.test(word))?.[1];
    if (each === undefined) break;
    sum = (sum ?? 0) + Number(amount) * each;
  }
  return sum === undefined || !Number.isFinite(sum) ? undefined : Math.ceil(sum);
}

function untilMoment(text: string, now: Date): number | undefined {
  const found =
    /\btry again at (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? )?(\d{1,2}):(\d{2}) ?([ap])m\b/i.exec(
      text,
    );
  if (found === null) return undefined;
  const [, month, day, year, hour, minute, half = ''] = found;
  const inMonth = month === undefined ? now.getMonth() : months.indexOf(month.toLowerCase());
  if (inMonth < 0) return undefined;
  const moment = new Date(
    Number(year ?? now.getFullYear()),
    inMonth,
    Number(day ?? now.getDate()),
    (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0),
    // Its seconds are left out: at the end of that minute it has come.
    Number(minute) + 1,
  );
  const wait = moment.getTime() - now.getTime();
  // A time of day that has long been today is tomorrow's; one that has just been has come.
  if (day === undefined && wait < -hourMs) moment.setDate(moment.getDate() + 1);
  return Math.max(0, moment.getTime() - now.getTime());
}
