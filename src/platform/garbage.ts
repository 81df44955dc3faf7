/** The only module that asks V8 for a collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Mebibytes of heap from which a collection is worth its time (20 ms and more). A small run never has so much. */
const large = 64;

/** Gives memory back to the system after work that leaves much garbage and little else. V8 would keep it until the heap has grown
 *  much further, which a process that then waits for programs and models never needs. */
export function releaseGarbage(): void {
  if (process.memoryUsage().heapTotal < large * 2 ** 20) return;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
