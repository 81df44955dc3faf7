/** What a file has besides its content: its mode, and when it was last written, which build tools go by. */
import { chmodSync, lstatSync, lutimesSync } from 'node:fs';
import { realClock } from '../system/clock.ts';
import type { Tree } from './snapshot.ts';

/** As the calls want it: of a number before 1970 they would make the present. No date is earlier than that. */
export const timeOf = (ms: number): number | Date => (ms < 0 ? new Date(Math.max(ms, -8.64e15)) : ms / 1e3);

/** Milliseconds: a number of them tells no less than a quarter of a microsecond, and is rounded twice on its way. */
const grainMs = 0.002;

export const isSameTime = (a: number, b: number): boolean => Math.abs(a - b) < grainMs;

/** Sets a file's mode where it is another one: a file of somebody else's may have the right one. False, and nothing done,
 *  where something else stands there now, or a file with a second name, which may lie anywhere. */
export function setMode(place: string | Buffer, mode: number): boolean {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || stat.nlink > 1) return false;
  if ((stat.mode & 0o7777) !== mode) chmodSync(place, mode);
  return true;
}

/** Gives a file that time, in milliseconds, to the microsecond; `ctimeMs` is when it was last changed, where known. Links
 *  are not followed. Where the disk keeps no such time, or the file is somebody else's, it has the time that it has. */
export function setTime(place: string | Buffer, mtimeMs: number, ctimeMs?: number): void {
  try {
    const time = mtimeMs < 0 ? timeOf(mtimeMs) : inSeconds(microsecondOf(mtimeMs, ctimeMs));
    lutimesSync(place, time, time);
  } catch {
    // Content and mode are right, and a build tool that goes by contents is served.
  }
}

/** The one that began last, since a later time is a change to who has noted the time of what it made (ninja). A number of
 *  milliseconds that is the nearest one to a whole microsecond stands for that, or each restore would take one more off;
 *  but not of a file that nobody has given its time: that was counted in nanoseconds, and may have been less. */
function microsecondOf(ms: number, ctimeMs: number | undefined): number {
  const nearest = Math.round(ms * 1e3);
  if (nearest / 1e3 !== ms) {
    // The product itself may have been rounded up.
    const below = Math.floor(ms * 1e3);
    return below / 1e3 > ms ? below - 1 : below;
  }
  return ms === ctimeMs && !Number.isInteger(ms) ? nearest - 1 : nearest;
}

/** Some Nodes cut off what is less than a microsecond, which would be one more at each restore; others keep it, so that what
 *  is added against the cut has to be gone when the time is next read to the nearest microsecond. */
function inSeconds(microseconds: number): number {
  const seconds = microseconds / 1e6;
  const cut = Math.trunc((seconds % 1) * 1e9) < (microseconds % 1e6) * 1e3;
  // The next number that there is.
  return cut ? seconds + seconds * 2 ** -53 : seconds;
}

/** Settles when what is written has another time than that, also for who counts in whole seconds: by size and second Python
 *  tells what it has compiled, and rsync what it has copied. At once where that was not in this second. */
export async function secondAfter(mtimeMs = 0): Promise<void> {
  const left = (Math.floor(mtimeMs / 1e3) + 1) * 1e3 - realClock.now().getTime();
  if (left > 0 && left <= 1e3) await realClock.sleep(left + coarsestMs);
}

/** The time that a file gets is behind the clock by less than that. */
const coarsestMs = 10;

/** One number for the times of all files, in order: another one where a file has another time. */
export function timesOf(tree: Tree): number {
  let whole = 0x811c9dc5;
  for (const { kind, mtimeMs } of tree.values()) {
    if (kind !== 'file') continue;
    const time = Math.round((mtimeMs ?? 0) / grainMs);
    whole = Math.imul(whole ^ (time | 0), 0x01000193);
    whole = Math.imul(whole ^ Math.floor(time / 2 ** 32), 0x01000193);
  }
  return whole;
}
