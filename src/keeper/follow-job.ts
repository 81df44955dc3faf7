/** The job that follows a pull request: it sleeps in the queue, and a worker looks whenever it is due. */
import { thisUser } from '../app/acts.ts';
import { flagWords } from '../app/typed-command.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { Job } from '../core/records/job.ts';
import { withGitHub } from '../github/with-github.ts';
import type { FollowHost, FollowRequestFlags } from './follow.ts';
import { type FollowRecord, followJobId } from './follow-record.ts';
import { openFollow } from './follow-start.ts';
import { wordsOf } from './passed-flags.ts';

export type QueuedFollow = {
  readonly schema_version: 1;
  /** Of the job. */
  readonly job: string;
  readonly run_id: string;
  readonly repo: string;
  readonly number: number;
  /** It was in the queue; one that a person was needed for is due again. */
  readonly already: boolean;
};

/** Queues the job, once for a run, after GitHub has shown the pull request. */
export async function queueFollow(
  queue: JobQueue,
  flags: FollowRequestFlags,
  host: FollowHost,
): Promise<QueuedFollow | Refusal> {
  return withGitHub({ ...host, signal: host.signal() }, async (client) => {
    const record = await openFollow(client, flags, host);
    if ('problems' in record) return record;
    const job = jobOf(record, flags, host);
    const [added] = await queue.submit([{ job, target: 'now' }]);
    const { run_id } = job;
    const is = added === true ? undefined : await queue.get(run_id);
    if (is?.state === 'held') await queue.change(run_id, { target: 'now', reason: null });
    const { repo, number } = record;
    const already = added !== true;
    return { schema_version: 1, job: run_id, run_id: record.run_id, repo, number, already };
  });
}

function jobOf(record: FollowRecord, flags: FollowRequestFlags, { cwd, clock }: FollowHost): Job {
  const { run_id: run, repo, number } = record;
  const { rounds, merges, trust, submit } = flags;
  const words = [
    ...[run, `--repo=${repo}`, `--rounds=${rounds}`, `--merges=${merges}`],
    ...trust.map((login) => `--trust=${login}`),
    ...wordsOf(submit.flags, cwd),
    ...Object.entries(submit.vars).map(([name, value]) => `--var=${name}=${value}`),
    ...flagWords({ strict: submit.strict, allow_dirty: submit.allowDirty, notify: submit.notify }),
    ...flagWords({ priority: submit.priority }),
  ];
  return {
    ...{ schema_version: 1, run_id: followJobId(run), title: `follow ${repo}#${number}` },
    ...{ priority: submit.priority, submitted_at: clock.now().toISOString(), submitted_by: thisUser() },
    ...{ labels: [], request: { cwd, run: [], resume: [], follow: words } },
  };
}
