/** The limits of one call: the caller's signal, the node's timeout, and silence. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/contracts/clock.ts';
import { silence } from '../../platform/clock.ts';

export type Stopped = 'cancelled' | 'timeout' | 'idle';

export interface Watch {
  /** Fires when the call has to stop, for whatever reason, and when it is over. */
  readonly signal: AbortSignal;
  /** Why it had to stop; undefined while it may continue. */
  readonly stopped: Stopped | undefined;
  /** Stops the call after `idleMs` milliseconds without a `heard()`, until `end()`. */
  listen(idleMs: number): { heard(): void; end(): void };
  /** The call is over: timers and listeners are removed. */
  end(): void;
}

/** Watches a call that begins now; `timeoutMs` (milliseconds) is its hard limit. */
export function watchCall(clock: Clock, caller: AbortSignal, timeoutMs: number | undefined): Watch {
  const inner = new AbortController();
  // The SDK leaves a listener behind with each request, and a tool loop makes many.
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
    listen(idleMs) {
      let last = clock.monotonic();
      const over = new AbortController();
      const end = () => {
        over.abort();
        inner.signal.removeEventListener('abort', end);
      };
      inner.signal.addEventListener('abort', end, { once: true });
      void silence(clock, () => last, idleMs, over.signal).then((is) => is && stop('idle'));
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
