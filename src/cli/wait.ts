/** `factory wait`: waits for runs of other processes. */
import { nextOf } from '../app/inspect/next.ts';
import { exitCodeOf, untilEnded } from '../app/until-ended.ts';
import { namedRun, type RunSummary } from '../store/runs.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import type { VerbResult } from './index.ts';
import type { CliIo } from './io.ts';
import { foreign } from './report/run.ts';
import { storyOf } from './runs.ts';
import { timedOutCode } from './stop.ts';

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
    const next = run === undefined ? '' : nextOf(run, io.called?.program ?? 'factory', namedRun(dir, io.cwd));
    records.push({
      run_id: id,
      status: run?.status ?? 'running',
      exit_code: exit,
      reason: run?.reason ?? '',
      next,
    });
    if (options.json !== true) io.out(lineOf(id, run, next));
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, runs: records }, null, 2)}\n`);
  return code;
}

function lineOf(id: string, run: RunSummary | undefined, next: string): string {
  if (run === undefined) return `run ${id} is still running\n`;
  const story = foreign(storyOf(run), '  ');
  return `run ${id}: ${run.status}${story === '' ? '' : `: ${story}`}\n${next === '' ? '' : `next: ${next}\n`}`;
}
