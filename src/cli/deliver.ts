/** `factory deliver RUN`: puts the commits of a run on a branch of the source, or into a new repository. */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { recordDelivery } from '../app/delivered.ts';
import { countedItems } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import { headRef, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { commitsBeyond, deliverBranch, deliverFolder } from '../git/deliver.ts';
import { filterWarning } from '../git/filters.ts';
import { assertPlainHistory, ForeignHistory, foreignHistoryText } from '../git/guard.ts';
import { type HistoryStart, historyGit, neededBy, readHistoryStart } from '../git/history.ts';
import { type PushResult, push, pushCommand, pushFailure } from '../git/push.ts';
import { recordedHead, strayProblem } from '../git/recorded-head.ts';
import { branchProblem, commitNamed } from '../git/repository.ts';
import { differenceWords, targetDifferences } from '../git/target-bytes.ts';
import { DiskStop, diskError, fixDisk } from '../platform/files/disk-error.ts';
import { BadJsonRecord } from '../platform/files/json-record.ts';
import { isFolder } from '../platform/files/read.ts';
import { diskWords, isMissing } from '../platform/files/write.ts';
import { GitError, isNoTop, sourceGit, startGitAgain } from '../platform/git.ts';
import { ownerOf } from '../run/lock.ts';
import { readRun } from '../run/run-journal.ts';
import { readManifest } from '../run/runs.ts';
import { isWithin, realOf } from '../workspace/roots.ts';
import { invocationOf } from './arguments.ts';
import { liesInRun } from './checkout.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

export type DeliverOptions = {
  readonly branch?: string;
  readonly to?: string;
  /** Fast-forward an existing branch. */
  readonly reuse?: boolean;
  /** Push the branch to the first remote. */
  readonly push?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
  /** No flag: for the record of the delivery, in place of the user. */
  readonly who?: string;
};

type DeliveryReport = {
  readonly run_id: string;
  readonly branch: string;
  readonly source: string | null;
  readonly to: string | null;
  readonly base: string | null;
  readonly head: string | null;
  readonly commits: readonly { readonly commit: string; readonly subject: string }[];
  /** Files in no commit without which the checks failed. */
  readonly needed: readonly string[];
  readonly notes: readonly string[];
  readonly pushed: PushResult | null;
  readonly next: string;
};

/** Never touches the working tree or the index of the source. `signal` is called when the push begins. */
export async function deliverCommand(run: string, options: DeliverOptions, io: CliIo): Promise<VerbResult> {
  let signal: AbortSignal | undefined;
  const heeding = () => {
    signal = io.signal();
    return signal;
  };
  const done = await attempt(run, options, { ...io, signal: heeding });
  if ('problems' in done) {
    const { message = '', fix = '' } = done.problems[0] ?? {};
    const [error, as] = [message, fix].map((text) => invocationOf(text, io.called?.program));
    return { ...done, more: { error, fix: as } };
  }
  if (options.json === true) io.out(`${JSON.stringify(done, null, 2)}\n`);
  else print(done, io);
  if (done.pushed === null || done.pushed.ok) return 0;
  const stopped = signal?.aborted === true;
  const why = stopped ? 'interrupted' : pushFailure(done.pushed.stderr);
  const byHand = pushCommand(done.source ?? '.', done.pushed, done.branch);
  io.err(`error: delivered, but not pushed: ${why}\n  = fix: by hand: ${byHand}\n`);
  return stopped ? 130 : 1;
}

/** Nothing was begun, or with `exit` 1 something failed on the way. */
const no = (message: string, fix: string, exit = 2): Refusal => refused('deliver', message, fix, exit);

async function attempt(run: string, options: DeliverOptions, io: CliIo): Promise<DeliveryReport | Refusal> {
  if (options.branch !== undefined && options.to !== undefined)
    return no('--branch and --to exclude each other', 'give one of them');
  if (options.to !== undefined && (options.reuse === true || options.push === true))
    return no('--reuse and --push need a branch of the source, not --to', 'leave out --to');
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { dir } = found;
  const read = await readManifest(dir);
  if (!read.ok) return no(read.why, 'a run without its manifest cannot be delivered');
  const typed = `${quoteWord(run)}${options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`}`;
  try {
    return await deliverRun({ typed, dir, manifest: read.manifest }, options, io);
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

async function deliverRun(run: Run, options: DeliverOptions, io: CliIo): Promise<DeliveryReport | Refusal> {
  const { env } = io;
  const { run_id, original_workdir } = run.manifest;
  const files = layout(run.dir);
  const finished = await stateOf(run, io);
  if ('problems' in finished) return finished;
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
  const to = options.to === undefined ? null : resolve(io.cwd, options.to);
  const inRun = to === null ? undefined : await liesInRun(to, run.dir, env);
  if (inRun !== undefined) return no(`${to} ${inRun}`, 'name a directory outside of all runs');
  const source = start.kind === 'none' ? null : original_workdir;
  const nothing = { run_id, branch, source, to, base, head, ...nothingDelivered };
  if (head === null || (head === base && to === null))
    return { ...nothing, notes: [`nothing to deliver: run ${run_id} changed no file`] };
  const request = { historyDir: files.history, branch, base, head, env };
  const trusted = await trustedSource(source, run.dir);
  const done =
    to === null
      ? await toBranch(request, trusted, options, io)
      : await toFolder({ ...request, source: trusted, to }, options.to ?? to);
  if ('problems' in done) return done;
  const { already, ...result } = done;
  const place = to ?? trusted;
  if (place !== undefined)
    recordDelivery(run.dir, { to: place, branch, head, ...whoOf(options) }, io.clock, (message) =>
      io.err(`warning: ${message}\n`),
    );
  if (already) return { ...nothing, ...result };
  const commits = await commitsBeyond(files.history, base, head, env);
  return { ...nothing, ...result, commits, needed: neededBy(head, finished.context) };
}

const whoOf = ({ who }: DeliverOptions) => (who === undefined ? {} : { who });

const nothingDelivered = { commits: [], needed: [], notes: [], pushed: null, next: '' };

/** The run's directory names the source. Settings of a repository can run programs: one in the run is not a source. */
async function trustedSource(source: string | null, runDir: string): Promise<string | undefined> {
  if (source === null || !isAbsolute(source)) return undefined;
  return isWithin(await realpath(runDir), realOf(source)) ? undefined : source;
}

/** The state of a run that succeeded; any other is refused. */
async function stateOf(run: Run, io: CliIo): Promise<Checkpoint | Refusal> {
  const read = await readRun(run.dir);
  if (!read.ok && existsSync(layout(run.dir).checkpoint)) throw new BadJsonRecord(read.why);
  const checkpoint = read.ok ? read.checkpoint : undefined;
  if (checkpoint?.status === 'completed') return checkpoint;
  const { run_id } = run.manifest;
  if (checkpoint?.status === 'running' && (await ownerOf(run.dir, io.clock)) !== undefined)
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
  options: DeliverOptions,
  io: CliIo,
): Promise<Done | Refusal> {
  const { branch, base, head, env } = request;
  const instead = 'pass --to DIR for a new repository';
  if (source === undefined) return no('the source that the run names cannot be used', instead);
  const wrongSource = await sourceProblem(source, io);
  if (wrongSource !== undefined) return no(wrongSource, instead);
  const git = sourceGit(source, env);
  const there = relative(io.cwd, source) === '' ? '' : `-C ${quoteWord(source)} `;
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
  const pushed =
    options.push === true ? await push({ repo: source, branch, env, signal: io.signal() }, io.spawn) : null;
  return { already: false, notes, pushed, next };
}

/** Why no branch can be made in `source`; undefined where it can. */
async function sourceProblem(source: string, { env }: CliIo): Promise<string | undefined> {
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

function print(done: DeliveryReport, io: CliIo): void {
  for (const { commit, subject } of done.commits) io.out(`${commit.slice(0, 12)} ${subject}\n`);
  const where = done.to === null ? `branch ${done.branch}` : done.to;
  if (done.commits.length > 0)
    io.out(`${countedItems(done.commits.length, 'commit')} delivered to ${where}\n`);
  if (done.pushed?.ok === true) io.out(`pushed to ${done.pushed.remote}\n`);
  for (const note of done.notes) io.out(`${note}\n`);
  const more = done.needed.length > 10 ? ` and ${done.needed.length - 10} more` : '';
  if (done.needed.length > 0)
    io.err(
      `warning: the checks need files that no commit has, so they are not delivered: ${done.needed.slice(0, 10).join(', ')}${more}\n`,
    );
  if (done.next !== '') io.out(`next: ${done.next}\n`);
}
