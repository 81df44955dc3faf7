/** `factory stop`: stops a run from any terminal of its host. */

import { thisUser } from '../app/acts.ts';
import { nextOf } from '../app/inspect/next.ts';
import { stopRun } from '../app/stop.ts';
import { refused } from '../core/diagnostic.ts';
import { isPaused } from '../core/outcome.ts';
import { namedRun, type RunSummary } from '../store/runs.ts';
import { findNamed } from './find-run.ts';
import type { VerbResult } from './index.ts';
import type { CliIo } from './io.ts';

export type StopOptions = {
  readonly runsdir?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly json?: boolean;
};

/** Exit code of a wait whose time is up, as of timeout(1). */
export const timedOutCode = 124;

/** 0: the run has stopped, or did not run; 1: it cannot be stopped from here; 124: it has not stopped within the timeout; 130: the
 *  wait was interrupted. */
export async function stopCommand(run: string, options: StopOptions, io: CliIo): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const signal = io.signal();
  const answer = await stopRun(found.id, found.dir, {
    who: thisUser(),
    clock: io.clock,
    timeoutMs: options.timeout,
    signal,
    warn: (message) => io.err(`warning: ${message}\n`),
  });
  if (answer.kind === 'refused')
    return refused('stop', `run ${found.id} cannot be stopped from here: ${answer.why}`, answer.fix, 1);
  const next = nextOf(answer.run, io.called?.program ?? 'factory', namedRun(found.dir, io.cwd));
  const { status } = answer.run;
  if (options.json === true)
    io.out(
      `${JSON.stringify({ schema_version: 1, run_id: found.id, answer: answer.kind, status, next }, null, 2)}\n`,
    );
  else {
    io.out(`run ${found.id} ${words[answer.kind](answer.run)}\n`);
    if (answer.kind !== 'stopping' && next !== '') io.out(`next: ${next}\n`);
  }
  if (answer.kind !== 'stopping') return 0;
  return signal.aborted ? 130 : timedOutCode;
}

const words = {
  stopped: (run: RunSummary) => `has stopped: ${standing(run)}`,
  not_running: (run: RunSummary) => `is not running: ${standing(run)}`,
  stopping: () => 'is still stopping',
} as const;

const standing = ({ status, nextNode }: RunSummary): string => {
  const word = isPaused(status) ? 'suspended' : status;
  return status === 'interrupted' && nextNode !== '' ? `${word} before ${nextNode}` : word;
};
