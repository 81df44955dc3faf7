/** Fences around folders that only their owner may write in. An owner that slept while another took over still has its
 *  next write before it; the fence stands right before each one. */
import { lstatSync } from 'node:fs';
import { dirname, sep } from 'node:path';

/** Thrown in place of a write: somebody else owns the folder now, and we change nothing in it any more. */
export class Superseded extends Error {}

type Fence = { readonly check: () => void; readonly sign: string | undefined };
const fences = new Map<string, Fence>();

/** From now on `check` is asked before each write at or below `folder` (absolute); it throws `Superseded` when the folder
 *  is no longer ours. `sign` is a file that is there as soon as it is not, for those who can look only by themselves. The
 *  answer takes the fence away. */
export function fence(folder: string, check: () => void, sign?: string): () => void {
  const ours = { check, sign };
  fences.set(folder, ours);
  return () => {
    if (fences.get(folder) === ours) fences.delete(folder);
  };
}

/** The file that tells that `path` is no longer ours to write, if there is one. */
export function signOf(path: string): string | undefined {
  for (const [folder, { sign }] of fences) if (path.startsWith(folder + sep)) return sign;
  return undefined;
}

/** To be called right before something at `path` is changed. Throws `Superseded`. */
export function beforeWrite(path: string): void {
  for (const [folder, { check }] of fences) if (path === folder || path.startsWith(folder + sep)) check();
}

/** To be called before a folder for `path` is made that should be there. Throws `Superseded` where somebody has removed the
 *  whole of what we own: it must not come back by us, with next to nothing in it. */
export function beforeRemaking(path: string): void {
  const sign = signOf(path);
  if (sign !== undefined) assertStands(dirname(sign), dirname(dirname(sign)));
}

/** Throws `Superseded` where `path` is gone, and with it the folder that is told of. */
export function assertStands(path: string, told = path): void {
  if (isGone(path))
    throw new Superseded(
      `${told} was removed, or the disk that it is on unmounted, meanwhile; this process stops`,
    );
}

/** What nobody may look at is not gone. */
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
