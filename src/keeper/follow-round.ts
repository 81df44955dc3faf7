/** A round of a pull request that is followed: its run, the push of its commits, and the answers. Each step may be repeated after a
 *  kill: the run has an id that the round gives, a push of the same commits changes nothing, and answers are looked for first. */
import { dirname, join } from 'node:path';
import { deliverRun } from '../app/deliver.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { headRef, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { historyGit } from '../git/history.ts';
import { commitNamed } from '../git/repository.ts';
import { writeComment } from '../github/issues.ts';
import { markedText, markOf } from '../github/marks.ts';
import { pullTexts, writeReply } from '../github/pull-state.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import { storedText } from '../run/inputs.ts';
import { openRun } from '../run/open-run.ts';
import type { Look } from './follow.ts';
import { submitMerge } from './follow-merge.ts';
import {
  type FollowRecord,
  type FollowRequest,
  type FollowRound,
  followPlace,
  nextRoundId,
  withNewRound,
} from './follow-record.ts';
import { answerMark } from './follow-requests.ts';
import { specOfRound } from './follow-spec.ts';
import { type RoundEnd, unpushed } from './round-end.ts';
import { roundFlags } from './round-flags.ts';
import { standingOfRun } from './run-standing.ts';
import { submitRuns } from './submit.ts';

/** Records the round. What it was asked for is fixed from here on. */
export async function recordRound(
  { host }: Look,
  record: FollowRecord,
  asked: Pick<FollowRound, 'requests' | 'checks'>,
): Promise<FollowRecord> {
  const round: FollowRound = {
    ...{
      run_id: nextRoundId(record),
      base: record.head,
      requests: [...asked.requests],
      checks: [...asked.checks],
    },
    ...{ merge: null, queued: false, ended: null, answered: false },
  };
  return withNewRound(host.runsDir, record, round);
}

export type QueuedRound = { readonly state: 'works' | 'ended' | 'removed'; readonly why: string };

/** Puts the run of a round into the queue, once, and says how it stands. */
export async function queueRound(
  look: Look,
  record: FollowRecord,
  round: FollowRound,
): Promise<QueuedRound | Refusal> {
  const { queue, host } = look;
  const { run_id: id } = round;
  const queued = await queue.get(id);
  const { standing } = await standingOfRun(host.runsDir, id, host.clock);
  if (standing.kind === 'ended' && queued === undefined) return { state: 'ended', why: standing.status };
  if (queued !== undefined) {
    const why = queued.job.reason === undefined ? queued.state : `${queued.state}, ${queued.job.reason.text}`;
    return { state: 'works', why: `run ${id} is in the queue (${why})` };
  }
  if (standing.kind !== 'absent') return { state: 'works', why: `run ${id} is not over (${standing.kind})` };
  if (round.queued) return { state: 'removed', why: `run ${id} was removed` };
  const submitted =
    round.merge === null
      ? await submitRound(look, record, round)
      : await submitMerge(look, record, round, round.merge);
  return 'problems' in submitted ? submitted : { state: 'works', why: `run ${id} is in the queue` };
}

async function submitRound({ queue, flags, host }: Look, record: FollowRecord, round: FollowRound) {
  const { runsDir } = host;
  const origin = join(runsDir, record.run_id);
  const read = await openRun(origin).manifest();
  if (!read.ok) return refused('follow', read.why);
  const { manifest } = read;
  const path = followPlace(runsDir, record.run_id).spec(round.run_id);
  makeFolder(dirname(path));
  const earlier = record.rounds
    .filter(({ ended }) => ended !== null && ended.commit !== null)
    .flatMap(({ requests }) => requests);
  const spec = specOfRound(specOf(origin, manifest), earlier, round);
  await writeFileAtomic(path, spec, { mode: 0o600, sync: true, syncFolder: true });
  const { submit } = flags;
  const isSpecRun = manifest.variables['spec']?.file !== undefined;
  const pipeline = isSpecRun ? (manifest.pipeline_file ?? manifest.pipeline_path) : 'compile-and-build';
  const request = {
    ...submit,
    names: [pipeline],
    vars: { ...(isSpecRun ? valuesOf(manifest) : {}), ...submit.vars, spec: path },
    flags: roundFlags(manifest, submit.flags, record),
    ...{ key: round.run_id, inOrder: false, base: round.base },
    ...(manifest.holdout === undefined ? {} : { holdoutOf: record.run_id }),
  };
  return submitRuns(queue, request, host, () => {});
}

function specOf(runDir: string, { variables }: Manifest): string {
  const hash = variables['spec']?.file?.sha256;
  return (hash === undefined ? undefined : storedText(runDir, hash)) ?? '';
}

const valuesOf = ({ variables }: Manifest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, { value, file }]) => [
      name,
      file === undefined ? value : file.source,
    ]),
  );

/** Pushes the commits of a round's run. */
export async function endOfRound(
  { host }: Look,
  record: FollowRecord,
  { run_id: id, base }: FollowRound,
  shown: string,
): Promise<RoundEnd | Refusal> {
  const dir = join(host.runsDir, id);
  const read = openRun(dir).history();
  if (!read.ok) return refused('follow', read.why);
  // Its reason may say what a scenario expects.
  if (read.checkpoint.status !== 'completed')
    return { commit: null, why: `run ${id} ended as ${read.checkpoint.status}` };
  const { branch } = record;
  const made = await commitNamed(historyGit(layout(dir).history, host.env), headRef);
  // Asked first: the branch of the source stays where a person may bring it to what others have pushed.
  if (made !== undefined && made !== base && shown !== base && shown !== made)
    return {
      person: `its branch has a commit that is not ours (${shown.slice(0, 12)}): run ${id} is not pushed`,
    };
  // The branch of the source is moved first: it says what is pushed.
  const delivered = await deliverRun(dir, { branch, reuse: true }, host);
  if ('problems' in delivered) return delivered;
  const { head } = delivered;
  if (head === null || head === base) return { commit: null, why: `run ${id} made no commit` };
  if (shown === head) return { commit: head, why: '' };
  const done = await deliverRun(dir, { branch, reuse: true, push: true }, host);
  if ('problems' in done) return done;
  if (done.pushed?.ok === true) return { commit: head, why: '' };
  return unpushed(`run ${id}`, done.pushed?.why ?? 'there is no remote', done.pushed?.stderr ?? '');
}

/** Writes each text that is not there yet. Where one may have been written it is looked for before it is written again. */
export async function answerRequests(
  { client, access, name }: Look,
  { number }: FollowRecord,
  round: FollowRound,
): Promise<void> {
  const answers = answersOf(round);
  if (answers.length === 0) return;
  await client.changeOnce(
    () => pullTexts(client, name, number),
    async (texts) => {
      for (const { mark, text, thread } of answers) {
        if ((await markedText(texts, mark, access)) !== undefined) continue;
        const body = `${mark}\n${text}`;
        if (thread === undefined) await writeComment(client, name, number, body);
        else await writeReply(client, name, { number, thread }, body);
      }
    },
  );
}

type Answer = { readonly mark: string; readonly text: string; readonly thread?: number };

function answersOf(round: FollowRound): readonly Answer[] {
  const { merge, ended, requests } = round;
  if (merge !== null)
    return ended?.commit == null
      ? [{ mark: markOf('merge', merge.merged), text: `Not merged: ${ended?.why ?? ''}` }]
      : [];
  return requests.map((request) => ({
    ...{ mark: answerMark(request), text: answerText(request, round) },
    ...(request.kind === 'thread' ? { thread: request.thread } : {}),
  }));
}

function answerText(request: FollowRequest, { run_id, ended }: FollowRound): string {
  const to = request.kind === 'thread' ? '' : ` to ${request.url}`;
  const words =
    ended?.commit == null
      ? `Not done: ${ended?.why ?? ''}. People with access to it see why: \`factory why ${run_id}\`.`
      : `Built as of ${ended.commit} by run \`${run_id}\`, which has completed.`;
  return `Answer${to}: ${words}`;
}
