/** How long an outage of a provider is waited for: within a call or a run first, then while the run is suspended. Pure. */
import { sha256 } from './sha256.ts';

/** Milliseconds before the first repetition; each wait is twice as long as the one before. */
const firstMs = 1000;

/** Milliseconds of the first and the longest wait of a suspended run. */
const firstSuspendedMs = 60_000;
const longestMs = 5 * 60_000;

/** Waits for one outage so far. */
export type Waits = { readonly tries: number; readonly waitedMs: number };
export const noWaits: Waits = { tries: 0, waitedMs: 0 };

/** The next wait, so that all of them together take `mostMs`; undefined when that is over, or when the server asks for a longer
 *  wait (`askedMs`). */
export function nextWait({ tries, waitedMs }: Waits, mostMs: number, askedMs = 0): number | undefined {
  const left = mostMs - waitedMs;
  if (left <= 0 || askedMs > left) return undefined;
  const wait = Math.max(firstMs * 2 ** Math.min(tries, 40), askedMs);
  // The last wait takes the rest, and is not shorter than the one before.
  return left - wait < wait ? left : wait;
}

/** The wait of a run that is suspended after `again` such waits in vain. */
export const suspendedWait = (again: number): number =>
  Math.min(firstSuspendedMs * 2 ** Math.min(again, 40), longestMs);

/** The wait less up to a quarter of it, so that many runs do not ask a server that is back at the same moment. The same `key`
 *  gives the same part: a replay decides alike. */
export const jittered = (ms: number, key: string): number =>
  Math.round(ms * (1 - Number.parseInt(sha256(key).slice(0, 8), 16) / 2 ** 34));
