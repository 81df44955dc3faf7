/** The base of a pull request has moved: it is merged into the branch, verified anew by a run in the queue, and pushed if it holds. */
import { join } from 'node:path';
import { inCode } from '../app/pull-request/evidence-text.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { scenariosNamed } from '../core/policy/holdout-paths.ts';
import { masker } from '../core/policy/mask.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import { forwardBranch } from '../git/deliver.ts';
import { fetchCommit, mergeCommit } from '../git/merge-base-branch.ts';
import { firstRemote, push, pushFailure } from '../git/push.ts';
import { hasCommit } from '../git/repository.ts';
import { branchHead } from '../github/branches.ts';
import type { PullState } from '../github/pull-state.ts';
import { remotePlace, repositoryText } from '../github/repository-name.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import { GitError, sourceGit } from '../platform/git.ts';
import { isJudging } from '../run/evidence.ts';
import { openRun } from '../run/open-run.ts';
import type { Look } from './follow.ts';
import {
  type FollowMerge,
  type FollowRecord,
  type FollowRound,
  followPlace,
  nextRoundId,
  withNewRound,
} from './follow-record.ts';
import { checksOfRun, failedChecksIn, mergeFiles, mergePipeline } from './merge-checks.ts';
import { type RoundEnd, unpushed } from './round-end.ts';
import { roundFlags } from './round-flags.ts';
import { submitRuns } from './submit.ts';

/** Milliseconds between two merges: a base that moves all the time is not merged all the time. */
const mergeGapMs = 3_600_000;

export type MergeStart =
  | { readonly do: 'round'; readonly record: FollowRecord }
  | { readonly do: 'person' | 'sleep'; readonly why: string };

/** Merges the base and records the round that verifies it; undefined where the branch has it, or it was tried. */
export async function mergeMovedBase(
  look: Look,
  record: FollowRecord,
  pull: PullState,
): Promise<MergeStart | undefined> {
  try {
    return await beginMerge(look, record, pull);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { do: 'sleep', why: `its base ${pull.base.ref} cannot be merged: ${error.message}` };
  }
}

async function beginMerge(
  look: Look,
  record: FollowRecord,
  pull: PullState,
): Promise<MergeStart | undefined> {
  const { client, name, flags, host } = look;
  if (flags.merges === 0) return undefined;
  const { env, runsDir, clock } = host;
  const { source, branch, head, rounds } = record;
  const base = pull.base.ref;
  const commit = await branchHead(client, name, base);
  const before = rounds.flatMap(({ merge }) => merge ?? []);
  if (commit === undefined || before.some((one) => one.commit === commit)) return undefined;
  if (await hasCommit(sourceGit(source, env), head, commit)) return undefined;
  const sleep = (why: string): MergeStart => ({ do: 'sleep', why: `its base ${base} has moved: ${why}` });
  if (before.length >= flags.merges)
    return sleep(`${before.length} of ${flags.merges} merges are spent, --merges allows more`);
  const due = Date.parse(before.at(-1)?.at ?? '') + mergeGapMs;
  if (due > clock.now().getTime()) return sleep('it was merged less than an hour ago');
  const accepted = await acceptedRun(runsDir, record);
  if (accepted === undefined || 'problem' in accepted)
    return sleep(accepted?.problem ?? 'the run has no commands that could verify a merge');
  const round = nextRoundId(record);
  const unreached = await fetched(look, record, { base, commit });
  if (unreached !== undefined) return sleep(unreached);
  const now = clock.now();
  const message = `Merge branch '${base}' into ${branch}\n\nVerified by run ${round} of factory.\n`;
  const made = await mergeCommit(
    source,
    { head, other: commit, message, ref: refOf(record, 'merge'), date: now },
    env,
  );
  if ('failed' in made) return sleep(`git cannot merge it: ${made.failed}`);
  if ('conflict' in made)
    return { do: 'person', why: `its branch conflicts with ${base} (${made.conflict}): merge it by hand` };
  // The files of the pipeline are written when its run is queued.
  const merge = { base, commit, merged: made.commit, at: now.toISOString() };
  const added = await withNewRound(runsDir, record, {
    ...{ run_id: round, base: head, requests: [], checks: [], merge },
    ...{ queued: false, ended: null, answered: false },
  });
  return { do: 'round', record: added };
}

const refOf = ({ run_id }: FollowRecord, what: 'base' | 'merge'): string =>
  `refs/factory/follow/${run_id}/${what}`;

async function fetched(
  { name, host: { env, signal, spawn } }: Look,
  record: FollowRecord,
  { base: branch, commit }: { readonly base: string; readonly commit: string },
): Promise<string | undefined> {
  const { source } = record;
  const git = sourceGit(source, env);
  // With a fork as the first remote the base is in another one.
  const listed = (await git.text(['remote'])).split('\n').filter((remote) => remote !== '');
  const places = new Map<string, string>();
  for (const remote of listed) {
    const place = remotePlace((await git.run(['remote', 'get-url', '--', remote]).then(textOf)) ?? '');
    if (place !== undefined) places.set(repositoryText(place).toLowerCase(), remote);
  }
  const remote = places.get(repositoryText(name).toLowerCase()) ?? (await firstRemote(git))?.name;
  if (remote === undefined) return 'the repository has no remote';
  const ref = refOf(record, 'base');
  return fetchCommit({ source, remote, branch, commit, ref, env, signal: signal() }, spawn);
}

const textOf = (ended: { readonly ok: boolean; readonly text?: string }): string | undefined =>
  ended.ok ? ended.text : undefined;

/** What has accepted the commits on the branch: the checks of the latest run whose commits were pushed. */
async function acceptedRun(runsDir: string, record: FollowRecord) {
  const latest = record.rounds.findLast(({ merge, ended }) => merge === null && ended?.commit != null);
  const dir = join(runsDir, latest?.run_id ?? record.run_id);
  const stored = await openRun(dir).stored();
  if ('problems' in stored) return { problem: stored.problems[0]?.message ?? 'its run cannot be read' };
  const found = await checksOfRun({ dir, ...stored });
  if ('problem' in found) return { problem: `a merge cannot be verified: ${found.problem}` };
  return found.checks.length === 0 ? undefined : { checks: found.checks, manifest: stored.manifest };
}

/** Queues the run that verifies a merge. */
export async function submitMerge(
  { queue, flags, host }: Look,
  record: FollowRecord,
  { run_id: id }: FollowRound,
  { base, merged }: FollowMerge,
) {
  const { runsDir } = host;
  const accepted = await acceptedRun(runsDir, record);
  if (accepted === undefined || 'problem' in accepted)
    return refused('follow', accepted?.problem ?? 'the run has no commands that could verify a merge');
  const { checks, manifest } = accepted;
  const { folder } = followPlace(runsDir, record.run_id);
  const files = mergeFiles(folder, id);
  makeFolder(folder);
  const label = `Merge of ${base} into ${record.branch}`;
  const texts = mergePipeline(checks, { manifest, label, plans: `${id}.json` });
  const safe = { mode: 0o600, sync: true, syncFolder: true };
  await writeFileAtomic(files.plans, texts.plans, safe);
  await writeFileAtomic(files.pipeline, texts.pipeline, safe);
  const { submit } = flags;
  const request = {
    ...submit,
    ...{ names: [files.pipeline], vars: {}, strict: false },
    flags: roundFlags(manifest, submit.flags, record),
    ...{ key: id, inOrder: false, base: merged },
    ...(manifest.holdout === undefined ? {} : { holdoutOf: record.run_id }),
  };
  return submitRuns(queue, request, host, () => {});
}

/** Pushes a merge that was verified, or says what no longer holds: nothing of a scenario. */
export async function endOfMerge(
  { host }: Look,
  record: FollowRecord,
  round: FollowRound,
  merge: FollowMerge,
  shown: string,
): Promise<RoundEnd | Refusal> {
  const { runsDir } = host;
  const { source, branch } = record;
  const { run_id: id, base } = round;
  const { merged: head } = merge;
  const history = openRun(join(runsDir, id)).history();
  if (!history.ok) return refused('follow', history.why);
  if (history.checkpoint.status !== 'completed')
    return { commit: null, why: await failureWords(host, record, round, merge) };
  if (shown === head) return { commit: head, why: '' };
  if (shown !== base)
    return {
      person: `its branch has a commit that is not ours (${shown.slice(0, 12)}): the merge of run ${id} is not pushed`,
    };
  return pushedMerge({ source, branch, head }, `the merge of run ${id}`, host);
}

async function pushedMerge(
  { source, branch, head }: Pick<FollowRecord, 'source' | 'branch' | 'head'>,
  what: string,
  { env, spawn, signal }: Look['host'],
): Promise<RoundEnd> {
  try {
    const problem = await forwardBranch(source, { branch, head }, env);
    if (problem !== undefined) return unpushed(what, problem.problem, '');
  } catch (error) {
    if (error instanceof GitError) return unpushed(what, error.message, '');
    throw error;
  }
  const { ok, stderr } = await push({ repo: source, branch, env, signal: signal() }, spawn);
  if (ok) return { commit: head, why: '' };
  return unpushed(what, signal().aborted ? 'interrupted' : pushFailure(stderr), stderr);
}

/** The checks that fail, for all who see the pull request. */
async function failureWords(
  { env, runsDir }: Look['host'],
  record: FollowRecord,
  { run_id: id }: FollowRound,
  { base, commit }: FollowMerge,
): Promise<string> {
  const what = `${inCode(base)} has moved to ${commit}`;
  const see = `People with access to it see why: \`factory why ${id}\`.`;
  const history = openRun(join(runsDir, id)).history();
  const accepted = await acceptedRun(runsDir, record);
  if (!history.ok || accepted === undefined || 'problem' in accepted)
    return `${what}, and the merge with it could not be verified by run ${id}. ${see}`;
  const failed = failedChecksIn(history, accepted.checks);
  const sealed = accepted.manifest.holdout?.paths ?? [];
  const mask = masker(textsToMask(env));
  const open = failed.commands.filter((one) => !isJudging(one) && scenariosNamed(one, sealed).length === 0);
  const named = [...open, ...failed.files].map((one) => `- ${inCode(mask(one))}`);
  const others = failed.judge || open.length < failed.commands.length ? ['- the holdout scenarios'] : [];
  const lines = [...named, ...others];
  if (lines.length === 0)
    return `${what}, and run ${id} of the merge with it ended as ${history.checkpoint.status}. ${see}`;
  return [
    `${what}. Merged with it, these no longer hold:`,
    '',
    ...lines,
    '',
    `Nothing was pushed. ${see}`,
  ].join('\n');
}
