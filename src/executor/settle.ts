/** What comes after a run's last stage: its commits land, are pushed, and the records tell how it ended. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fixedAuthor } from '../builder/author.ts';
import { unconverted } from '../builder/filtered.ts';
import { headRef, historyGit, readHistoryStart } from '../builder/in-history.ts';
import { land } from '../builder/land.ts';
import { beginLanding, endLanding, heldBy, type Landing } from '../builder/landing.ts';
import { type Pushed, push } from '../builder/push.ts';
import { BadRecord } from '../builder/record.ts';
import { strayProblem } from '../builder/recorded.ts';
import { branchInUse } from '../builder/repository.ts';
import { processMarker } from '../engine/process-marker.ts';
import type { Finished } from '../factory.ts';
import { type Layout, layout } from '../model/layout.ts';
import { isPaused } from '../model/park.ts';
import { namedRun, readManifest } from '../store/run-store.ts';
import { isDisks } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { makeFolder, systemWords } from '../system/files.ts';
import { GitError, sourceGit } from '../system/git.ts';
import { attemptsOf } from './evidence.ts';
import { closeRecords, type Ending } from './records.ts';
import type { Request } from './request.ts';
import type { OrderDoors, Told } from './run.ts';

/** `doors.gitDir`: the git folder of the repository, where there is one still. */
export async function settle(
  request: Request,
  { result, code }: Finished,
  before: readonly string[],
  doors: OrderDoors & { readonly gitDir: string | undefined },
): Promise<Told> {
  const run = layout(result.run_dir);
  const named = namedRun(result.run_dir, doors.cwd);
  const notes = [...before];
  // A proposal that cannot be read is a failed attempt like any other; 4 is left for a model that gave no answer.
  let exit = result.status === 'failed' && code === 4 && (await unread(run)) ? 1 : code;
  let { reason } = result;
  let pushed: Pushed | null = null;
  let commits: string[] = [];
  let tree: string | null = null;
  let commit: string | null = null;
  const gitDir = result.status === 'completed' ? doors.gitDir : undefined;
  const held = gitDir === undefined ? {} : { held: heldBy(gitDir) };
  let unanswered = false;
  let home = false;
  let stopped = false;
  let stray: ReturnType<typeof strayProblem>;
  if (result.status === 'completed') {
    const history = historyGit(run.history, doors.env);
    const head = await history.text(['rev-parse', headRef]);
    tree = await history.text(['rev-parse', `${head}^{tree}`]);
    commit = head === request.baseline ? null : head;
    commits = commit === null ? [] : [commit];
    const start = await readHistoryStart(run.history);
    const marker = await markerOf(result.run_dir);
    const recorded = { 'build.commits': result.commits };
    stray = strayProblem(head, { context: recorded, first: start.first_commit });
    if (stray !== undefined) tree = commit = null;
    else if (gitDir !== undefined)
      await beginLanding(gitDir, { ...(await noted(request, doors)), run_dir: result.run_dir, head, marker });
    const landed =
      stray ??
      (await land({
        historyDir: run.history,
        repo: request.repo,
        branch: request.branch,
        existed: request.branch_existed,
        base: request.baseline,
        head,
        startingBranch: request.starting_branch,
        author: start.author ?? fixedAuthor,
        marker,
        env: doors.env,
        ...held,
      }).catch((error: unknown) => {
        if (!(error instanceof GitError)) throw error;
        unanswered = error.unanswered;
        // The run is but one order of several.
        const whole = request.batch !== null && request.baseline_source === 'HEAD' && doors.called?.again;
        const next = whole || `factory order run --resume --run-id ${named}`;
        return { problem: error.message, fix: `check the repository, then: ${next}` };
      }));
    if ('problem' in landed) {
      exit = 1;
      reason = landed.problem;
      commits = [];
      notes.push(landed.fix.replace('factory deliver RUN ', () => `factory deliver ${named} `));
    } else {
      home = true;
      notes.push(...landed.notes);
      if (commit !== null) {
        const since = { base: request.baseline, head };
        notes.push(...(await unconverted(sourceGit(request.repo, doors.env), since, doors.env)));
      }
      if (gitDir !== undefined) beforeWrite(heldBy(gitDir));
      if (request.push && commit !== null)
        pushed = await push(
          { repo: request.repo, branch: request.branch, env: doors.env, signal: doors.signal, ...held },
          doors.spawn,
        );
      // Whoever stops the push has not given it up: the run is not at its end, and whoever comes next pushes.
      stopped = doors.signal.aborted && pushed?.ok === false && pushed.remote !== '';
      if (stopped) [exit, reason] = [130, 'interrupted before the branch was pushed'];
    }
  }
  // A run that is parked is as little at its end as one that was stopped.
  const interrupted = stopped || result.status === 'interrupted' || isPaused(result.status);
  const verdict = interrupted
    ? 'ERROR'
    : result.status === 'completed' && stray === undefined
      ? 'PASS'
      : 'FAIL';
  const ending: Ending = {
    verdict,
    reason,
    interrupted,
    tree,
    commits,
    push: pushed,
    finishedAt: doors.clock.now().toISOString(),
  };
  const attempts = await closeRecords(request, result.run_dir, ending);
  if (request.out_dir !== null) {
    if (gitDir !== undefined) beforeWrite(heldBy(gitDir));
    notes.push(...(await handOut(request, request.out_dir)));
  }
  // Only now is everything done that a run which was cut from here on would have to do again.
  // A git that was ended amid the move leaves its locks, and half of the files: what mends that needs the note.
  if (gitDir !== undefined && !unanswered && !stopped)
    await endLanding(gitDir, home ? [request.repo, gitDir, request.artifacts] : []);
  const last = attempts.at(-1)?.failure_brief;
  return {
    run_id: request.run_id,
    repo: request.repo,
    work_order_id: request.work_order_id,
    verdict,
    exit_code: exit,
    branch: request.branch,
    commit,
    attempts: attempts.length,
    stage: typeof last?.['stage'] === 'string' ? last['stage'] : null,
    reason,
    resumable: interrupted || (result.status === 'failed' && result.exit_node === null),
    artifacts: request.artifacts,
    run_dir: result.run_dir,
    push: pushed,
    notes,
  };
}

/** Copies the artifacts to `--out`. Where that cannot be done, a note tells: the landing must come to its end all the same,
 *  or every other order on the repository would first do it over and fail alike. */
async function handOut(request: Request, out: string): Promise<readonly string[]> {
  const target = join(out, request.run_id);
  try {
    await rm(target, { recursive: true, force: true });
    // Node's own never comes to an end where a file system takes no new folders.
    makeFolder(target);
    await cp(request.artifacts, target, { recursive: true });
    return [];
  } catch (error) {
    // With space again it is made.
    if (isDisks(error) || !(error instanceof Error && 'code' in error)) throw error;
    return [`the artifacts could not be copied to ${target}: ${systemWords(error)}`];
  }
}

async function markerOf(runDir: string): Promise<string> {
  const read = await readManifest(runDir);
  if (!read.ok) throw new BadRecord(read.why);
  return `FACTORY_RUN_MARKER=${processMarker(runDir, read.manifest)}`;
}

/** Where the repository stands as the landing begins. */
async function noted(
  request: Request,
  doors: OrderDoors,
): Promise<Omit<Landing, 'run_dir' | 'head' | 'marker'>> {
  const git = sourceGit(request.repo, doors.env);
  const on = await branchInUse(git);
  const at = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  return {
    version: 1,
    run_id: request.run_id,
    digest: request.digest,
    repo: request.repo,
    branch: request.branch,
    existed: request.branch_existed,
    base: request.baseline,
    from: { branch: on ?? '', commit: at.ok ? at.text : request.baseline },
    began_at: doors.clock.now().toISOString(),
  };
}

/** Whether the last attempt failed because its answer was no proposal. */
async function unread(run: Layout): Promise<boolean> {
  const last = (await attemptsOf(run)).at(-1)?.visits.get('rollback');
  return last?.updates['order.stage'] === 'llm_output_invalid';
}
