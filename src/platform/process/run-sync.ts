/** Runs a short helper program where the caller cannot be asynchronous. */
import { spawnSync } from 'node:child_process';

/** What `program` (found on PATH) prints when it is started in `/` with `input`; after `timeoutMs` it is killed.
 *  Never throws: where it cannot be started, crashes or is killed, the result is what it printed so far, possibly
 *  nothing. */
export function outputOf(
  program: string,
  args: readonly string[],
  { input, timeoutMs }: { readonly input: string; readonly timeoutMs: number },
): string {
  const { stdout } = spawnSync(program, args, {
    cwd: '/',
    input,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // Null where the program could not be started, despite the declared type.
  return stdout ?? '';
}
