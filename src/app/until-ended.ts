/** Waits for runs of other processes. */
import type { Clock } from '../core/contracts/clock.ts';
import { isPaused } from '../core/outcome.ts';
import { openRun } from '../run/open-run.ts';
import { workerOf } from '../run/run-worker.ts';
import { isAtWork, type RunSummary, summaryOf } from '../run/summary.ts';

/** Milliseconds between two looks. */
const lookMs = 250;

/** Waits until no process executes the run, nor waits to resume it; undefined once `deadline` (milliseconds of the monotonic
 *  clock) has passed or the signal fires. */
export async function untilEnded(
  id: string,
  runDir: string,
  { clock, deadline, signal }: { clock: Clock; deadline: number; signal: AbortSignal },
): Promise<RunSummary | undefined> {
  for (;;) {
    if (workerOf(runDir, clock, false).kind === 'none') {
      const run = await summaryOf(id, runDir, clock);
      if (!isAtWork(run)) return run;
    }
    const left = deadline - clock.monotonic();
    if (left <= 0 || signal.aborted) return undefined;
    await clock.sleep(Math.min(left, lookMs), signal);
  }
}

/** The exit code of the process that ended the run; 1 for a run that crashed or cannot be read. */
export async function exitCodeOf({ status, dir }: Pick<RunSummary, 'status' | 'dir'>): Promise<number> {
  if (isPaused(status)) return 75;
  if (status === 'interrupted') return 130;
  if (status !== 'completed' && status !== 'overridden' && status !== 'failed') return 1;
  const read = openRun(dir).history();
  return (read.ok ? read.checkpoint.ended?.code : undefined) ?? 1;
}
