/** The size of this process. Every stage pays for a part of it: to start a program the system copies the table of our pages,
 *  though not of V8's heap, which V8 keeps out of forks (VmFlags `dc` in /proc/self/smaps), but of what its compilers and
 *  collectors have from the C library. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Keeps the heap's nursery from growing: a run makes much that lives for a moment only, and would let it grow to 48 MiB
 *  of pages that are never needed again. */
export function keepNurserySmall(): void {
  isKeptSmall = true;
  if (knowsGrowth) setFlagsFromString('--semi-space-growth-factor=1');
}

/** To be called when a thread has started: to make a heap for it, the engine sets the growth of all of them back. */
export function keepNurseryAsItWas(): void {
  if (isKeptSmall) keepNurserySmall();
}

let isKeptSmall = false;
// An engine that does not know a flag throws nothing: it says so to whoever looks at the terminal.
const major = Number.parseInt(process.versions.node, 10);
const knowsGrowth = major <= 26;
const knowsBudget = major <= 20;

/** The same for a process that starts programs again and again. To be called when the large work before the first of
 *  them is done, which the compilers make faster. */
export function keepSmall(): void {
  keepNurserySmall();
  // Functions have to be much hotter than usual before they are compiled once more, for speed: what a stage needs of us
  // is little, and its compilers dirty pages which the next program's start has to copy.
  if (knowsBudget) setFlagsFromString('--interrupt-budget=1000000');
  collectGarbage();
}

/** Bytes of heap from which on it pays to look for garbage. */
const much = 40 * 1024 * 1024;

/** Gives back what nobody needs any more, where the heap is large: now, and not when it would be full. Some tens of
 *  milliseconds once, for as many pages less at every start of a program. */
export function collectGarbage(): void {
  // Asked of V8 alone: Node's own answer has the process's size in it too, and fails where there is no /proc.
  if (getHeapStatistics().used_heap_size < much) return;
  // From now on not half as much again is let grow before the next look.
  if (knowsGrowth) setFlagsFromString('--heap-growing-percent=20');
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
