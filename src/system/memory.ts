/** The size of this process, which every stage pays for: to start a program the system copies the table of our pages. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Keeps the heap's nursery from growing: a run makes much that lives for a moment only, and would let it grow to 48 MiB
 *  of pages that are never needed again. */
export function keepSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Gives back what reading a large text has left behind, now and not when the heap would be full: some tens of
 *  milliseconds once, for as many pages less at every start of a program. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
