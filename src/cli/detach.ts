/** `--detach`: starts the same command line in the background and says how to reach its run. */
import { basename } from 'node:path';
import { reportOfStart, startDetached } from '../app/detach.ts';
import { namedRun } from '../run/runs.ts';
import { usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

const flags = ['--detach', '-detach'];

/** Standard input as the value of an argument or of a flag. */
const standardInput = /(?:^|[=@])\/(?:dev\/(?:stdin|fd\/0)|proc\/(?:self|thread-self|\d+)\/fd\/0)$/;

/** Prints what the command prints until its run has begun, then where that is. Exit code 0, or that of a command that is refused or
 *  has nothing to run. `argv` is the command line, with the flag. */
export async function detachCommand(
  argv: readonly string[],
  options: { readonly json?: boolean; readonly quiet?: boolean },
  io: CliIo,
): Promise<VerbResult> {
  const typed = argv.find((word) => standardInput.test(word));
  if (typed !== undefined)
    return usage(
      `${typed}: a run in the background has no standard input`,
      'save the text to a file and name that, or leave out --detach',
    );
  // Quiet is this command: the log has all.
  const quiet = options.quiet === true;
  const own = quiet ? [...flags, '-q', '--quiet', '-quiet'] : flags;
  const words = argv.filter((word) => !own.includes(word));
  const { cwd, env, out, err } = io;
  const host = { cwd, env, out, signal: io.signal(), ...(quiet ? {} : { err }) };
  const started = await startDetached(words, host);
  if (started.kind === 'ended') {
    if (quiet) err(started.stderr);
    return started.code;
  }
  const { pid, runDir, log } = started;
  const id = basename(runDir);
  if (options.json === true) {
    const typed = words.filter((word) => !/^--?json$/.test(word));
    const answer = reportOfStart(started, typed, { dir: runDir, program: io.called?.program });
    out(`${JSON.stringify(answer, null, 2)}\n`);
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
