/** `--detach`: starts the same command line in the background and says how to reach its run. */
import { basename } from 'node:path';
import { startDetached } from '../app/detach.ts';
import { namedRun } from '../store/runs.ts';
import type { CliIo } from './io.ts';

const flags = ['--detach', '-detach'];

/** Prints what the command prints until its run has begun, then where that is. Exit code 0, or that of a command that is refused or
 *  has nothing to run. `argv` is the command line, with the flag. */
export async function detachCommand(
  argv: readonly string[],
  options: { readonly json?: boolean; readonly quiet?: boolean },
  io: CliIo,
): Promise<number> {
  // Quiet is this command: the log has all.
  const quiet = options.quiet === true;
  const own = quiet ? [...flags, '-q', '--quiet', '-quiet'] : flags;
  const words = argv.filter((word) => !own.includes(word));
  const { cwd, env, out, err } = io;
  const doors = { cwd, env, out, signal: io.signal(), ...(quiet ? {} : { err }) };
  const started = await startDetached(words, doors);
  if (started.kind === 'ended') {
    if (quiet) err(started.stderr);
    return started.code;
  }
  const { pid, runDir, log } = started;
  const id = basename(runDir);
  if (options.json === true) {
    const record = { schema_version: 1, status: 'running', run_id: id, run_dir: runDir, log, pid };
    out(`${JSON.stringify(record, null, 2)}\n`);
    return 0;
  }
  if (quiet) {
    out(`${id}\n`);
    return 0;
  }
  const program = io.called?.program ?? 'factory';
  const run = namedRun(runDir, cwd);
  out(`run ${id} continues in the background (process ${pid})\n`);
  out(`  log     ${log}\n`);
  for (const verb of ['attach', 'wait', 'stop']) out(`  ${verb.padEnd(7)} ${program} ${verb} ${run}\n`);
  return 0;
}
