/** A sandbox within a stage: for what one of our own programs starts there, and is not to see all that it sees itself. */
import { readFileSync } from 'node:fs';
import type { Spawn } from '../spawn.ts';
import { rights } from './ladder.ts';

/** What begins an argv whose program finds one folder empty and our own processes closed, and all else as we do. Empty
 *  where no such sandbox can be made. */
export async function without(
  folder: string,
  cwd: string,
  { spawn, env }: { readonly spawn: Spawn; readonly env: Readonly<Record<string, string>> },
): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const start = [
    'bwrap',
    '--die-with-parent',
    // With users of its own nobody in it looks into a process of ours, through which there is a way to the folder.
    '--unshare-user',
    ...rights,
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

/** Whether we are in a stage's sandbox ourselves: bubblewrap is the first of the processes there. Elsewhere nobody wants
 *  one, or there is none. */
export function isConfined(): boolean {
  try {
    return readFileSync('/proc/1/comm', 'utf8') === 'bwrap\n';
  } catch {
    return false;
  }
}
