/** What a runs directory keeps of a pull request that is followed. It is written before each step whose repetition would show. */
import { join } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { runId } from '../core/records/names.ts';
import { sha256 } from '../core/sha256.ts';
import { gitHubLayout } from '../github/layout.ts';
import { readPlain } from '../platform/files/read.ts';
import { makeFolder, writeJson } from '../platform/files/write.ts';

const requestSchema = once(() =>
  z.object({
    kind: z.enum(['comment', 'review', 'thread']),
    id: z.int(),
    url: z.string(),
    author: z.string(),
    at: z.string(),
    /** At the time when it was accepted: later edits do not reach the run. */
    text: z.string(),
    /** Of a thread: its file, and the id of its first comment. */
    path: z.string(),
    thread: z.int(),
  }),
);
export type FollowRequest = z.infer<ReturnType<typeof requestSchema>>;

const checkSchema = once(() => z.object({ name: z.string(), conclusion: z.string(), text: z.string() }));

const mergeSchema = once(() =>
  z.object({
    /** Name of the base branch, and its commit that is merged. */
    base: z.string(),
    commit: z.string(),
    /** The commit that merges it. */
    merged: z.string(),
    at: z.string(),
  }),
);
export type FollowMerge = z.infer<ReturnType<typeof mergeSchema>>;

const roundSchema = once(() =>
  z.object({
    run_id: runId(),
    /** Head of the branch that it builds on. */
    base: z.string(),
    requests: z.array(requestSchema()),
    checks: z.array(checkSchema()),
    /** Its run only verifies a merge of the base, and no one has asked for it. */
    merge: mergeSchema().nullable().default(null),
    /** Its run was in the queue: one that is gone since was removed by a person. */
    queued: z.boolean(),
    /** Null before the run has ended and its commits are pushed. `commit` is null where there is none; `why` says why. */
    ended: z.object({ commit: z.string().nullable(), why: z.string() }).nullable(),
    /** Whether all of its requests are answered. */
    answered: z.boolean(),
  }),
);
export type FollowRound = z.infer<ReturnType<typeof roundSchema>>;

const followSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: runId(),
    /** `OWNER/REPO`. */
    repo: z.string(),
    number: z.int(),
    /** The repository with the branch, absolute. */
    source: z.string(),
    branch: z.string(),
    /** Of the branch, by us. */
    head: z.string(),
    rounds: z.array(roundSchema()),
  }),
);
export type FollowRecord = z.infer<ReturnType<typeof followSchema>>;

export const followPlace = (runsDir: string, id: string) => {
  const folder = join(gitHubLayout(runsDir).root, 'follows', id);
  return {
    folder,
    record: join(folder, 'follow.json'),
    spec: (round: string) => join(folder, `${round}.md`),
  };
};

/** An id that a run id gives; long ones are cut, and stay different. */
const shortId = (id: string): string =>
  id.length <= 85 ? id : `${id.slice(0, 72)}-${sha256(id).slice(0, 12)}`;

/** Ids of the run of a round, which count from 1, and of the job that follows. */
const roundRunId = (id: string, round: number): string => `${shortId(id)}-round-${round}`;
export const followJobId = (id: string): string => `follow-${shortId(id)}`;

/** Undefined where the run is not followed yet; a record that cannot be read is not begun again. */
export function readFollow(runsDir: string, id: string): FollowRecord | 'unreadable' | undefined {
  const read = readPlain(followPlace(runsDir, id).record);
  if (read.kind === 'missing') return undefined;
  const record = followSchema().safeParse(read.kind === 'text' ? jsonIn(read.text) : undefined);
  return record.success ? record.data : 'unreadable';
}

export async function writeFollow(runsDir: string, record: FollowRecord): Promise<void> {
  const { folder, record: file } = followPlace(runsDir, record.run_id);
  makeFolder(folder);
  await writeJson(file, record, { sync: true, syncFolder: true });
}

/** The id of the run of the round that would be the next one. */
export const nextRoundId = ({ run_id, rounds }: FollowRecord): string =>
  roundRunId(run_id, rounds.length + 1);

export async function withNewRound(
  runsDir: string,
  record: FollowRecord,
  round: FollowRound,
): Promise<FollowRecord> {
  const now = { ...record, rounds: [...record.rounds, round] };
  await writeFollow(runsDir, now);
  return now;
}
