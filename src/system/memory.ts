/** The size of this process, which every stage pays for: to start a program the system copies the table of our pages. */
import { setFlagsFromString } from 'node:v8';

/** Keeps the heap's nursery from growing: a run makes much that lives for a moment only, and would let it grow to 48 MiB
 *  of pages that are never needed again. */
export function keepSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
