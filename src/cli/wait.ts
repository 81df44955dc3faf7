/** `factory wait`: waits for runs of other processes. */
import { inspectRow } from '../app/inspect/rows.ts';
import { exitCodeOf, untilEnded } from '../app/until-ended.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import type { CliIo } from './io.ts';
import { runLine } from './report/inspect.ts';
import { timedOutCode } from './stop.ts';
import type { VerbResult } from './verb.ts';

export type WaitOptions = {
  readonly runsdir?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly json?: boolean;
};

/** Waits until each run has ended, or is suspended and no process waits to resume it. The exit code is that of the run, of several
 *  the first other than 0; 124 once the time is up, 130 after a signal. */
export async function waitCommand(
  names: readonly string[],
  options: WaitOptions,
  io: CliIo,
): Promise<VerbResult> {
  const runs: NamedRun[] = [];
  for (const name of names) {
    const found = await findNamed(name, options, io);
    if ('problems' in found) return found;
    runs.push(found);
  }
  const signal = io.signal();
  const { clock } = io;
  const deadline = clock.monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY);
  const records = [];
  let code = 0;
  for (const { id, dir } of runs) {
    const run = await untilEnded(id, dir, { clock, deadline, signal });
    const exit = run === undefined ? (signal.aborted ? 130 : timedOutCode) : await exitCodeOf(run);
    code ||= exit;
    const row = run && (await inspectRow(dir, io));
    records.push({
      run_id: id,
      status: run?.status ?? 'running',
      exit_code: exit,
      reason: run?.reason ?? '',
      next: row?.next ?? '',
    });
    if (options.json !== true)
      io.out(`${run === undefined ? `run ${id} is still running` : runLine(`run ${id}:`, row)}\n`);
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, runs: records }, null, 2)}\n`);
  return code;
}
