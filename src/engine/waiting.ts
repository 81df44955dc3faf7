/** Waits of a node: within the run up to `park_after`, while the run is suspended beyond that. */
import { elapsedWords } from '../core/amounts.ts';
import { pausedBy, type SuspendedRun } from '../core/outcome.ts';
import type { LayerContext } from './layers/layer.ts';

/** Thrown through an attempt that waits for longer than the run stays awake: the run is suspended. */
export class TimeAwaited extends Error {
  constructor(readonly parked: SuspendedRun) {
    super(parked.reason);
  }
}

/** Dates end somewhere: a hundred years. */
const longestMs = 100 * 365 * 86_400_000;

/** Milliseconds between two looks at the clock: the machine may have been asleep. */
const lookMs = 60_000;

/** Waits until `ms` after the start of the execution, which is in the journal: an interrupted execution that is resumed does not
 *  wait anew. */
export async function waitFrom(context: LayerContext, ms: number, mostMs: number): Promise<boolean> {
  const { run, node, clock, limits, signal, writer } = context;
  // A replay does not repeat the waits of the recorded run.
  if (run.replay?.follows === true) return true;
  const until = startOf(context) + Math.min(ms, longestMs);
  // A clock that was set back does not lengthen the wait.
  const left = (): number => Math.min(until - clock.now().getTime(), ms);
  if (left() > limits.caps.park_after) {
    const since = clock.now();
    const wake_at = new Date(since.getTime() + left()).toISOString();
    throw new TimeAwaited({
      ...{ status: pausedBy('wait'), node: node.id, reason: `a wait of ${elapsedWords(ms)}` },
      ...{ wake_at, since: since.toISOString() },
    });
  }
  if (left() > 0) {
    const reason = `a wait of ${elapsedWords(ms)}`;
    const facts = { node_id: node.id, until: new Date(until).toISOString(), reason };
    await writer.event({ type: 'StageWaiting', ...facts });
  }
  const ends = clock.monotonic() + Math.max(0, left());
  const over = clock.monotonic() + mostMs;
  for (;;) {
    const now = clock.monotonic();
    const rest = Math.min(ends - now, left());
    if (signal.aborted) return false;
    if (rest <= 0) return true;
    if (over <= now) return false;
    await clock.sleep(Math.min(rest, over - now, lookMs), signal);
  }
}

/** When this execution began first, in milliseconds since 1970. */
function startOf({ run, node, visit, clock }: LayerContext): number {
  const began = run.past
    .history()
    .lines.find((line) => line.type === 'Began' && line.node === node.id && line.visit === visit);
  return began?.type === 'Began' ? Date.parse(began.at) : clock.now().getTime();
}
