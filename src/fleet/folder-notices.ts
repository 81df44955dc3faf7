/** Says that a queue in folders has changed, or that a job has become due. */
import type { Clock, Every } from '../core/contracts/clock.ts';
import { after } from '../platform/clock.ts';
import { watchFolder } from '../platform/files/watch.ts';

/** Events come in bursts: a submission of many jobs makes one for each. */
const gatherMs = 20;
/** No event shows what other hosts change: how often the folders are asked for that. */
const askMs = 250;

export type Noticed = {
  readonly folders: readonly string[];
  /** Whether a folder has changed since it was read. */
  readonly isStale: () => boolean;
  /** The time at which the next job becomes due, after the given one; both in milliseconds since 1970. */
  readonly dueAfter: (ms: number) => number | undefined;
  readonly clock: Clock;
  readonly every: Every;
};

/** Calls `changed` until the returned function is called. */
export function noticeChanges(
  { folders, isStale, dueAfter, clock, every }: Noticed,
  changed: () => void,
): () => void {
  const watchers = new Map<string, () => void>();
  let ends = false;
  let gathering: (() => void) | undefined;
  let seenUntil = clock.now().getTime();
  const soon = (ms: number): void => {
    gathering ??= after(ms, () => {
      gathering = undefined;
      if (!ends) changed();
    });
  };
  const watch = (): void => {
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      const stop = watchFolder(folder, () => soon(gatherMs));
      if (stop !== undefined) watchers.set(folder, stop);
    }
  };
  const ask = (): void => {
    watch();
    const now = clock.now().getTime();
    const due = dueAfter(seenUntil);
    if (due !== undefined && due <= now + askMs) {
      seenUntil = Math.max(now, due);
      soon(Math.max(0, due - now));
    } else if (isStale()) soon(gatherMs);
  };
  watch();
  const stopAsking = every(askMs, ask);
  return () => {
    ends = true;
    stopAsking();
    gathering?.();
    for (const stop of watchers.values()) stop();
  };
}
