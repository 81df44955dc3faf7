/** `factory follow`: one look at the pull request of a run. What people with write access ask for becomes a round: a run on the branch's
 *  head, judged by the same scenarios, whose commits are pushed; each comment is answered once. */
import type { DeliveryHost } from '../app/deliver.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { masker } from '../core/policy/mask.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import { quoteWord } from '../core/policy/words.ts';
import { commitOnRemote } from '../git/push.ts';
import { commitNamed, hasCommit } from '../git/repository.ts';
import { type WriteAccess, writeAccessTo } from '../github/access.ts';
import { failedChecks } from '../github/check-runs.ts';
import type { GitHub } from '../github/client.ts';
import { type PullState, pullState, pullTexts } from '../github/pull-state.ts';
import { type RepositoryName, repositoryNamed } from '../github/repository-name.ts';
import { withGitHub } from '../github/with-github.ts';
import { makeFolder } from '../platform/files/write.ts';
import { sourceGit } from '../platform/git.ts';
import type { HttpSend } from '../platform/http.ts';
import { acquireLock } from '../run/lock.ts';
import { endOfMerge, mergeMovedBase } from './follow-merge.ts';
import {
  type FollowMerge,
  type FollowRecord,
  type FollowRound,
  followPlace,
  writeFollow,
} from './follow-record.ts';
import { newRequests } from './follow-requests.ts';
import { answerRequests, endOfRound, queueRound, recordRound } from './follow-round.ts';
import { openFollow } from './follow-start.ts';
import type { lookEnds } from './job-end.ts';
import type { SubmitHost, SubmitRequest } from './submit.ts';

export type FollowRequestFlags = {
  /** A run, or a pull request as `OWNER/REPO#N` or by its address; as typed. */
  readonly target: string;
  /** `OWNER/REPO`; by default that of the remote. */
  readonly repo?: string | undefined;
  /** Most rounds, of all looks together. */
  readonly rounds: number;
  /** Most merges of a base that has moved, of all looks together. */
  readonly merges: number;
  /** A person has looked at commits of others on the branch: rounds build on them from now on. */
  readonly adopt?: boolean | undefined;
  /** Bots whose comments are requests. */
  readonly trust: readonly string[];
  readonly submit: Omit<SubmitRequest, 'names' | 'key' | 'inOrder' | 'base' | 'holdoutOf'>;
};

export type FollowHost = SubmitHost & DeliveryHost & { readonly send: HttpSend };

export type FollowReport = {
  readonly schema_version: 1;
  readonly run_id: string;
  readonly repo: string;
  readonly number: number;
  /** `sleeps`: nothing is to be done before `next`. `person`: it goes no further without one. */
  readonly what: (typeof lookEnds)[number];
  readonly why: string;
  /** RFC 3339. */
  readonly next: string | null;
  /** Run of the latest round. */
  readonly round: string | null;
};

/** What one look has. */
export type Look = {
  readonly client: GitHub;
  readonly access: WriteAccess;
  readonly name: RepositoryName;
  readonly queue: JobQueue;
  readonly flags: FollowRequestFlags;
  readonly host: FollowHost;
};
type Ended = Pick<FollowReport, 'what' | 'why'> & { readonly record: FollowRecord };

/** Milliseconds between two looks. */
const lookMs = 120_000;

export async function followOnce(
  queue: JobQueue,
  flags: FollowRequestFlags,
  host: FollowHost,
): Promise<FollowReport | Refusal> {
  return withGitHub({ ...host, signal: host.signal() }, (client) => followBy(client, queue, flags, host));
}

/** One process at a time looks at a pull request. */
async function followBy(
  client: GitHub,
  queue: JobQueue,
  flags: FollowRequestFlags,
  host: FollowHost,
): Promise<FollowReport | Refusal> {
  const { runsDir, clock } = host;
  const record = await openFollow(client, flags, host);
  if ('problems' in record) return record;
  const name = repositoryNamed(record.repo);
  if (name === undefined) return refused('follow', `${record.repo} is no repository`);
  const { folder } = followPlace(runsDir, record.run_id);
  makeFolder(folder);
  const answer = await acquireLock(folder, { clock, ownedBy: 'it is followed by', forgets: true });
  if (answer.kind === 'refused') return reportOf({ record, what: 'sleeps', why: answer.why }, host);
  try {
    const again = await openFollow(client, flags, host);
    if ('problems' in again) return again;
    const look = { client, access: writeAccessTo(client, name), name, queue, flags, host };
    const ended = await lookAt(look, again);
    return 'problems' in ended ? ended : reportOf(ended, host);
  } finally {
    await answer.lock.release();
  }
}

function reportOf({ record, what, why }: Ended, { clock }: FollowHost): FollowReport {
  const { run_id, repo, number, rounds } = record;
  const next = what === 'sleeps' ? new Date(clock.now().getTime() + lookMs).toISOString() : null;
  return { schema_version: 1, run_id, repo, number, what, why, next, round: rounds.at(-1)?.run_id ?? null };
}

async function lookAt(look: Look, record: FollowRecord): Promise<Ended | Refusal> {
  const pull = await pullState(look.client, look.name, record.number);
  const end = (what: Ended['what'], why: string): Ended => ({ record, what, why });
  if (pull.merged === true) return end('merged', 'it is merged');
  if (pull.state === 'closed') return end('closed', 'it is closed');
  const open = record.rounds.find(({ answered }) => !answered);
  if (look.flags.adopt === true && open === undefined && pull.head.sha !== record.head) {
    const adopted = await adoptHead(look, record, pull);
    return typeof adopted === 'string' ? end('person', adopted) : nextRound(look, adopted, pull);
  }
  if (open === undefined) return nextRound(look, record, pull);
  if (open.ended !== null) return answered(look, record, open);
  const queued = await queueRound(look, record, open);
  if ('problems' in queued) return queued;
  if (queued.state === 'works') return underWay(look, record, open, queued.why);
  const removed = { commit: null, why: queued.why };
  const done = queued.state === 'removed' ? removed : await endOf(look, record, open, pull.head.sha);
  if ('problems' in done) return done;
  if ('sleeps' in done) return end('sleeps', done.sleeps);
  const over = 'person' in done ? await givenUp(look, record, pull, { open, why: done.person }) : done;
  if ('person' in over) return end('person', over.person);
  const { commit, why } = over;
  const ended = { commit, why };
  const head = 'head' in over ? over.head : (commit ?? record.head);
  const now = withRound({ ...record, head }, { ...open, ended });
  await writeFollow(look.host.runsDir, now);
  return answered(look, now, { ...open, ended });
}

/** A round that cannot be pushed since others have pushed: a person who adopts their commits gives it up. */
async function givenUp(
  look: Look,
  record: FollowRecord,
  { head: { sha } }: PullState,
  { open, why }: { readonly open: FollowRound; readonly why: string },
): Promise<
  { readonly person: string } | { readonly commit: null; readonly why: string; readonly head: string }
> {
  if (look.flags.adopt !== true || sha === open.base) return { person: why };
  const person = await notAdopted(look, record, sha);
  return person === undefined ? { commit: null, why, head: sha } : { person };
}

const endOf = (look: Look, record: FollowRecord, round: FollowRound, shown: string) =>
  round.merge === null
    ? endOfRound(look, record, round, shown)
    : endOfMerge(look, record, round, round.merge, shown);

const withRound = (record: FollowRecord, round: FollowRound): FollowRecord => ({
  ...record,
  rounds: record.rounds.map((one) => (one.run_id === round.run_id ? round : one)),
});

async function answered(look: Look, record: FollowRecord, round: FollowRound): Promise<Ended> {
  await answerRequests(look, record, round);
  const now = withRound(record, { ...round, answered: true });
  await writeFollow(look.host.runsDir, now);
  const { commit, why } = round.ended ?? { commit: null, why: '' };
  if (round.merge !== null) return { record: now, what: 'sleeps', why: mergeWords(round.merge, commit) };
  const number = record.rounds.indexOf(record.rounds.find(({ run_id }) => run_id === round.run_id) ?? round);
  const words = commit === null ? why : `pushed ${commit.slice(0, 12)}`;
  return { record: now, what: 'sleeps', why: `round ${number + 1}: ${words}; its comments are answered` };
}

const mergeWords = ({ base, commit }: FollowMerge, pushed: string | null): string =>
  pushed === null
    ? `${base} at ${commit.slice(0, 12)} was not merged; a comment says why`
    : `${base} at ${commit.slice(0, 12)} is merged and verified: pushed ${pushed.slice(0, 12)}`;

/** Takes the branch as others have left it; a string says why not. */
async function adoptHead(
  look: Look,
  record: FollowRecord,
  { head: { sha } }: PullState,
): Promise<FollowRecord | string> {
  const problem = await notAdopted(look, record, sha);
  if (problem !== undefined) return problem;
  const now = { ...record, head: sha };
  await writeFollow(look.host.runsDir, now);
  return now;
}

/** Why rounds cannot begin with the head that others have pushed: the source has to have it. */
async function notAdopted(
  { host }: Look,
  { source, branch, head }: FollowRecord,
  sha: string,
): Promise<string | undefined> {
  const repository = sourceGit(source, host.env);
  const at = await commitNamed(repository, `refs/heads/${branch}`);
  if (at === sha) return undefined;
  const git = `git -C ${quoteWord(source)}`;
  const fetch = `${git} fetch REMOTE ${quoteWord(`${branch}:${branch}`)}`;
  const isBehind =
    at === undefined || (await hasCommit(repository, head, at)) || (await hasCommit(repository, sha, at));
  // Commits that were not pushed, ours or of a person, keep a name.
  const aside = isBehind
    ? ''
    : `${git} branch -m ${quoteWord(branch)} ${quoteWord(`${branch}-${at.slice(0, 12)}`)} && `;
  return `the branch ${branch} of ${source} is not at ${sha.slice(0, 12)}: ${aside}${fetch}`;
}

/** Begins a round if anything is asked for. */
async function nextRound(look: Look, record: FollowRecord, pull: PullState): Promise<Ended | Refusal> {
  const { flags } = look;
  const end = (what: Ended['what'], why: string): Ended => ({ record, what, why });
  const strange = await headProblem(look, record, pull);
  if (strange !== undefined) return end(strange.what, strange.why);
  if (pull.mergeable === false)
    return end('person', `its branch conflicts with ${pull.base.ref}: merge it by hand`);
  const texts = await pullTexts(look.client, look.name, record.number);
  const known = record.rounds.flatMap(({ requests }) => requests);
  const requests = await newRequests(texts, known, look.access, flags.trust);
  const { failed: checks, running } = await newFailures(look, record);
  if (requests.length + checks.length > 0) {
    const spent = record.rounds.filter(({ merge }) => merge === null).length;
    if (spent >= flags.rounds)
      return end('person', `${spent} of ${flags.rounds} rounds are spent: --rounds allows more`);
    return queueLatest(
      look,
      await recordRound(look, record, { requests: [...requests], checks: [...checks] }),
    );
  }
  if (running) return end('sleeps', 'its checks are running');
  const merge = await mergeMovedBase(look, record, pull);
  if (merge?.do === 'round') return queueLatest(look, merge.record);
  if (merge !== undefined) return end(merge.do === 'person' ? 'person' : 'sleeps', merge.why);
  return end('sleeps', 'nothing is asked for');
}

async function queueLatest(look: Look, now: FollowRecord): Promise<Ended | Refusal> {
  const round = now.rounds.at(-1);
  if (round === undefined) throw new Error('Internal: no round was begun');
  const queued = await queueRound(look, now, round);
  if ('problems' in queued) return queued;
  return underWay(look, now, round, queued.why);
}

async function underWay(look: Look, record: FollowRecord, round: FollowRound, why: string): Promise<Ended> {
  const now = withRound(record, { ...round, queued: true });
  if (!round.queued) await writeFollow(look.host.runsDir, now);
  return { record: now, what: 'sleeps', why: `round ${now.rounds.length}: ${why}` };
}

/** Checks that fail on the head. A head has one round for them: where that changed nothing, another one would not either. */
async function newFailures({ client, name, host }: Look, { head, rounds }: FollowRecord) {
  if (rounds.some(({ base, checks }) => base === head && checks.length > 0))
    return { failed: [], running: false };
  // A log may show what the environment of this process has, too.
  const { failed, running } = await failedChecks(client, name, head, masker(textsToMask(host.env)));
  return { failed: running ? [] : failed, running };
}

/** Commits of others on the branch. GitHub may show an earlier head of ours for a while: git knows whether it is that. */
async function headProblem(
  { host }: Look,
  record: FollowRecord,
  { head }: PullState,
): Promise<Omit<Ended, 'record'> | undefined> {
  if (head.sha === record.head) return undefined;
  const { source: repo, branch } = record;
  const { env, spawn } = host;
  const wasOurs = record.rounds.some(({ base }) => base === head.sha);
  const is = wasOurs ? await commitOnRemote({ repo, branch, env, signal: host.signal() }, spawn) : head.sha;
  if (is === undefined || is === record.head)
    return { what: 'sleeps', why: `GitHub does not show the commit ${record.head.slice(0, 12)} yet` };
  return {
    what: 'person',
    why: `its branch has another head (${head.sha.slice(0, 12)}) than the one that was pushed last (${record.head.slice(0, 12)})`,
  };
}
