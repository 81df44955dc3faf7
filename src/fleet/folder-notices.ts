/** Says that a queue in folders has changed, or that a job has become due. */
import type { Clock, Every } from '../core/contracts/clock.ts';
import { after } from '../platform/clock.ts';
import { watchFolder } from '../platform/files/watch.ts';
import type { QueueFolders } from './queue-folders.ts';

/** Events come in bursts: a submission of many jobs makes one for each. */
const gatherMs = 20;
/** No event shows what other hosts change: how often the folders are asked for that. */
const askMs = 250;
/** How often is said that a folder has changed since it was read: its reader may not need that now. */
const remindMs = 2000;

export type Noticed = {
  readonly folders: readonly string[];
  readonly of: Pick<QueueFolders, 'stamp' | 'isStale' | 'isOverdue'>;
  /** The time at which the next job becomes due, after the given one; both in milliseconds since 1970. */
  readonly dueAfter: (ms: number) => number | undefined;
  readonly clock: Clock;
  readonly every: Every;
};

/** Calls `changed` until the returned function is called. */
export function noticeChanges(
  { folders, of, dueAfter, clock, every }: Noticed,
  changed: () => void,
): () => void {
  const watchers = new Map<string, () => void>();
  let ends = false;
  let stopGathering: (() => void) | undefined;
  let stopSleeping: (() => void) | undefined;
  let seenUntil = clock.now().getTime();
  let stamp = of.stamp();
  let lastNotice = clock.monotonic();
  const say = (): void => {
    stopGathering?.();
    stopGathering = undefined;
    if (ends) return;
    // What changes from now on is said again; `changed` reads what has changed before.
    stamp = of.stamp();
    lastNotice = clock.monotonic();
    changed();
  };
  const soon = (): void => {
    stopGathering ??= after(gatherMs, say);
  };
  const watch = (): void => {
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      const stop = watchFolder(folder, soon);
      if (stop !== undefined) watchers.set(folder, stop);
    }
  };
  const ask = (): void => {
    watch();
    const now = clock.now().getTime();
    const due = dueAfter(seenUntil);
    if (due !== undefined && due <= now + askMs) {
      seenUntil = Math.max(now, due);
      stopSleeping?.();
      stopSleeping = after(Math.max(0, due - now), say);
    }
    if (
      of.stamp() !== stamp ||
      of.isOverdue() ||
      (clock.monotonic() - lastNotice >= remindMs && of.isStale())
    )
      soon();
  };
  watch();
  const stopAsking = every(askMs, ask);
  return () => {
    ends = true;
    stopAsking();
    stopGathering?.();
    stopSleeping?.();
    for (const stop of watchers.values()) stop();
  };
}
