/** Fences around folders that only their owner may write in. An owner that slept while another took over still has its
 *  next write before it; the fence stands right before each one. */
import { sep } from 'node:path';

/** Thrown in place of a write: somebody else owns the folder now, and we change nothing in it any more. */
export class Superseded extends Error {}

const fences = new Map<string, () => void>();

/** From now on `check` is asked before each write at or below `folder` (absolute); it throws `Superseded` when the folder
 *  is no longer ours. The answer takes the fence away. */
export function fence(folder: string, check: () => void): () => void {
  fences.set(folder, check);
  return () => {
    if (fences.get(folder) === check) fences.delete(folder);
  };
}

/** To be called right before something at `path` is changed. Throws `Superseded`. */
export function beforeWrite(path: string): void {
  for (const [folder, check] of fences) if (path === folder || path.startsWith(folder + sep)) check();
}

/** The same as a question. */
export function mayWrite(path: string): boolean {
  try {
    beforeWrite(path);
    return true;
  } catch (error) {
    if (error instanceof Superseded) return false;
    throw error;
  }
}
