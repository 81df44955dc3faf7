/** How often a run continues at the resets of a quota, without finishing a node, before it needs a person. Pure. */
import { type Park, pausedBy, type SuspendedRun } from './outcome.ts';

/** A quota whose reset its provider names; a nested run counts its own. */
export const isReset = ({ kind, wakeAtMs, within }: Park): boolean =>
  kind === 'quota' && wakeAtMs !== undefined && within !== true;

/** How many resets of a quota the run was resumed after since a node has finished last. It follows from the suspension before, which the
 *  journal keeps until a node finishes: a kill in between neither forgets one nor counts one twice. */
export function windowsOf(
  park: Park,
  { now, before }: { readonly now: Date; readonly before: SuspendedRun | undefined },
): number {
  const windows = before?.windows ?? 0;
  const wasOver =
    before?.status === pausedBy('quota') &&
    before.wake_at !== null &&
    Date.parse(before.wake_at) <= now.getTime();
  return isReset(park) && wasOver ? windows + 1 : windows;
}

/** The reason's beginning. */
export const spentWindows = (windows: number, most: number): string =>
  `max_windows: the run was resumed at ${windows} resets of the quota and finished no node, and its limit is ${most} (--max-windows)`;

/** The flag that resumes a run which has spent its resets, with the limit doubled; undefined for other reasons. */
export function raisedWindows(reason: string): string | undefined {
  const most = /\bmax_windows: .* its limit is (\d+) \(--max-windows\)/.exec(reason)?.[1];
  return most === undefined ? undefined : `--max-windows ${2 * Number(most)}`;
}

/** Whether a run that is suspended without a time has spent the resets of its quota, and this limit is no higher. */
export const hasSpentWindows = ({ wake_at, windows }: SuspendedRun, most: number): boolean =>
  wake_at === null && windows !== undefined && windows >= most;
