/** What a queue of jobs does, wherever it keeps them. Every call is atomic: after a crash a job is in one place, once. */
import type { Job, QueuedJob } from '../records/job.ts';

/** Where a job that is not in the hands of a worker is put: due now, asleep until a time (RFC 3339), or held. */
export type JobTarget = 'now' | { readonly dueAt: string } | 'held';

/** What a worker is able and allowed to take. */
export type ClaimRequest = {
  readonly most: number;
  /** Labels of the worker: it takes jobs all of whose labels are among them; without, jobs of any. */
  readonly labels?: readonly string[] | undefined;
  /** How many jobs of a label may run at once, by label. */
  readonly mostOfLabel: Readonly<Record<string, number>>;
  /** Runs that this worker cannot execute. */
  readonly leaves: ReadonlySet<string>;
};

/** What became of a call that names a job. `elsewhere`: the job is in another place than the call needs, which is answered. */
export type JobChange =
  | { readonly kind: 'done'; readonly job: QueuedJob }
  | { readonly kind: 'elsewhere'; readonly job: QueuedJob }
  | { readonly kind: 'none' };

export interface JobQueue {
  /** For people, without a password: `folder` or `postgres://HOST/DATABASE`. */
  readonly place: string;
  /** Adds jobs; the answer says for each whether it was added: one whose key is queued already is not. All of one call or none. */
  submit(jobs: readonly { readonly job: Job; readonly target: JobTarget }[]): Promise<readonly boolean[]>;
  /** Gives due jobs to this worker: by priority, then by time of submission, then by run id. */
  claim(request: ClaimRequest): Promise<readonly QueuedJob[]>;
  /** Jobs that a dead worker has left: they are this worker's now. */
  takeOver(request: ClaimRequest): Promise<readonly (QueuedJob & { readonly from: string })[]>;
  /** Says that this worker lives and still has these jobs. Answers those that it has no longer. */
  extend(runIds: readonly string[]): Promise<readonly string[]>;
  /** Jobs of this worker that it has to put back when a node of theirs ends: a database lets one worker have a job for a day. */
  overdue(): readonly string[];
  /** Removes a job that this worker has. A second call changes nothing. */
  finish(runId: string): Promise<void>;
  /** Puts a job that this worker has back, with its changed record. A second call changes nothing. */
  delay(job: Job, target: JobTarget): Promise<void>;
  /** Removes a job that no worker has. */
  cancel(runId: string): Promise<JobChange>;
  /** Changes a job that no worker has. Without a target it stays in its place. */
  change(
    runId: string,
    change: {
      readonly priority?: number;
      readonly target?: JobTarget;
      readonly reason?: Job['reason'] | null;
    },
  ): Promise<JobChange>;
  get(runId: string): Promise<QueuedJob | undefined>;
  /** All jobs, or those in one state: running, waiting in the order of claims, later by time, held. */
  list(only?: QueuedJob['state']): Promise<readonly QueuedJob[]>;
  /** Calls back soon after jobs were added, changed or removed, or became due. The returned function ends it. */
  onChange(changed: () => void): () => void;
  /** Ends what the queue holds open; the jobs of this worker stay its own. */
  close(): Promise<void>;
}
