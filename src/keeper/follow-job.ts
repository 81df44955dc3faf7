/** The job that follows a pull request: it sleeps in the queue, and a worker looks whenever it is due. */
import { thisUser } from '../app/acts.ts';
import { flagWords } from '../app/typed-command.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
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
  /** It has other flags now. */
  readonly changed: boolean;
};

/** Queues the job, once for a run, after GitHub has shown the pull request. `plain`: the same command without flags. */
export async function queueFollow(
  queue: JobQueue,
  flags: FollowRequestFlags,
  host: FollowHost,
  plain: FollowRequestFlags,
): Promise<QueuedFollow | Refusal> {
  return withGitHub({ ...host, signal: host.signal() }, async (client) => {
    const record = await openFollow(client, flags, host);
    if ('problems' in record) return record;
    const job = jobOf(record, flags, host);
    const [added] = await queue.submit([{ job, target: 'now' }]);
    const { run_id } = job;
    const changed = added === true ? false : await makeDue(queue, job, jobOf(record, plain, host));
    if (typeof changed === 'object') return changed;
    const { repo, number } = record;
    const already = added !== true;
    return { schema_version: 1, job: run_id, run_id: record.run_id, repo, number, already, changed };
  });
}

/** Makes the job of a command due that is in the queue, with its flags: whether they are others. Without flags it keeps what it has. */
async function makeDue(queue: JobQueue, job: Job, plain: Job): Promise<boolean | Refusal> {
  const { run_id } = job;
  const is = await queue.get(run_id);
  const flagsOf = ({ request: { cwd, follow } }: Job) => JSON.stringify([cwd, follow]);
  const isPlain = flagsOf(job) === flagsOf(plain);
  if (is !== undefined && (isPlain || flagsOf(job) === flagsOf(is.job))) {
    if (is.state === 'held') await queue.change(run_id, { target: 'now', reason: null });
    return false;
  }
  if ((await queue.cancel(run_id)).kind === 'elsewhere')
    return refused('follow', 'a worker looks at the pull request now', 'run the same command again', 75);
  await queue.submit([{ job, target: 'now' }]);
  return true;
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
