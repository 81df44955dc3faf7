/** What follows the last node of an order's run: its commits land and are pushed, and the report is written. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { countedItems } from '../../core/amounts.ts';
import { isPaused } from '../../core/outcome.ts';
import { headRef, layout } from '../../core/records/layout.ts';
import type { RunResult } from '../../core/records/result.ts';
import { fixedAuthor } from '../../git/commit.ts';
import { filterWarning } from '../../git/filters.ts';
import { historyGit, readHistoryStart } from '../../git/history.ts';
import { beginLanding, endLanding, land, lockDirectory } from '../../git/landing.ts';
import { type PushResult, push } from '../../git/push.ts';
import { recordedHead, strayProblem } from '../../git/recorded-head.ts';
import { commonGitDir } from '../../git/repository.ts';
import { appliedOrders } from '../../git/start-history.ts';
import { differenceWords, targetDifferences } from '../../git/target-bytes.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { beforeWrite } from '../../platform/files/fence.ts';
import { settleTree } from '../../platform/files/flush-tree.ts';
import { BadJsonRecord } from '../../platform/files/json-record.ts';
import { readSome } from '../../platform/files/read.ts';
import { makeFolder, systemWords } from '../../platform/files/write.ts';
import { GitError, sourceGit } from '../../platform/git.ts';
import { openRun } from '../../run/open-run.ts';
import { namedRun } from '../../run/runs.ts';
import { recordDelivery } from '../delivered.ts';
import type { Finished } from '../types.ts';
import { type OrderEnding, writeReport } from './report.ts';
import type { OrderRequest } from './sources.ts';
import type { OrderHost } from './types.ts';

export type OrderResult = {
  readonly run_id: string;
  readonly repo: string;
  readonly work_order_id: string;
  readonly verdict: OrderEnding['verdict'];
  readonly exit_code: number;
  readonly branch: string;
  readonly commit: string | null;
  readonly attempts: number;
  /** The stage at which the last attempt failed. */
  readonly stage: string | null;
  readonly reason: string;
  /** The run has not ended: a resume continues it. */
  readonly resumable: boolean;
  readonly artifacts: string;
  readonly run_dir: string;
  readonly push: PushResult | null;
  readonly notes: readonly string[];
};

/** The caller holds the repository's lock. Repeating it lands and reports the same. */
export async function landOrder(
  request: OrderRequest,
  { result, code }: Finished,
  notes: readonly string[],
  host: OrderHost,
): Promise<OrderResult> {
  const gitDir = await commonGitDir(request.repo, host.env);
  const effect = await effectOf(request, result, host);
  const landed =
    result.status === 'completed' && !effect.none
      ? await landRun(request, result, gitDir, host)
      : { ...nothingLanded, tree: effect.tree };
  const interrupted = landed.interrupted || result.status === 'interrupted' || isPaused(result.status);
  const passed = result.status === 'completed' && !landed.untrusted;
  const verdict = interrupted ? 'ERROR' : effect.none ? 'NO_CHANGE' : passed ? 'PASS' : 'FAIL';
  const reason = effect.none ? noEffect : (landed.reason ?? result.reason);
  if (gitDir !== undefined) beforeWrite(lockDirectory(gitDir));
  const attempts = await writeReport(request, result.run_dir, {
    verdict,
    reason,
    interrupted,
    tree: landed.tree,
    commits: landed.commit === null || !landed.onBranch ? [] : [landed.commit],
    push: landed.push,
    finishedAt: host.clock.now().toISOString(),
  });
  const exported = request.out_dir === null ? [] : await exportArtifacts(request, request.out_dir);
  if (gitDir !== undefined && result.status === 'completed' && !effect.none && landed.ended)
    await endLanding(gitDir, [request.artifacts]);
  const stage = attempts.at(-1)?.failure_brief?.['stage'];
  // 4 is for a model that gave no answer; an answer that is not a proposal is a failed attempt.
  const failed = code === 4 && stage === 'llm_output_invalid' ? 1 : code;
  return {
    run_id: request.run_id,
    repo: request.repo,
    work_order_id: request.work_order_id,
    verdict,
    exit_code: landed.interrupted ? 130 : landed.reason === undefined && !effect.none ? failed : 1,
    branch: request.branch,
    commit: landed.commit,
    attempts: attempts.length,
    stage: typeof stage === 'string' ? stage : null,
    reason,
    resumable: interrupted || (result.status === 'failed' && result.exit_node === null),
    artifacts: request.artifacts,
    run_dir: result.run_dir,
    push: landed.push,
    notes: [...notes, ...effect.notes, ...auditNotes(result, host), ...landed.notes, ...exported],
  };
}

const noEffect =
  'the model was asked, and no file changed; if that is right, add the line may_be_empty to the notes of the order';

/** Whether a completed run was without any effect (`none`); `tree` is then that of the repository. An order that a commit of
 *  the branch has carried out before has nothing to do. */
async function effectOf(
  { repo, baseline, digest, work_order_id }: OrderRequest,
  { status, evidence }: RunResult,
  { env }: OrderHost,
): Promise<{ readonly none: boolean; readonly tree: string | null; readonly notes: readonly string[] }> {
  const some = { none: false, tree: null, notes: [] };
  if (status !== 'completed' || evidence?.unchanged_orders?.includes(work_order_id) !== true) return some;
  const commit = (await appliedOrders(repo, baseline, env))[digest];
  if (commit !== undefined)
    return { ...some, notes: [`nothing to do: commit ${commit.slice(0, 12)} has carried out this order`] };
  const tree = await sourceGit(repo, env).run(['rev-parse', '--verify', '--quiet', `${baseline}^{tree}`]);
  return { none: true, tree: tree.ok ? tree.text : null, notes: [] };
}

const auditNotes = ({ audit, run_dir }: RunResult, { cwd }: OrderHost): readonly string[] =>
  audit === undefined || audit.errors === 0
    ? []
    : [`the audit has found ${countedItems(audit.errors, 'error')}: factory audit ${namedRun(run_dir, cwd)}`];

/** Whether the run has ended without any effect: a resume would not ask the model again. */
export async function hadNoEffect({ artifacts }: OrderRequest): Promise<boolean> {
  const text = await readSome(join(artifacts, 'run_summary.json'), 16 * 1024 * 1024);
  return text !== undefined && /^ {2}"verdict": "NO_CHANGE"/m.test(text);
}

type RunLanding = {
  /** The final commit and its tree; the commit is null where the order changed nothing. */
  readonly commit: string | null;
  readonly tree: string | null;
  readonly onBranch: boolean;
  readonly push: PushResult | null;
  readonly notes: readonly string[];
  /** Why the commits are not on the branch, or not pushed. */
  readonly reason?: string;
  /** The run's history is not the one that its records describe. */
  readonly untrusted: boolean;
  readonly interrupted: boolean;
  /** Nothing is left to do: the next run on the repository has nothing to complete. */
  readonly ended: boolean;
};

const nothingLanded: RunLanding = {
  ...{ commit: null, tree: null, onBranch: false, push: null, notes: [] },
  ...{ untrusted: false, interrupted: false, ended: true },
};

/** The one path by which commits get onto a branch of the user's repository. */
async function landRun(
  request: OrderRequest,
  result: RunResult,
  gitDir: string | undefined,
  host: OrderHost,
): Promise<RunLanding> {
  const { repo, branch, baseline: base } = request;
  const { env } = host;
  const run = layout(result.run_dir);
  // Without a sandbox a check can write there.
  const reader = openRun(result.run_dir);
  const manifest = await reader.manifest();
  if (!manifest.ok) throw new BadJsonRecord(manifest.why);
  const history = historyGit(run.history, env);
  const head = await history.text(['rev-parse', headRef]);
  const start = await readHistoryStart(run.history);
  const read = reader.history();
  if (!read.ok) throw new BadJsonRecord(read.why);
  const stray = strayProblem(head, recordedHead(read.checkpoint.tool_state, start.first_commit));
  if (stray !== undefined)
    return { ...nothingLanded, untrusted: true, reason: stray.problem, notes: [stray.fix] };
  const tree = await history.text(['rev-parse', `${head}^{tree}`]);
  const made = { ...nothingLanded, tree, commit: head === base ? null : head };
  if (gitDir === undefined) return { ...made, reason: `${repo} is no longer a git repository` };
  const bytes = await bytesThere(request, { historyDir: run.history, head }, env);
  if (bytes.refused !== undefined)
    return { ...made, reason: bytes.refused.problem, notes: [bytes.refused.fix] };
  const held = lockDirectory(gitDir);
  const { run_id, digest } = request;
  const began_at = host.clock.now().toISOString();
  await beginLanding(
    gitDir,
    { run_id, run_dir: result.run_dir, digest, repo, branch, base, head, began_at },
    env,
  );
  const landed = await land({
    ...{ historyDir: run.history, repo, branch, base, head, env, held },
    existed: request.branch_existed,
    startingBranch: request.starting_branch,
    author: start.author ?? fixedAuthor,
  }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error;
    return { halfDone: error.message };
  });
  const named = namedRun(result.run_dir, host.cwd);
  if ('halfDone' in landed) {
    const next = `factory resume ${named}`;
    return { ...made, reason: landed.halfDone, ended: false, notes: [`check the repository, then: ${next}`] };
  }
  if ('problem' in landed) {
    const fix = landed.fix.replace('factory deliver RUN ', () => `factory deliver ${named} `);
    return { ...made, reason: landed.problem, notes: [fix] };
  }
  await settleTree([repo, gitDir]);
  recordDelivery(run.root, { to: repo, branch, head }, host.clock, (message) => host.log('warn', message));
  const warnings = made.commit === null ? [] : await filterWarning(sourceGit(repo, env), { base, head }, env);
  const notes = [...landed.notes, ...bytes.warnings, ...warnings];
  const done = { ...made, onBranch: true, notes };
  if (!request.push || made.commit === null) return done;
  const pushed = await push({ repo, branch, env, signal: host.signal, held }, host.spawn);
  if (!host.signal.aborted || pushed.ok || pushed.remote === '') return { ...done, push: pushed };
  const reason = 'interrupted before the branch was pushed';
  return { ...done, push: pushed, reason, interrupted: true, ended: false };
}

/** Whether the repository would check out what the checks have seen. */
async function bytesThere(
  { repo, baseline }: OrderRequest,
  of: { readonly historyDir: string; readonly head: string },
  env: OrderHost['env'],
): Promise<ReturnType<typeof differenceWords>> {
  if (of.head === baseline) return { warnings: [] };
  try {
    return differenceWords(await targetDifferences({ ...of, target: repo, env }));
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { refused: { problem: error.message, fix: `check the repository ${repo}` }, warnings: [] };
  }
}

/** Copies the artifacts to `--out`; answers with a note where that fails, since the order has landed. */
async function exportArtifacts(request: OrderRequest, out: string): Promise<readonly string[]> {
  const target = join(out, request.run_id);
  try {
    makeFolder(target);
    await cp(request.artifacts, target, { recursive: true });
    return [];
  } catch (error) {
    if (isDisks(error) || !(error instanceof Error && 'code' in error)) throw error;
    return [`the artifacts could not be copied to ${target}: ${systemWords(error)}`];
  }
}
