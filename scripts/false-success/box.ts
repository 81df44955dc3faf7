/** A box around a case: what it starts ends with it, and it can write nothing of the machine but its folder. It takes no part in
 *  what is measured: without it, what a case leaves behind would meet the next one. */
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';

export type BoxedEnd = { readonly code: number | null; readonly output: string; readonly timedOut: boolean };

export type BoxedCommand = {
  readonly command: readonly string[];
  readonly folder: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly seconds: number;
  /** False where the sandbox of a run ends what it starts by itself: it is measured without a box. */
  readonly boxed: boolean;
  /** Folders under /tmp that it reads. */
  readonly reads: readonly string[];
};

const live = new Set<number>();

/** Ends what runs. */
export function endBoxes(): void {
  for (const pid of live) endGroup(pid);
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

export function runBoxed({
  command,
  folder,
  cwd,
  env,
  seconds,
  boxed,
  reads,
}: BoxedCommand): Promise<BoxedEnd> {
  const [program = '', ...words] = boxed ? [...boxWords(folder, reads, cwd), ...command] : command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const { pid } = child;
    if (pid !== undefined) live.add(pid);
    let output = '';
    let timedOut = false;
    const take = (text: Buffer): void => {
      output = (output + text).slice(-100_000);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const timer = setTimeout(() => {
      timedOut = true;
      if (pid !== undefined) endGroup(pid);
    }, seconds * 1000);
    child.on('error', reject);
    // What a case leaves behind may hold its output open.
    child.on('exit', (code) => {
      clearTimeout(timer);
      if (pid !== undefined) live.delete(pid);
      setTimeout(() => resolve({ code, output, timedOut }), 20);
    });
  });
}

const boxWords = (folder: string, reads: readonly string[], cwd: string): string[] => [
  ...['bwrap', '--die-with-parent', '--unshare-pid', '--unshare-net', '--unshare-ipc'],
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
  ...reads.flatMap((path) => ['--ro-bind', realpathSync(path), realpathSync(path)]),
  ...['--bind', folder, folder, '--chdir', cwd, '--'],
];
