/** `factory keep` of the built command line, and jobs for it. */
import { join } from 'node:path';
import { vi } from 'vitest';
import type { JobTarget } from '../../src/core/contracts/job-queue.ts';
import type { Job, QueuedJob } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import type { Home, Options, Ran } from './cli.ts';

const patient = { timeout: 60_000, interval: 10 };

export type KeeperProcess = {
  readonly pid: number;
  /** Settles with the first line of its log that fits. */
  said(form: RegExp): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ran>;
};

/** Starts a worker, and waits until it works. */
export async function keeper(
  it: Home,
  args: readonly string[] = [],
  options: Options = {},
): Promise<KeeperProcess> {
  const lines: string[] = [];
  let self: { readonly pid: number; kill(signal: NodeJS.Signals): void } | undefined;
  const watch: Options['watch'] = (line, process) => {
    lines.push(line);
    self = process;
  };
  const ended = it.factory(['keep', ...args], {
    ...options,
    env: { FACTORY_LOG_LEVEL: 'info', ...options.env },
    watch,
  });
  const said = (form: RegExp) =>
    vi.waitFor(() => {
      const line = lines.find((one) => form.test(one));
      if (line === undefined) throw new Error(`${form} is not in the log:\n${lines.join('\n')}`);
      return line;
    }, patient);
  await said(/worker started/);
  const pid = self?.pid ?? 0;
  return { pid, said, ended, kill: (signal) => self?.kill(signal) };
}

export type TestQueue = {
  submit(id: string, run: readonly string[], more?: Partial<Job>, target?: JobTarget): Promise<void>;
  /** Settles as soon as the job is there: `gone`, or its state with its reason. */
  until(id: string, place: string): Promise<QueuedJob | undefined>;
  move(id: string): Promise<void>;
};

/** The queue of the default runs directory of a home, for a test; by default it is in the folder. */
export async function queueOf(it: Home, db?: string): Promise<TestQueue & AsyncDisposable> {
  const runsDir = join(it.path, '.factory/runs');
  const queue = await openQueue(runsDir, { clock: realClock, env: {}, db, cwd: it.path });
  if ('problems' in queue) throw new Error(JSON.stringify(queue));
  const now = () => realClock.now().toISOString();
  return {
    async submit(id, run, more = {}, target = 'now') {
      const request = { cwd: it.path, run, resume: [] };
      const about = { title: id, priority: 0, submitted_at: now(), submitted_by: 'ada', labels: [], request };
      await queue.submit([{ job: { schema_version: 1, run_id: id, ...about, ...more }, target }]);
    },
    until: (id, place) =>
      vi.waitFor(async () => {
        const job = await queue.get(id);
        const is = job === undefined ? 'gone' : [job.state, job.job.reason?.kind].filter(Boolean).join(' ');
        if (is !== place) throw new Error(`${id} is ${is}, not ${place}: ${job?.job.reason?.text ?? ''}`);
        return job;
      }, patient),
    async move(id) {
      await queue.change(id, { target: 'now', reason: null });
    },
    [Symbol.asyncDispose]: () => queue.close(),
  };
}
