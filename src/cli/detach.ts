/** `--detach`: starts the same command line in the background and says how to reach its run. */
import { basename } from 'node:path';
import { startDetached } from '../app/detach.ts';
import { namedRun } from '../store/runs.ts';
import type { CliIo } from './io.ts';

/** Prints what the command prints until its run has begun, then where that is. Exit code 0, or that of a command that is refused or
 *  has nothing to run. `argv` is the command line, with the flag. */
export async function detachCommand(
  argv: readonly string[],
  options: { readonly json?: boolean; readonly quiet?: boolean },
  io: CliIo,
): Promise<number> {
  const words = argv.filter((word) => word !== '--detach' && word !== '-detach');
  const { cwd, env, out, err } = io;
  const started = await startDetached(words, { cwd, env, out, err, signal: io.signal() });
  if (started.kind === 'ended') return started.code;
  const { pid, runDir, log } = started;
  const id = basename(runDir);
  if (options.json === true) {
    const record = { schema_version: 1, status: 'running', run_id: id, run_dir: runDir, log, pid };
    out(`${JSON.stringify(record, null, 2)}\n`);
    return 0;
  }
  if (options.quiet === true) {
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
