/** `factory stop`: stops a run from any terminal. */
import { dirname } from 'node:path';
import { thisUser } from '../app/acts.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import { askQueue } from '../app/queued-run.ts';
import { reportOfStop, stopRun } from '../app/stop.ts';
import { refused } from '../core/diagnostic.ts';
import { namedRun } from '../run/runs.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';
import { runLine } from './report/inspect.ts';
import type { VerbResult } from './verb.ts';

export type StopOptions = {
  readonly runsdir?: string;
  readonly db?: string;
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
  if (kind === 'not_running') await warnOfWorkers(found, options, io);
  if (kind !== 'stopping') return 0;
  return signal.aborted ? 130 : timedOutCode;
}

/** A run that does not run now may be about to: its job is in the queue, and not held. */
async function warnOfWorkers(run: NamedRun, options: StopOptions, io: CliIo): Promise<void> {
  const host = { ...io, db: databaseUrlOf(options, io) };
  const job = await askQueue(dirname(run.dir), host, (queue) => queue.get(run.id));
  if (job === undefined) return;
  if ('problems' in job) {
    const [first] = job.problems;
    io.err(
      `warning: a worker may continue the run, the queue is not known: ${first?.message}; ${first?.fix}\n`,
    );
  } else if (job.state !== 'held') {
    const when = job.state === 'later' ? `at ${job.due_at}` : 'soon';
    io.err(
      `warning: a worker continues the run ${when}; to keep it from that: ${io.called?.program ?? 'factory'} queue hold ${namedRun(run.dir, io.cwd)}\n`,
    );
  }
}
