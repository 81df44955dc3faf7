/** Follows a run from outside: its events, and what its running node prints and its model says. */
import type { Clock } from '../../core/contracts/clock.ts';
import { ownerOf } from '../../run/lock.ts';
import type { RunReader } from '../../run/open-run.ts';
import { isAtWork, summaryOf } from '../../run/summary.ts';
import { openBell } from './bell.ts';
import { type LookOptions, openLooks, type RunItem } from './looks.ts';

export type Followed =
  | RunItem
  /** Everything so far was yielded. Comes after every look, at least every second. */
  | { readonly kind: 'caught_up' };

export type FollowOptions = LookOptions & {
  readonly clock: Clock;
  /** `ended`: until no process works for the run. `aborted`: until `signal` fires; a resume is followed too. */
  readonly until: 'ended' | 'aborted';
  readonly signal?: AbortSignal | undefined;
};

/** Milliseconds: of a pause after each look, in which changes are collected; until the next look without a change; the same
 *  while the run is about to end. */
export const [pauseMs, slowMs] = [40, 1000];
const quickMs = 100;

/** Yields the events of a run so far, then those and the texts that come, in the order of their times.
 *
 *      for await (const one of followRun(openRun(dir), { clock, until: 'aborted', signal, texts: true, after: lastSeq }))
 *        if (one.kind === 'event') send('event', one.seq, one.record);
 *
 *  It notices changes by a watch on the run directory and holds nothing of the run: leaving the loop ends it. The texts of
 *  an execution begin with its first one, also for a reader that comes late; of one that ended quickly there are none, and
 *  whole outputs are in the folder of the execution. Texts of nodes that see the holdout are never among them. */
export async function* followRun(run: RunReader, options: FollowOptions): AsyncGenerator<Followed> {
  const { clock, signal, until } = options;
  const { dir } = run;
  const bell = openBell(dir, clock);
  const looks = openLooks(run, options);
  try {
    while (signal?.aborted !== true) {
      // Asked before the last look, so that the last words are not missed.
      const goesOn = until === 'aborted' || isAtWork(await summaryOf('', dir, clock));
      yield* await looks.look();
      if (looks.isCut()) continue;
      yield { kind: 'caught_up' };
      // Its owner writes the last events after the line that ends the run.
      if (!goesOn && (looks.ends() || !(await isOwned(dir, clock)))) return;
      await bell.wait(pauseMs, looks.ends() ? quickMs : slowMs, signal);
    }
  } finally {
    bell.close();
    looks.close();
  }
}

const isOwned = (dir: string, clock: Clock): Promise<boolean> =>
  ownerOf(dir, clock).then(
    (owner) => owner !== undefined,
    () => false,
  );
