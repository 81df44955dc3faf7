/** `factory compare`: two runs side by side. */
import { compareRunsIn } from '../app/compare/index.ts';
import { findNamed } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { comparisonText } from './report/compare.ts';
import { painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type CompareOptions = {
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** The exit code is 0 whether the runs differ or not. */
export async function compareCommand(
  a: string,
  b: string,
  options: CompareOptions,
  io: CliIo,
): Promise<VerbResult> {
  const first = await findNamed(a, options, io);
  if ('problems' in first) return first;
  const second = await findNamed(b, options, io);
  if ('problems' in second) return second;
  const comparison = await compareRunsIn([first.dir, second.dir], io);
  if ('problems' in comparison) return comparison;
  if (options.json === true) io.out(`${JSON.stringify(comparison, null, 2)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(`${comparisonText(comparison, paint, io.outIsTerminal ? io.width : 160)}\n`);
  }
  return 0;
}
