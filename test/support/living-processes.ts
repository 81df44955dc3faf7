/** Processes that do nothing but live: names of workers that tests act for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { processId, type Self, thisProcess } from '../../src/platform/process/table.ts';

export interface LivingProcesses extends AsyncDisposable {
  /** The process of that name, which is started at the first call. */
  self(name: string): Self;
  kill(name: string): Promise<void>;
}

export function livingProcesses(): LivingProcesses {
  const all = new Map<string, { readonly child: ChildProcess; readonly self: Self }>();
  const end = async (child: ChildProcess): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    self(name) {
      const known = all.get(name);
      if (known !== undefined) return known.self;
      const child = spawn('sleep', ['600'], { stdio: 'ignore' });
      const id = processId(child.pid ?? 0);
      if (id === undefined) throw new Error('sleep did not start');
      const self = { ...thisProcess(), id };
      all.set(name, { child, self });
      return self;
    },
    async kill(name) {
      const known = all.get(name);
      all.delete(name);
      if (known !== undefined) await end(known.child);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...all.values()].map(({ child }) => end(child)));
    },
  };
}
