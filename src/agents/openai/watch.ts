/** The limits of one call: the caller's signal, the call's own deadline, and silence. */
import { setMaxListeners } from 'node:events';
import { type Clock, silence } from '../../system/clock.ts';

export type Stopped = 'cancelled' | 'timeout' | 'idle';

export interface Watch {
  /** Fires when the call has to stop, for whatever reason, and when it is over. */
  readonly signal: AbortSignal;
  /** Why it had to stop; undefined while it may go on. */
  readonly stopped: Stopped | undefined;
  /** Begins to listen for silence: `idleMs` without a `heard()` stops the call, or does what `silent` says. `end()` stops
   *  listening. */
  listen(idleMs: number, silent?: () => void): { heard(): void; end(): void };
  /** The call is over: timers and listeners go. */
  end(): void;
}

/** Watches a call that begins now; `timeoutMs` (milliseconds) is its hard limit. */
export function watchCall(clock: Clock, caller: AbortSignal, timeoutMs: number | undefined): Watch {
  const inner = new AbortController();
  // The package leaves a listener behind with each request, of which a model at work makes many: nobody is to be warned.
  setMaxListeners(0, inner.signal);
  let stopped: Stopped | undefined;
  const stop = (why: Stopped) => {
    if (inner.signal.aborted) return;
    stopped = why;
    inner.abort();
  };
  const cancel = () => stop('cancelled');
  caller.addEventListener('abort', cancel, { once: true });
  if (caller.aborted) cancel();
  if (timeoutMs !== undefined) void clock.sleep(timeoutMs, inner.signal).then(() => stop('timeout'));
  return {
    signal: inner.signal,
    get stopped() {
      return stopped;
    },
    listen(idleMs, silent = () => stop('idle')) {
      let last = clock.monotonic();
      const deaf = new AbortController();
      // A long call listens again and again: what no longer listens leaves nothing behind.
      const end = () => {
        deaf.abort();
        inner.signal.removeEventListener('abort', end);
      };
      inner.signal.addEventListener('abort', end, { once: true });
      void silence(clock, () => last, idleMs, deaf.signal).then((is) => is && silent());
      return {
        heard() {
          last = clock.monotonic();
        },
        end,
      };
    },
    end() {
      caller.removeEventListener('abort', cancel);
      inner.abort();
    },
  };
}
