/** `factory estimate`: what earlier runs of a pipeline have cost and taken. */
import { resolve } from 'node:path';
import { estimateOf } from '../app/estimate.ts';
import { estimateBasis, estimateWords } from '../app/estimate-words.ts';
import { inspectRows } from '../app/inspect/run-list.ts';
import { pipelinePath } from '../app/pipelines.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { isFile } from '../platform/files/read.ts';
import { runsDirOf, usage } from './find-run.ts';
import type { Io } from './io.ts';
import type { VerbResult } from './verb.ts';

export async function estimateCommand(
  pipeline: string,
  options: { readonly runsdir?: string; readonly json?: boolean },
  io: Io & { readonly clock: Clock },
): Promise<VerbResult> {
  const file = resolve(io.cwd, pipelinePath(pipeline, io.cwd));
  if (!(await isFile(file))) return usage(`there is no pipeline ${pipeline}`, 'factory pipelines lists them');
  const estimate = estimateOf(file, await inspectRows(runsDirOf(options, io), io));
  if (options.json === true) {
    io.out(`${JSON.stringify(estimate, null, 2)}\n`);
    return 0;
  }
  io.out(`${pipeline}: ${estimateBasis(estimate)}\n`);
  if (estimate.runs === 0) return 0;
  for (const [name, words] of Object.entries(estimateWords(estimate)))
    io.out(`  ${name.padEnd(7)} ${words}\n`);
  return 0;
}
