/** The job of a run, for commands that act on runs: without a queue in the runs directory they cost a look at a missing folder. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { fleetLayout } from '../fleet/layout.ts';
import { isRun } from '../run/runs.ts';

export type JobHost = {
  readonly clock: Clock;
  readonly env: Environment;
  readonly cwd: string;
  /** URL of the database that has the jobs; by default that of the environment. */
  readonly db?: string | undefined;
};

/** Asks the queue of a runs directory; undefined where it has none. */
export async function askQueue<T>(
  runsDir: string,
  { clock, env, cwd, db = env['FACTORY_DB']?.trim() }: JobHost,
  ask: (queue: JobQueue) => Promise<T>,
): Promise<T | Refusal | undefined> {
  if (!existsSync(fleetLayout(runsDir).queue.root)) return undefined;
  const { openQueue, refusedIfAway } = await import('../fleet/open-queue.ts');
  const queue = await openQueue(runsDir, { clock, env, cwd, db: db === '' ? undefined : db });
  if ('problems' in queue) return queue;
  try {
    return await refusedIfAway(queue, () => ask(queue));
  } finally {
    await queue.close();
  }
}

/** What became of the wish that a run continues. `held`: a person has put its job on hold; `unknown`: its queue cannot be asked. */
export type JobRelease =
  | { readonly kind: 'none' }
  | { readonly kind: 'due' }
  | { readonly kind: 'running' }
  | { readonly kind: 'held' | 'unknown'; readonly why: string };

/** How often, and how long apart, a job is looked at that its worker is about to put back. */
const [mostLooks, lookMs] = [10, 100];

/** Makes the job of a run due, whose reason to wait has gone. */
export async function releaseJob(runDir: string, host: JobHost): Promise<JobRelease> {
  const id = basename(runDir);
  const released = await askQueue<JobRelease>(dirname(runDir), host, async (queue) => {
    for (let look = 1; ; look++) {
      const before = await queue.get(id);
      const { kind, text = '' } = before?.job.reason ?? {};
      if (before?.state === 'held' && (kind === 'person' || kind === 'stopped'))
        return { kind: 'held', why: text };
      const changed = await queue.change(id, { target: 'now', reason: null });
      if (changed.kind === 'none') return { kind: 'none' };
      if (changed.kind === 'done') return { kind: 'due' };
      if (look === mostLooks) return { kind: 'running' };
      await host.clock.sleep(lookMs);
    }
  });
  if (released === undefined) return { kind: 'none' };
  if (!('problems' in released)) return released;
  return { kind: 'unknown', why: released.problems[0]?.message ?? 'its queue cannot be asked' };
}

/** How many jobs of the queue have no run yet; undefined where there is no queue, or it cannot be asked. */
export async function jobsWithoutRun(runsDir: string, host: JobHost): Promise<number | undefined> {
  const all = await askQueue(runsDir, host, (queue) => queue.list());
  if (all === undefined || 'problems' in all) return undefined;
  const exist = await Promise.all(all.map(({ job }) => isRun(join(runsDir, job.run_id))));
  return exist.filter((exists) => !exists).length;
}
