/** `factory stop`: stops a run from any terminal. */
import { thisUser } from '../app/acts.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import { reportOfStop, stopRun } from '../app/stop.ts';
import { refused } from '../core/diagnostic.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import { runLine } from './report/inspect.ts';
import type { VerbResult } from './verb.ts';

export type StopOptions = {
  readonly runsdir?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly afterNode?: boolean;
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
    afterNode: options.afterNode,
    timeoutMs: options.timeout,
    signal,
    warn: (message) => io.err(`warning: ${message}\n`),
  });
  if (answer.kind === 'refused')
    return refused('stop', `run ${found.id} cannot be stopped from here: ${answer.why}`, answer.fix, 1);
  const { kind } = answer;
  const row = await inspectRow(found.dir, io);
  if (options.json === true)
    io.out(
      `${JSON.stringify(reportOfStop(found.dir, answer, row?.next ?? '', io, options.afterNode), null, 2)}\n`,
    );
  else if (kind === 'stopping') io.out(`run ${found.id} is still stopping\n`);
  else io.out(`${runLine(`run ${found.id}${kind === 'stopped' ? ':' : ' is not running:'}`, row)}\n`);
  if (kind !== 'stopping') return 0;
  return signal.aborted ? 130 : timedOutCode;
}
