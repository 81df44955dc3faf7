/** Durations as text. */

/** `1500` → `1.5s`, `1800000` → `30m`. */
export function describeMs(exact: number): string {
  // 59.96s would be rounded to 60s: print 1m.
  const ms = exact < 60_000 ? exact : Math.round(exact / 1000) * 1000;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))}s`;
  if (ms < 3_600_000)
    return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${Math.floor(ms / 60_000)}m ${(ms % 60_000) / 1000}s`;
  return `${Number((ms / 3_600_000).toFixed(1))}h`;
}
