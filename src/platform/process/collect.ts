/** Runs a helper program such as git and collects its output in memory. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { stopSignal } from './in-process.ts';

/** How the call ended. `stdout` and `stderr` are raw bytes. */
export type Collected =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: Buffer; readonly stderr: Buffer }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'not_started'; readonly error: unknown };

export type CollectOptions = {
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Passed on standard input; without `input` and `inputFile` standard input is empty. */
  readonly input?: string | Uint8Array;
  readonly inputFile?: string;
  /** Receives standard output instead of memory; created or replaced. */
  readonly outputFile?: string;
  /** The program gets a separate process group and is not ended with this process. */
  readonly detached?: boolean;
};

/** Runs `program` with `args` until it exits. Rejects only if `inputFile` or `outputFile` cannot be opened. */
export async function collect(
  program: string,
  args: readonly string[],
  options: CollectOptions,
): Promise<Collected> {
  const { cwd, env, input, detached = false } = options;
  const files: number[] = [];
  const opened = (path: string | undefined, flags: string): number | undefined => {
    if (path === undefined) return undefined;
    const file = openSync(path, flags);
    files.push(file);
    return file;
  };
  try {
    const stdin = opened(options.inputFile, 'r') ?? (input === undefined ? 'ignore' : 'pipe');
    const stdout = opened(options.outputFile, 'w') ?? 'pipe';
    const signal = detached ? undefined : stopSignal();
    const stdio: SpawnOptions['stdio'] = [stdin, stdout, 'pipe'];
    const child = start(program, args, { cwd, env, detached, stdio, ...(signal && { signal }) });
    return 'error' in child ? { kind: 'not_started', ...child } : await untilClosed(child, input, detached);
  } finally {
    for (const file of files) closeSync(file);
  }
}

function start(program: string, args: readonly string[], options: SpawnOptions) {
  try {
    return spawn(program, args, options);
  } catch (error) {
    return { error };
  }
}

function untilClosed(child: ChildProcess, input: CollectOptions['input'], detached: boolean) {
  if (!detached) endWithUs(child);
  return new Promise<Collected>((resolve) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout?.on('data', (piece: Buffer) => stdout.push(piece));
    child.stderr?.on('data', (piece: Buffer) => stderr.push(piece));
    // A program that exits before it has read all of its input reports that by its exit code.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    // A program that has been asked to stop is waited for.
    child.once('error', (error) => {
      if (error.name !== 'AbortError') resolve({ kind: 'not_started', error });
    });
    child.once('close', (code, signal) =>
      resolve(
        code === null
          ? { kind: 'signalled', signal: signal ?? 'SIGKILL' }
          : { kind: 'exited', code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) },
      ),
    );
  }).finally(() => running.delete(child));
}

/** Programs that end when this process exits. */
const running = new Set<ChildProcess>();

function endWithUs(child: ChildProcess): void {
  if (!process.listeners('exit').includes(endAll)) process.on('exit', endAll);
  running.add(child);
}

function endAll(): void {
  for (const child of running) child.kill();
}
