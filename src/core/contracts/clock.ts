/** The clock that everything timed is handed. */

export interface Clock {
  /** Wall-clock time, for records. */
  now(): Date;
  /** Milliseconds that never run backwards, for durations. */
  monotonic(): number;
  /** Settles after `ms` milliseconds, or at once when `signal` fires. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Calls `work` every `ms` milliseconds until the returned function is called. It does not keep the process alive. */
export type Every = (ms: number, work: () => void) => () => void;
