/** Fences around folders that only their owner may write in. An owner that was stopped while another process took over would
 *  continue with its next write; the fence is checked right before each one. */
import { lstatSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { stopSignal } from '../process/in-process.ts';

/** Thrown in place of a write: another process owns the folder, and we change nothing in it any more. */
export class Superseded extends Error {}

type Fence = { readonly check: () => void; readonly sign: string | undefined };
const fences = new Map<string, Fence>();

/** Calls `check` before each write at or below `folder` (absolute), which throws `Superseded` when the folder is no longer
 *  ours. `sign` is a file that exists once the folder is lost, for a process that can only check a file. The returned function
 *  removes the fence. */
export function fence(folder: string, check: () => void, sign?: string): () => void {
  const ours = { check, sign };
  fences.set(folder, ours);
  return () => {
    if (fences.get(folder) === ours) fences.delete(folder);
  };
}

/** The file that exists as soon as `path` is no longer ours to write, if one is known. */
export function signOf(path: string): string | undefined {
  for (const [folder, { sign }] of fences) if (path.startsWith(folder + sep)) return sign;
  return undefined;
}

/** To be called right before something at `path` is changed. Throws `Superseded`, or the reason of work that has to stop. */
export function beforeWrite(path: string): void {
  stopSignal()?.throwIfAborted();
  for (const [folder, { check }] of fences) if (path === folder || path.startsWith(folder + sep)) check();
}

/** To be called before a missing folder for `path` is made. Throws `Superseded` where the whole folder that we own was removed:
 *  we must not make it again, almost empty. */
export function beforeRemaking(path: string): void {
  const sign = signOf(path);
  if (sign !== undefined) assertInPlace(dirname(sign), dirname(dirname(sign)));
}

/** Throws `Superseded`, with the name of `folder`, where `path` is gone. */
export function assertInPlace(path: string, folder = path): void {
  if (isGone(path))
    throw new Superseded(
      `${folder} was removed, or the disk that it is on unmounted, meanwhile; this process stops`,
    );
}

/** A path that may not be looked at is not gone. */
function isGone(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** `beforeWrite` as a question. */
export function mayWrite(path: string): boolean {
  try {
    beforeWrite(path);
    return true;
  } catch (error) {
    if (error instanceof Superseded) return false;
    throw error;
  }
}
