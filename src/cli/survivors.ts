/** `factory scenario survivors`: the mutants that the scenarios of a run did not notice, for people with the key of its holdout. */
import { survivorsOfRun } from '../app/survivors.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import { strengthText } from './report/strength.ts';
import type { VerbResult } from './verb.ts';

export type SurvivorsOptions = { readonly runsdir?: string; readonly json?: boolean };

/** Answers 0, also where there are none. Nothing is changed. */
export async function scenarioSurvivors(
  run: string,
  options: SurvivorsOptions,
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const read = await survivorsOfRun(found.dir, io.env);
  if ('problems' in read) return read;
  const { run_id, node, visit, strength, survivors } = read;
  io.out(
    options.json === true
      ? `${JSON.stringify({ schema_version: 1, ...read }, null, 2)}\n`
      : `run ${run_id}, ${node}@${visit}: ${strengthText({ strength, survivors, end: 'done' })}`,
  );
  return 0;
}
