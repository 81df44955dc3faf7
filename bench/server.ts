/** A server of a runs directory, for cases that measure what its clients cost it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bench, Program } from './case.ts';
import { endGroup, Failed, Interrupted, processorOf } from './measure.ts';

export type Served = {
  readonly origin: string;
  /** For the header `Authorization` of every request. */
  readonly authorization: string;
  /** The part of a core, in percent, that the server and what it has waited for use in so many milliseconds from now. */
  share(forMs: number): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Starts `serve` over the runs directory `runs`. Its clients are the caller's: what they cost is not the server's.
 *  Rejects with `Failed` when it ends before it listens. Needs /proc for `share`. */
export async function serveRuns(bench: Bench, program: Program, runs: string): Promise<Served> {
  const [command = '', ...words] = [...bench.priority.words, ...program.argv, 'serve', '--port', '0'];
  const stderr = openSync(join(bench.scratch, `serve-${program.name}`), 'a');
  const child = spawn(command, [...words, '--runsdir', runs], {
    env: bench.env,
    detached: true,
    stdio: ['ignore', 'pipe', stderr],
  });
  closeSync(stderr);
  const end = () => endGroup(child.pid, 'SIGKILL');
  bench.signal.addEventListener('abort', end, { once: true });
  const ended = once(child, 'close').then(
    () => undefined,
    () => undefined,
  );
  // The address is the first that it says.
  const address = new Promise<URL>((resolve) =>
    child.stdout?.once('data', (said) => resolve(new URL(String(said).trim()))),
  );
  const url = await Promise.race([address, ended]);
  if (url === undefined) {
    end();
    if (bench.signal.aborted) throw new Interrupted();
    throw new Failed(`${program.argv.join(' ')} serve does not listen`);
  }
  return {
    origin: url.origin,
    authorization: `Bearer ${url.searchParams.get('token')}`,
    share: async (forMs) => {
      const start = performance.now();
      const before = processorOf(child.pid);
      await wait(forMs);
      const used = processorOf(child.pid) - before;
      if (bench.signal.aborted) throw new Interrupted();
      return (100 * used) / (performance.now() - start);
    },
    [Symbol.asyncDispose]: async () => {
      bench.signal.removeEventListener('abort', end);
      child.kill('SIGTERM');
      await ended;
    },
  };
}
