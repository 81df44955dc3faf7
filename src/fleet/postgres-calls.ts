/** Calls of a database that may be away for a while: engines run on meanwhile, and so does the process that calls. */
import type { Clock } from '../core/contracts/clock.ts';
import { isAway } from './postgres-connection.ts';

const pauseMs = 1000;
/** Longer silence between two answers than this shows that this process was stopped, or cut off. */
const gapMs = 5000;

export type PatientCalls = {
  /** Tries until the database answers; rejects when `patienceMs` have passed, or the queue was closed. */
  wait<T>(work: () => Promise<T>): Promise<T>;
  /** `otherwise` if the database is away. */
  unlessAway<T>(work: () => Promise<T>, otherwise: T): Promise<T>;
  /** For how many milliseconds it has answered without a gap. */
  answeringFor(): number;
};

export function patientCalls(given: {
  readonly clock: Clock;
  readonly patienceMs: number;
  readonly closed: AbortSignal;
  /** For people: the database is away, or answers again. */
  readonly warn: (text: string) => void;
  readonly place: string;
}): PatientCalls {
  const { clock, patienceMs, closed, warn, place } = given;
  let since = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  let awaySince: number | undefined;

  const heard = () => {
    const now = clock.monotonic();
    if (now - last > gapMs) since = now;
    last = now;
    if (awaySince === undefined) return;
    warn(`${place} answers again, after ${Math.round((now - awaySince) / 1000)}s`);
    awaySince = undefined;
  };
  const missed = (error: unknown) => {
    since = Number.POSITIVE_INFINITY;
    last = Number.NEGATIVE_INFINITY;
    if (awaySince !== undefined) return;
    awaySince = clock.monotonic();
    const why = error instanceof Error ? error.message : String(error);
    warn(`${place} does not answer (${why}): runs continue, and what they report is repeated until it does`);
  };

  async function once<T>(
    work: () => Promise<T>,
  ): Promise<{ readonly value: T } | { readonly away: unknown }> {
    try {
      const value = await work();
      heard();
      return { value };
    } catch (error) {
      if (!isAway(error)) throw error;
      missed(error);
      return { away: error };
    }
  }

  return {
    async wait(work) {
      const until = clock.monotonic() + patienceMs;
      for (;;) {
        const done = await once(work);
        if ('value' in done) return done.value;
        if (closed.aborted || clock.monotonic() >= until) throw done.away;
        await clock.sleep(pauseMs, closed);
      }
    },
    async unlessAway(work, otherwise) {
      const done = await once(work);
      return 'value' in done ? done.value : otherwise;
    },
    answeringFor: () => Math.max(0, clock.monotonic() - since),
  };
}
