/** Jobs of the queue, for the verbs that act on runs. */

import { join } from 'node:path';
import { askQueue, type JobHost } from '../app/queued-run.ts';
import { localTime } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { jobsNamed } from '../keeper/find-job.ts';
import { queueReport } from '../keeper/queue-report.ts';
import { listingOf } from '../run/runs.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';
import type { VerbResult } from './verb.ts';

const code = 'run-queued';

/** A refusal that says that the run with this name is queued and has not begun; undefined if no such job is known. */
export async function queuedRefusal(
  runsDir: string,
  name: string,
  host: JobHost,
): Promise<Refusal | undefined> {
  const named = await askQueue(runsDir, host, async (queue) => jobsNamed(await queue.list(), name));
  // A queue that cannot be asked is no reason to say anything else than that the run is not there.
  if (named === undefined || 'problems' in named) return undefined;
  const [one, ...more] = named;
  if (one === undefined) return undefined;
  const look = listingOf(join(runsDir, one.job.run_id), host.cwd).replace('factory runs', 'factory queue');
  if (more.length > 0)
    return refused('no-run', `${named.length} jobs in the queue are called "${name}", and no run`, look);
  return refused(code, `run ${one.job.run_id} is queued and has not begun (${one.state})`, look);
}

/** Shows the job in place of a run that has not begun; undefined for another refusal. */
export async function showQueued(
  { problems: [first] }: Refusal,
  runsDir: string,
  options: { readonly db?: string; readonly json?: boolean },
  io: CliIo,
): Promise<VerbResult | undefined> {
  if (first?.code !== code) return undefined;
  const report = await askQueue(runsDir, { ...io, db: databaseUrlOf(options, io) }, (queue) =>
    queueReport(queue, { ...io, runsDir }),
  );
  if (report === undefined || 'problems' in report) return undefined;
  const job = report.jobs.find(({ run_id }) => first.message.startsWith(`run ${run_id} `));
  if (job === undefined) return undefined;
  if (options.json === true) {
    io.out(`${JSON.stringify({ schema_version: 1, run_id: job.run_id, status: 'queued', job }, null, 2)}\n`);
    return 0;
  }
  const { run_id, title, state, due_at, why, next } = job;
  const lines = [
    `run ${run_id} (${title}) is queued and has not begun: ${state === 'later' ? `it sleeps until ${localTime(due_at ?? '', io.clock.now())}` : state}`,
    ...(why === '' ? [] : [`  why    ${why}`]),
    `  ${next === '' ? `queue  ${first.fix}` : `next   ${next}`}`,
  ];
  io.out(`${lines.join('\n')}\n`);
  return 0;
}
