/** Times, counts, sizes and sums of money as people read them. */

/** `1234` → `1.2s`, `61000` → `1m01s`, `3900000` → `1h05m`. */
export function elapsedWords(ms: number): string {
  // What is left would be rounded up to 60.0s.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}

const two = (n: number): string => String(n).padStart(2, '0');

/** `1.23 USD`; two significant digits for small sums, `unknown` for null. */
export const usdWords = (usd: number | null): string =>
  usd === null
    ? 'unknown'
    : `${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : String(Number(usd.toPrecision(2)))} USD`;

/** The cost of several calls: `1.84 USD`, `≥ 1.84 USD` where a part is unknown. */
export function costWords(spent: { readonly cost_usd: number; readonly unknown_cost: number }): string {
  if (spent.unknown_cost === 0) return usdWords(spent.cost_usd);
  return spent.cost_usd === 0 ? 'unknown' : `≥ ${usdWords(spent.cost_usd)}`;
}

/** A number of tokens as `812`, `12.4k`, `1.2M`. */
export function tokensText(tokens: number | null): string {
  if (tokens === null) return 'unknown';
  if (tokens < 1000) return String(tokens);
  const [size, unit] = tokens < 999_950 ? ([1000, 'k'] as const) : ([1_000_000, 'M'] as const);
  return `${(tokens / size).toFixed(1).replace(/\.0$/, '')}${unit}`;
}

/** `1 file`, `2 files`. */
export const countedItems = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** `12.3 MiB`. */
export function sizeWords(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at]}`;
}

/** `14:05:07`. */
export const localSeconds = (at: Date): string => `${localTime(at.toISOString())}:${two(at.getSeconds())}`;

/** `14:05`; with the day where it is not the one of `now`. */
export function localTime(at: string, now?: Date): string {
  const time = new Date(at);
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  const day = (of: Date) => `${of.getFullYear()}-${two(of.getMonth() + 1)}-${two(of.getDate())}`;
  return now === undefined || day(now) === day(time) ? clock : `${day(time)} ${clock}`;
}
