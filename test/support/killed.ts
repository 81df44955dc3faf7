/** The built command line, killed in the middle of its work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnv, cli } from './cli.ts';

/** Runs `factory …argv` as a process and kills it (SIGKILL) once `met`. Rejects if it ends before. */
export async function killedWhen(
  argv: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  met: () => boolean,
): Promise<void> {
  const child = spawn(process.execPath, [cli, ...argv], { cwd, env: cleanEnv(env), stdio: 'ignore' });
  const looking = setInterval(() => met() && child.kill('SIGKILL'), 5);
  const [code, signal] = await once(child, 'exit');
  clearInterval(looking);
  if (signal !== 'SIGKILL') throw new Error(`factory ${argv.join(' ')} ended before (exit code ${code})`);
}
