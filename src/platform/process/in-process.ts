/** Work in this process that ends as a program does: by itself, at its timeout, or when it is cancelled. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Exit } from '../../core/contracts/process.ts';

const stops = new AsyncLocalStorage<AbortSignal>();

/** Fires when the work that calls this has to stop; undefined outside of such work. */
export const stopSignal = (): AbortSignal | undefined => stops.getStore();

/** Runs `work`, which returns its exit code. Once it has to stop, it writes nothing more (see `beforeWrite`) and the programs
 *  that it started with `collect` are ended. Settles when the work has settled. */
export async function runInProcess(
  work: (signal: AbortSignal) => Promise<number>,
  {
    timeoutMs,
    signal,
  }: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<Exit> {
  const timeout = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => timeout.abort(), timeoutMs);
  const stop = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  const ended = (): Exit | undefined =>
    signal?.aborted === true
      ? { kind: 'cancelled' }
      : timeout.signal.aborted
        ? { kind: 'timed_out', afterMs: timeoutMs ?? 0 }
        : undefined;
  try {
    const code = await stops.run(stop, () => work(stop));
    return ended() ?? { kind: 'exited', code };
  } catch (error) {
    const end = ended();
    if (end === undefined) throw error;
    return end;
  } finally {
    clearTimeout(timer);
  }
}
