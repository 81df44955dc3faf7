/** Times and sums of money as people read them. */

/** `1234` → `1.2s`, `61000` → `1m01s`. */
export function elapsedWords(ms: number): string {
  // What is left would be rounded up to 60.0s.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

/** `1.23 USD`; two significant digits for small sums. */
export const usdWords = (usd: number): string =>
  `${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : String(Number(usd.toPrecision(2)))} USD`;
/** `12.3 MiB`. */
export function sizeWords(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at]}`;
}
