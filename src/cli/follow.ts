/** `factory follow RUN|PR`: a job that looks at a pull request again and again, or one look. */
import { localTime } from '../core/amounts.ts';
import { type FollowReport, type FollowRequestFlags, followOnce } from '../keeper/follow.ts';
import { queueFollow } from '../keeper/follow-job.ts';
import { realSend } from '../platform/http.ts';
import type { CliIo } from './io.ts';
import { withQueue } from './open-queue.ts';
import { type SubmitOptions, submitRequestOf } from './submit.ts';
import type { VerbResult } from './verb.ts';

export type FollowCommandOptions = Omit<SubmitOptions, 'key' | 'inOrder'> & {
  readonly repo?: string;
  readonly rounds?: number;
  readonly merges?: number;
  readonly trust?: readonly string[];
  readonly look?: boolean;
  readonly adopt?: boolean;
};

export async function followCommand(
  target: string,
  options: FollowCommandOptions,
  io: CliIo,
): Promise<VerbResult> {
  const { look, adopt } = options;
  const flags = requestFlags(target, options);
  if (look !== true && adopt !== true) return queued(flags, options, io);
  const done = await withQueue(options, io, (queue, runsDir) =>
    followOnce(queue, flags, { ...io, runsDir, send: realSend }),
  );
  if ('problems' in done) return done;
  io.out(options.json === true ? `${JSON.stringify(done, null, 2)}\n` : followLine(done, io.clock.now()));
  return exits[done.what];
}

function requestFlags(
  target: string,
  { repo, rounds = 3, merges = 3, trust = [], adopt, ...submit }: FollowCommandOptions,
): FollowRequestFlags {
  return { target, repo, rounds, merges, trust, adopt, submit: submitRequestOf([], submit) };
}

async function queued(
  flags: FollowRequestFlags,
  options: FollowCommandOptions,
  io: CliIo,
): Promise<VerbResult> {
  const done = await withQueue(options, io, (queue, runsDir) =>
    queueFollow(queue, flags, { ...io, runsDir, send: realSend }, requestFlags(flags.target, {})),
  );
  if ('problems' in done) return done;
  const { job, repo, number, already, changed } = done;
  const what = changed ? 'in the queue, with these flags now' : already ? 'in the queue already' : 'queued';
  const line = `${what}: ${job}  follow ${repo}#${number}\n`;
  io.out(options.json === true ? `${JSON.stringify(done, null, 2)}\n` : line);
  return 0;
}

const exits = { merged: 0, closed: 0, person: 1, sleeps: 75 } as const;

const words = { merged: 'done', closed: 'done', person: 'needs a person', sleeps: 'sleeps' } as const;

function followLine({ repo, number, what, why, next }: FollowReport, now: Date): string {
  const until = next === null ? '' : ` until ${localTime(next, now)}`;
  return `${words[what]}${until}: ${repo}#${number}: ${why}\n`;
}
