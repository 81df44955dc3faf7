/** The process that works for a run, as far as it can be seen from here. */
import type { Clock } from '../core/contracts/clock.ts';
import type { ProcessId } from '../core/contracts/process.ts';
import { isStopped, type Self, thisProcess } from '../platform/process/table.ts';
import { circumstances, latestLock } from './lock.ts';
import { judge, type LockRead, outOfSight, processOf } from './lock-file.ts';

/** Who works for a run, seen from here. */
export type RunWorker =
  /** `waits`: the run is suspended, and the process resumes it at its time. `stopped`: by a signal such as SIGSTOP. */
  | {
      readonly kind: 'here';
      readonly id: ProcessId;
      readonly epoch: number;
      readonly waits: boolean;
      readonly stopped: boolean;
    }
  /** An owner that cannot be signalled: `why` says who has the run, and where. */
  | {
      readonly kind: 'elsewhere';
      readonly pid: number | undefined;
      readonly epoch: number;
      readonly why: string;
    }
  | { readonly kind: 'none' };

/** The process that executes the run, or waits to resume it if `mayWait`: the owner of a suspended run has released it, and a
 *  process that has ended any other run may live on for other work. */
export function workerOf(runDir: string, clock: Clock, mayWait: boolean): RunWorker {
  const latest = latestLock(runDir);
  if (latest === undefined || latest.read.kind === 'gone') return { kind: 'none' };
  const { epoch, read } = latest;
  const self = thisProcess();
  const judged = judge(read, circumstances({ clock }, self));
  const id = read.kind === 'read' ? processOf(read.lock, self) : undefined;
  if (judged.kind === 'held')
    return id === undefined
      ? { kind: 'elsewhere', pid: judged.owner?.pid, epoch, why: whereOf(read, self) }
      : { kind: 'here', id, epoch, waits: false, stopped: isStopped(id) };
  if (id === undefined || !mayWait) return { kind: 'none' };
  return { kind: 'here', id, epoch, waits: true, stopped: isStopped(id) };
}

function whereOf(read: Exclude<LockRead, { kind: 'gone' }>, self: Self): string {
  if (read.kind === 'unreadable') return `its lock ${read.path} cannot be read`;
  const { pid, host, since } = read.lock;
  return `it is owned by process ${pid} on ${host} since ${since}, ${outOfSight(read.lock, self) ?? 'which has just ended'}`;
}
