/** A nested sandbox: for a program that this program starts inside a node and that must not see everything the node
 *  sees. */
import { readFileSync } from 'node:fs';
import type { Spawn } from '../../core/contracts/process.ts';
import { sandboxRights } from './capabilities.ts';

/** The start of an argv whose program finds one folder empty, cannot access this program's processes, and sees
 *  everything else unchanged. Empty where no such sandbox can be created. */
export async function without(
  folder: string,
  cwd: string,
  { spawn, env }: { readonly spawn: Spawn; readonly env: Readonly<Record<string, string>> },
): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const start = [
    'bwrap',
    '--die-with-parent',
    // In a separate user namespace no process can look into one of this program, through which the folder could be
    // reached.
    '--unshare-user',
    ...sandboxRights,
    ...['--dev-bind', '/', '/', '--tmpfs', folder, '--remount-ro', folder, '--chdir', cwd, '--'],
  ] as const;
  const tried = await spawn.run({
    argv: [...start, 'true'],
    cwd,
    env,
    stdoutFile: '/dev/null',
    stderrFile: '/dev/null',
  });
  return tried.kind === 'exited' && tried.code === 0 ? start : [];
}

/** Whether this process is in a node's sandbox: bubblewrap is the first process there. Elsewhere a nested sandbox
 *  is not needed or not possible. */
export function isConfined(): boolean {
  try {
    return readFileSync('/proc/1/comm', 'utf8') === 'bwrap\n';
  } catch {
    return false;
  }
}
