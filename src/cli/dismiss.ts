/** `factory dismiss`: takes a run out of those that need attention. */
import { thisUser } from '../app/acts.ts';
import { dismissRun } from '../app/dismiss-run.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

type DismissOptions = { readonly runsdir?: string; readonly json?: boolean };

export async function dismissCommand(run: string, options: DismissOptions, io: CliIo): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const done = await dismissRun(found.dir, thisUser(), io);
  if ('problems' in done) return done;
  const { run_id, already } = done;
  if (options.json === true) io.out(`${JSON.stringify(done, null, 2)}\n`);
  else
    io.out(
      `run ${run_id} ${already ? 'was dismissed before' : 'is dismissed until something happens to it'}\n`,
    );
  return 0;
}
