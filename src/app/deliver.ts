/** Delivers a run: its commits on a branch of the source, or in a new repository. */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import { headRef, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { weakJudgeIn } from '../core/weak-judge.ts';
import { commitsBeyond, deliverBranch, deliverFolder } from '../git/deliver.ts';
import { filterWarning } from '../git/filters.ts';
import { assertPlainHistory, ForeignHistory, foreignHistoryText } from '../git/guard.ts';
import { type HistoryStart, historyGit, neededBy, readHistoryStart } from '../git/history.ts';
import { push, pushCommand, pushFailure } from '../git/push.ts';
import { recordedHead, strayProblem } from '../git/recorded-head.ts';
import { branchProblem, commitNamed } from '../git/repository.ts';
import { differenceWords, targetDifferences } from '../git/target-bytes.ts';
import { DiskStop, diskError, fixDisk } from '../platform/files/disk-error.ts';
import { BadJsonRecord } from '../platform/files/json-record.ts';
import { isFolder } from '../platform/files/read.ts';
import { diskWords, isMissing, systemWords } from '../platform/files/write.ts';
import { GitError, isNoTop, sourceGit, startGitAgain } from '../platform/git.ts';
import { ownerOf } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { isWithin, liesInRun, realOf } from '../workspace/roots.ts';
import { type AcceptableWeakness, recordAcceptance, weaknessToDeliver } from './accept-weak.ts';
import { commandFor } from './acts.ts';
import type { DeliveryReport } from './answers.ts';
import { recordDelivery } from './delivered.ts';
import type { InspectHost } from './inspect/rows.ts';
import { type DeliveryFlags, deliverArguments } from './typed-command.ts';

export type DeliveryHost = InspectHost & {
  readonly env: Environment;
  readonly spawn: Spawn;
  /** Called when the push begins: what fires ends it. */
  readonly signal: () => AbortSignal;
  /** For the record of the delivery; default: the user. */
  readonly who?: string;
};

/** Nothing was begun, or with `exit` 1 something failed on the way. */
const no = (message: string, fix: string, exit = 2): Refusal => refused('deliver', message, fix, exit);

/** Never touches the working tree or the index of the source. Answers with what `factory deliver` does, or why nothing was done. */
export async function deliverRun(
  dir: string,
  options: DeliveryFlags,
  host: DeliveryHost,
): Promise<DeliveryReport | Refusal> {
  if (options.branch !== undefined && options.to !== undefined)
    return no('--branch and --to exclude each other', 'give one of them');
  if (options.to !== undefined && (options.reuse === true || options.push === true))
    return no('--reuse and --push need a branch of the source, not --to', 'leave out --to');
  const read = await openRun(dir).manifest();
  if (!read.ok) return no(read.why, 'a run without its manifest cannot be delivered');
  const typed = namedRun(dir, host.cwd);
  try {
    return await deliverRead({ typed, dir, manifest: read.manifest }, options, host);
  } catch (error) {
    if (error instanceof BadJsonRecord)
      return no(error.message, `restore that file; factory verify ${typed} checks the run`);
    if (error instanceof ForeignHistory) return no(error.message, foreignHistoryText, 1);
    if (error instanceof GitError) return no(error.message, gitFix(error), 1);
    const trouble = diskError(error);
    if (trouble === undefined) throw error;
    return no(error instanceof DiskStop ? error.message : diskWords(trouble), fixDisk, 1);
  }
}

function gitFix({ missing, unanswered }: GitError): string {
  if (missing) return 'install git';
  if (unanswered) return startGitAgain;
  return 'check that repository, and the space and permissions there, then run the same command again';
}

/** `typed`: the run and its place, as typed, for commands that are proposed. */
type Run = { readonly typed: string; readonly dir: string; readonly manifest: Manifest };

async function deliverRead(
  run: Run,
  options: DeliveryFlags,
  host: DeliveryHost,
): Promise<DeliveryReport | Refusal> {
  const { env, cwd, clock, who } = host;
  const { run_id, original_workdir } = run.manifest;
  const files = layout(run.dir);
  const standing = await stateOf(run, options, host);
  if ('problems' in standing) return standing;
  const { checkpoint: finished, weakness } = standing;
  const start = await startOf(run, options.to !== undefined);
  if ('problems' in start) return start;
  assertPlainHistory(files.history);
  const history = historyGit(files.history, env);
  const branch = options.branch ?? (options.to === undefined ? `factory/${run_id}` : 'main');
  const at = await history.run(['rev-parse', '--verify', '--quiet', headRef]);
  if (!at.ok && at.missing) throw new GitError(at.why, true);
  const bad = options.to === undefined ? await branchProblem(history, branch) : undefined;
  if (bad !== undefined) return no(bad, `leave out --branch for factory/${run_id}`);
  const head = at.ok ? at.text : null;
  const stray = strayProblem(head, recordedHead(finished.tool_state, start.first_commit));
  if (stray !== undefined) return no(stray.problem, stray.fix, 1);
  const base = start.base_commit;
  const to = options.to === undefined ? null : resolve(cwd, options.to);
  const inRun = to === null ? undefined : await liesInRun(to, run.dir, env);
  if (inRun !== undefined) return no(`${to} ${inRun}`, 'name a directory outside of all runs');
  const source = start.kind === 'none' ? null : original_workdir;
  const command = commandFor(run.dir, deliverArguments(run_id, options), host);
  const nothing: DeliveryReport = {
    ...{ schema_version: 1, run_id, command, branch, source, to, base, head },
    ...{ commits: [], needed: [], notes: [], pushed: null, next: '' },
  };
  if (head === null || (head === base && to === null))
    return { ...nothing, notes: [`nothing to deliver: run ${run_id} made no commit`] };
  const request = { historyDir: files.history, branch, base, head, env };
  const trusted = await trustedSource(source, run.dir);
  if (weakness !== undefined)
    try {
      recordAcceptance(run.dir, weakness, { head, who }, clock);
    } catch (error) {
      return no(`the acceptance cannot be recorded in the run: ${systemWords(error)}`, fixDisk, 1);
    }
  const done =
    to === null
      ? await toBranch(request, trusted, options, host)
      : await toFolder({ ...request, source: trusted, to }, options.to ?? to);
  if ('problems' in done) return done;
  const { already, ...result } = done;
  const place = to ?? trusted;
  const notes = [...result.notes];
  if (place !== undefined)
    recordDelivery(
      run.dir,
      { to: place, branch, head, ...(who === undefined ? {} : { who }) },
      clock,
      (message) => notes.push(message),
    );
  if (already) return { ...nothing, ...result, notes };
  const commits = await commitsBeyond(files.history, base, head, env);
  return {
    ...nothing,
    ...result,
    notes,
    commits: [...commits],
    needed: [...neededBy(head, finished.context)],
  };
}

/** The run's directory names the source. Settings of a repository can run programs: one in the run is not a source. */
export async function trustedSource(source: string | null, runDir: string): Promise<string | undefined> {
  if (source === null || !isAbsolute(source)) return undefined;
  return isWithin(await realpath(runDir), realOf(source)) ? undefined : source;
}

type Deliverable = {
  readonly checkpoint: Checkpoint;
  /** What a person accepts with the delivery. */
  readonly weakness?: AcceptableWeakness;
};

/** The state of a run that succeeded, or failed only for a weakness that is accepted; any other is refused. */
async function stateOf(
  run: Run,
  options: DeliveryFlags,
  { clock, env }: DeliveryHost,
): Promise<Deliverable | Refusal> {
  const read = openRun(run.dir).history();
  if (!read.ok && existsSync(layout(run.dir).checkpoint)) throw new BadJsonRecord(read.why);
  const checkpoint = read.ok ? read.checkpoint : undefined;
  if (checkpoint?.status === 'completed') return { checkpoint };
  const { run_id } = run.manifest;
  if (checkpoint?.status === 'overridden')
    return options.overridden === true
      ? { checkpoint }
      : no(
          `run ${run_id} is ${checkpoint.ended?.reason}`,
          `deliver it all the same: factory deliver ${run.typed} --overridden`,
        );
  if (read.ok && (options.accept_weak === true || weakJudgeIn(read.checkpoint) !== undefined)) {
    const weakness = await weaknessToDeliver(run, read, options, env);
    if (weakness !== undefined)
      return 'problems' in weakness ? weakness : { checkpoint: read.checkpoint, weakness };
  }
  if (checkpoint?.status === 'running' && (await ownerOf(run.dir, clock)) !== undefined)
    return no(`run ${run_id} is still running`, `deliver it when it has ended`);
  const status = checkpoint?.status === 'running' ? 'not finished' : checkpoint?.status;
  const reason = checkpoint?.ended?.reason ?? '';
  const what = `${status === undefined ? 'has not begun' : `is ${status}`}${reason === '' ? '' : ` (${reason})`}`;
  return no(
    `run ${run_id} ${what}: only a run that succeeded can be delivered`,
    status === 'failed'
      ? `see what failed: factory why ${run.typed}`
      : `resume it: factory resume ${run.typed}`,
  );
}

/** What the run's history began with; refused where it has none, or needs another way to be delivered. */
async function startOf(run: Run, isToFolder: boolean): Promise<HistoryStart | Refusal> {
  const { run_id, original_workdir } = run.manifest;
  const files = layout(run.dir);
  const start = await readHistoryStart(files.history).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  if (start === undefined)
    return no(`the pipeline of run ${run_id} makes no commits`, `its files are in ${files.workspace}`);
  if (isToFolder || start.kind === 'git') return start;
  const why =
    start.kind === 'none'
      ? 'began with an empty tree'
      : `began with ${original_workdir}, which is not the top of a git repository`;
  return no(
    `run ${run_id} ${why}, so there is no repository for a branch`,
    `factory deliver ${run.typed} --to DIR`,
  );
}

type Done = Pick<DeliveryReport, 'notes' | 'pushed' | 'next'> & { readonly already: boolean };
type Request = Omit<Parameters<typeof deliverBranch>[0], 'source' | 'reuse'>;

async function toBranch(
  request: Request,
  source: string | undefined,
  options: DeliveryFlags,
  host: DeliveryHost,
): Promise<Done | Refusal> {
  const { branch, base, head, env } = request;
  const instead = 'pass --to DIR for a new repository';
  if (source === undefined) return no('the source that the run names cannot be used', instead);
  const wrongSource = await sourceProblem(source, env);
  if (wrongSource !== undefined) return no(wrongSource, instead);
  const git = sourceGit(source, env);
  const there = relative(host.cwd, source) === '' ? '' : `-C ${quoteWord(source)} `;
  const next = `git ${there}switch ${quoteWord(branch)}`;
  const already = (await commitNamed(git, `refs/heads/${branch}`)) === head;
  if (already && options.push !== true) {
    const notes = [`delivered already: the branch "${branch}" has the commits of this run`];
    return { already, notes, pushed: null, next };
  }
  const bytes = differenceWords(await targetDifferences({ ...request, target: source }));
  if (bytes.refused !== undefined) return no(bytes.refused.problem, bytes.refused.fix);
  const problem = await deliverBranch({ ...request, source, reuse: options.reuse === true });
  if (problem !== undefined) return no(problem.problem, problem.fix);
  const filtered = base === null ? [] : await filterWarning(git, { base, head }, env);
  const notes = [...bytes.warnings, ...filtered];
  const pushed = options.push === true ? await pushedFrom(source, branch, host) : null;
  return { already: false, notes, pushed, next };
}

async function pushedFrom(
  repo: string,
  branch: string,
  { env, spawn, ...host }: DeliveryHost,
): Promise<DeliveryReport['pushed']> {
  const signal = host.signal();
  const result = await push({ repo, branch, env, signal }, spawn);
  const why = result.ok ? '' : signal.aborted ? 'interrupted' : pushFailure(result.stderr);
  return { ...result, why, by_hand: pushCommand(repo, result, branch) };
}

/** Why no branch can be made in `source`; undefined where it can. */
async function sourceProblem(source: string, env: Environment): Promise<string | undefined> {
  const gone = `${source} is no longer a git repository`;
  if (!isFolder(source)) return gone;
  const top = await sourceGit(source, env).run(['rev-parse', '--show-toplevel']);
  if (!top.ok && !isNoTop(top.why)) return `git cannot read ${source}: ${top.why}`;
  // A directory in another repository is not that repository.
  return top.ok && realOf(top.text) === realOf(source) ? undefined : gone;
}

async function toFolder(
  request: Request & { readonly source: string | undefined; readonly to: string },
  typed: string,
): Promise<Done | Refusal> {
  const { to, branch, base, head, env } = request;
  const next = `cd ${quoteWord(typed.startsWith('-') ? `./${typed}` : typed)} && git log`;
  // A directory in another repository is not a delivery.
  const own = (await stat(join(to, '.git')).catch(() => undefined))?.isDirectory() === true;
  if (own && (await commitNamed(sourceGit(to, env), `refs/heads/${branch}`)) === head) {
    const notes = [`delivered already: "${branch}" in ${to} has the commits of this run`];
    return { already: true, notes, pushed: null, next };
  }
  const bytes = differenceWords(await targetDifferences({ ...request, target: undefined }));
  if (bytes.refused !== undefined) return no(bytes.refused.problem, bytes.refused.fix);
  const made = await deliverFolder(request);
  if ('problem' in made) return no(made.problem, made.fix);
  const past = made.whole
    ? []
    : [`commits before ${base?.slice(0, 12)} are not included: the source no longer has them`];
  const notes = [...bytes.warnings, ...past];
  return { already: false, notes, pushed: null, next };
}
