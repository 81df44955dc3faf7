/** Starts a command line of ours in the background: in a separate session, so that it outlives the terminal. Until its run
 *  has begun it prints to the process that started it, from then on to the run's log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { isCode } from '../files/write.ts';

/** The first argument of a command line that runs in the background. */
export const backgroundWord = '--in-background';

/** How such a process has ended. `code` is its exit code, 1 after a signal. */
export type BackgroundEnd = { readonly code: number; readonly signal: string | null };

/** `begun`: nothing refuses the run any more, and it continues by itself; `ended` settles with its end, as long as this process lives. */
export type BackgroundStart =
  | {
      readonly kind: 'begun';
      readonly pid: number;
      readonly runDir: string;
      readonly log: string;
      readonly ended: Promise<BackgroundEnd>;
    }
  /** It has ended before that: refused, or there was nothing left to run. */
  | ({ readonly kind: 'ended' } & BackgroundEnd);

export type BackgroundOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What it prints until it has begun. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Interrupts the start; one that has begun meanwhile is stopped in order. */
  readonly signal?: AbortSignal | undefined;
};

/** Runs the Node script with the word above and `args`. Rejects only if no process can be started. */
export async function startInBackground(
  script: string,
  args: readonly string[],
  { cwd, env, out, err, signal }: BackgroundOptions,
): Promise<BackgroundStart> {
  const child = spawn(process.execPath, [script, backgroundWord, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.stdout?.setEncoding('utf8').on('data', out);
  child.stderr?.setEncoding('utf8').on('data', err);
  const stop = () => void child.kill('SIGINT');
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await startOf(child);
  } finally {
    signal?.removeEventListener('abort', stop);
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function startOf(child: ChildProcess): Promise<BackgroundStart> {
  let started: { readonly runDir: string; readonly log: string } | undefined;
  const ended = endOf(child);
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      if (isStartMessage(message)) started = message;
    });
    child.once('error', reject);
    // Its output has ended by then: the streams of a run that has begun are its log.
    const { pid = 0, stdout, stderr } = child;
    const streams = [stdout, stderr].map(
      (stream) => new Promise<void>((closed) => stream?.once('close', () => closed())),
    );
    const parted = new Promise<void>((done) => child.once('disconnect', () => done()));
    void Promise.all([...streams, parted]).then(() => {
      if (started !== undefined) return resolve({ kind: 'begun', pid, ...started, ended });
      void ended.then((end) => resolve({ kind: 'ended', ...end }));
    });
  });
}

const endOf = (child: ChildProcess): Promise<BackgroundEnd> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code: code ?? 1, signal }));
  });

const isStartMessage = (message: unknown): message is { readonly runDir: string; readonly log: string } =>
  typeof message === 'object' && message !== null && 'runDir' in message && 'log' in message;

/** In the background: from now on standard output and error are the file `log`, which is appended to, and the process that
 *  started this one is free. */
export function continueAlone(runDir: string, log: string): void {
  // A new descriptor is the lowest that is free.
  for (const stream of [1, 2]) {
    closeSync(stream);
    openSync(log, 'a', 0o644);
  }
  if (process.send === undefined || !process.connected) return;
  process.send({ runDir, log }, undefined, undefined, (error) => {
    // The other process may have been killed.
    if (error !== null && !isCode(error, 'ERR_IPC_CHANNEL_CLOSED', 'EPIPE')) throw error;
    if (process.connected) process.disconnect();
  });
}
