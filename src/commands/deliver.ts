/** `factory deliver RUN`: puts the commits of a run on a branch of the source, or into a new repository. */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { branchProblem, commitsOf, deliverBranch, deliverFolder } from '../builder/deliver.ts';
import { filterWarning } from '../builder/filtered.ts';
import { assertPlainHistory, ForeignHistory, notYours } from '../builder/history-guard.ts';
import { type HistoryStart, headRef, historyGit, neededBy, readHistoryStart } from '../builder/in-history.ts';
import { type PushResult, push, pushCommand, pushFailure } from '../builder/push.ts';
import { BadRecord } from '../builder/record.ts';
import { recordedHead, strayProblem } from '../builder/recorded.ts';
import { commitNamed } from '../builder/repository.ts';
import type { CommandIo } from '../builder/tool.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { quoteWord } from '../policy/words.ts';
import { loadCheckpoint } from '../store/checkpoint.ts';
import { ownerOf } from '../store/lock.ts';
import { findRun, readManifest } from '../store/run-store.ts';
import { DiskStop, diskTrouble, fixDisk } from '../system/disk-trouble.ts';
import { isMissing } from '../system/files.ts';
import { GitError, isNoTop, sourceGit, startGitAgain } from '../system/git.ts';
import { isFolder } from '../system/read.ts';
import { isWithin, realOf } from '../workspace/dirs.ts';
import { asCalled } from './called.ts';
import type { Io } from './io.ts';
import { refusal, wrong } from './refuse.ts';
import { liesInRun } from './run-folder.ts';
import { present } from './run-words.ts';
import { diskWords } from './trouble.ts';

export type DeliverOptions = {
  readonly branch?: string;
  readonly to?: string;
  /** Fast-forward an existing branch. */
  readonly reuse?: boolean;
  /** Push the branch to the first remote. */
  readonly push?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
};

/** `code`: 2 where nothing was begun, 1 for what failed on the way. */
type Refused = { readonly refused: string; readonly fix: string; readonly code: 1 | 2 };
const refuse = (code: 1 | 2, refused: string, fix: string): Refused => ({ refused, fix, code });

type Delivery = {
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

/** `signal`: called when the push begins. `called`: as in `Io`. */
type DeliverIo = CommandIo & Pick<Io, 'called'> & { readonly signal?: () => AbortSignal | undefined };

/** Never touches the working tree or the index of the source. Answers with the exit code. */
export async function deliver(run: string, options: DeliverOptions, io: DeliverIo): Promise<number> {
  let signal: AbortSignal | undefined;
  const done = await attempt(run, options, { ...io, signal: () => (signal ??= io.signal?.()) });
  if ('refused' in done) {
    // The caller puts the commands in what is printed on stderr as they must be typed.
    const [error, fix] = [done.refused, done.fix].map((text) => asCalled(text, io.called?.program));
    if (options.json === true)
      io.out(
        refusal([wrong('deliver', error ?? '', fix)], done.code, { error: error ?? '', fix: fix ?? '' }),
      );
    else io.err(`error: ${done.refused}\n  = fix: ${done.fix}\n`);
    return done.code;
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

async function attempt(run: string, options: DeliverOptions, io: DeliverIo): Promise<Delivery | Refused> {
  if (options.branch !== undefined && options.to !== undefined)
    return refuse(2, '--branch and --to exclude each other', 'give one of them');
  if (options.to !== undefined && (options.reuse === true || options.push === true))
    return refuse(2, '--reuse and --push need a branch of the source, not --to', 'leave out --to');
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return refuse(2, found.why, 'name one of those, or another place with --runsdir');
  const dir = resolve(io.cwd, found.dir);
  const read = await readManifest(dir);
  if (!read.ok) return refuse(2, read.why, 'a run without its manifest cannot be delivered');
  const typed = `${quoteWord(run)}${options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`}`;
  try {
    return await deliverRun({ typed, dir, manifest: read.manifest }, options, io);
  } catch (error) {
    if (error instanceof BadRecord)
      return refuse(2, error.message, `restore that file; factory verify ${typed} checks the run`);
    if (error instanceof ForeignHistory) return refuse(1, error.message, notYours);
    if (error instanceof GitError) return refuse(1, error.message, gitFix(error));
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    return refuse(1, error instanceof DiskStop ? error.message : diskWords(trouble), fixDisk);
  }
}

const gitFix = ({ missing, unanswered }: GitError): string =>
  missing
    ? 'install git'
    : unanswered
      ? startGitAgain
      : 'check that repository, and the space and permissions there, then run the same command again';

/** `typed`: the run and its place, as typed, for commands that are proposed. */
type Run = { readonly typed: string; readonly dir: string; readonly manifest: Manifest };

async function deliverRun(run: Run, options: DeliverOptions, io: DeliverIo): Promise<Delivery | Refused> {
  const { env } = io;
  const { run_id } = run.manifest;
  const files = layout(run.dir);
  const finished = await stateOf(run, io);
  if ('refused' in finished) return finished;
  const start = await startOf(run, options.to !== undefined);
  if ('refused' in start) return start;
  assertPlainHistory(files.history);
  const history = historyGit(files.history, env);
  const branch = options.branch ?? (options.to === undefined ? `factory/${run_id}` : 'main');
  const at = await history.run(['rev-parse', '--verify', '--quiet', headRef]);
  if (!at.ok && at.missing) throw new GitError(at.why, true);
  const bad = options.to === undefined ? await branchProblem(history, branch) : undefined;
  if (bad !== undefined) return refuse(2, bad, `leave out --branch for factory/${run_id}`);
  const head = at.ok ? at.text : null;
  const stray = strayProblem(head, recordedHead(finished.tool_state, start.first_commit));
  if (stray !== undefined) return refuse(1, stray.problem, stray.fix);
  const base = start.base_commit;
  const to = options.to === undefined ? null : resolve(io.cwd, options.to);
  const inRun = to === null ? undefined : await liesInRun(to, run.dir, env);
  if (inRun !== undefined) return refuse(2, `${to} ${inRun}`, 'name a directory outside of all runs');
  const source = start.kind === 'none' ? undefined : run.manifest.original_workdir;
  const nothing = {
    ...{ run_id, branch, source: source ?? null, to, base, head },
    ...{ commits: [], needed: [], notes: [], pushed: null, next: '' },
  };
  if (head === null || (head === base && to === null))
    return { ...nothing, notes: [`nothing to deliver: run ${run_id} changed no file`] };
  // The run's directory names the source. Settings of a repository can run programs: one in the run is not a source.
  const trusted =
    source !== undefined && isAbsolute(source) && !isWithin(await realpath(run.dir), realOf(source))
      ? source
      : undefined;
  const needed = neededBy(head, finished.context);
  const request = { historyDir: files.history, branch, base, head, env };
  const done =
    to === null
      ? await toBranch(request, trusted, options, io)
      : await toFolder({ ...request, source: trusted, to }, options.to ?? to);
  if ('refused' in done) return done;
  const { already, ...result } = done;
  if (already) return { ...nothing, ...result };
  return {
    ...nothing,
    ...result,
    commits: await commitsOf(files.history, base, head, env),
    needed,
  };
}

/** The state of a run that succeeded; any other is refused. */
async function stateOf(run: Run, io: DeliverIo): Promise<Checkpoint | Refused> {
  const read = await loadCheckpoint(layout(run.dir).checkpoint);
  if (!read.ok && existsSync(layout(run.dir).checkpoint)) throw new BadRecord(read.why);
  const checkpoint = read.ok ? read.checkpoint : undefined;
  if (checkpoint?.status === 'completed') return checkpoint;
  const { run_id } = run.manifest;
  const clock = { now: io.now, monotonic: () => 0, sleep: async () => {} };
  if (checkpoint?.status === 'running' && (await ownerOf(run.dir, clock)) !== undefined)
    return refuse(2, `run ${run_id} is still running`, `deliver it when it has ended`);
  const reason = checkpoint?.ended?.reason ?? '';
  const failed = checkpoint?.last_failure;
  return refuse(
    2,
    `run ${run_id} ${
      checkpoint === undefined
        ? 'has not begun'
        : checkpoint.status === 'running'
          ? 'is not finished'
          : `is ${checkpoint.status}`
    }${reason === '' ? '' : ` (${reason})`}: only a run that succeeded can be delivered`,
    checkpoint?.status === 'failed'
      ? `see what failed: factory trace ${run.typed}${failed == null ? '' : ` --node ${failed.node}`}`
      : `resume it: factory resume ${run.typed}`,
  );
}

/** What the run's history began with; refused where it has none, or needs another way to be delivered. */
async function startOf(run: Run, isToFolder: boolean): Promise<HistoryStart | Refused> {
  const { run_id, original_workdir } = run.manifest;
  const files = layout(run.dir);
  const start = await readHistoryStart(files.history).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (start === undefined)
    return refuse(2, `the pipeline of run ${run_id} makes no commits`, `its files are in ${files.workspace}`);
  if (isToFolder || start.kind === 'git') return start;
  const why =
    start.kind === 'none'
      ? 'began with an empty tree'
      : `began with ${original_workdir}, which is not the top of a git repository`;
  return refuse(
    2,
    `run ${run_id} ${why}, so there is no repository for a branch`,
    `factory deliver ${run.typed} --to DIR`,
  );
}

type Done = Pick<Delivery, 'notes' | 'pushed' | 'next'> & { readonly already: boolean };
type Request = Omit<Parameters<typeof deliverBranch>[0], 'source' | 'reuse'>;

async function toBranch(
  request: Request,
  source: string | undefined,
  options: DeliverOptions,
  io: DeliverIo,
): Promise<Done | Refused> {
  const { branch, base, head, env } = request;
  const instead = 'pass --to DIR for a new repository';
  if (source === undefined) return refuse(2, 'the source that the run names cannot be used', instead);
  const wrongSource = await sourceProblem(source, io);
  if (wrongSource !== undefined) return refuse(2, wrongSource, instead);
  const git = sourceGit(source, env);
  const there = relative(io.cwd, source) === '' ? '' : `-C ${quoteWord(source)} `;
  const next = `git ${there}switch ${quoteWord(branch)}`;
  const already = (await commitNamed(git, `refs/heads/${branch}`)) === head;
  if (already && options.push !== true) {
    const notes = [`delivered already: the branch "${branch}" has the commits of this run`];
    return { already, notes, pushed: null, next };
  }
  const problem = await deliverBranch({ ...request, source, reuse: options.reuse === true });
  if (problem !== undefined) return refuse(2, problem.problem, problem.fix);
  const notes = base === null ? [] : await filterWarning(git, { base, head }, env);
  if (options.push !== true) return { already: false, notes, pushed: null, next };
  const signal = io.signal?.();
  const what = { repo: source, branch, env, ...(signal === undefined ? {} : { signal }) };
  return { already: false, notes, pushed: await push(what, io.spawn), next };
}

/** Why no branch can be made in `source`; undefined where it can. */
async function sourceProblem(source: string, { env }: DeliverIo): Promise<string | undefined> {
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
): Promise<Done | Refused> {
  const { to, branch, base, head, env } = request;
  const next = `cd ${quoteWord(typed.startsWith('-') ? `./${typed}` : typed)} && git log`;
  // A directory in another repository is not a delivery.
  const own = (await stat(join(to, '.git')).catch(() => undefined))?.isDirectory() === true;
  if (own && (await commitNamed(sourceGit(to, env), `refs/heads/${branch}`)) === head) {
    const notes = [`delivered already: "${branch}" in ${to} has the commits of this run`];
    return { already: true, notes, pushed: null, next };
  }
  const made = await deliverFolder(request);
  if ('problem' in made) return refuse(2, made.problem, made.fix);
  const notes = made.whole
    ? []
    : [`commits before ${base?.slice(0, 12)} are not included: the source no longer has them`];
  return { already: false, notes, pushed: null, next };
}

function print(done: Delivery, io: DeliverIo): void {
  for (const { commit, subject } of done.commits) io.out(`${commit.slice(0, 12)} ${subject}\n`);
  if (done.commits.length > 0) {
    const where = done.to === null ? `branch ${done.branch}` : done.to;
    io.out(`${done.commits.length} commit${done.commits.length === 1 ? '' : 's'} delivered to ${where}\n`);
  }
  if (done.pushed?.ok === true) io.out(`pushed to ${done.pushed.remote}\n`);
  for (const note of done.notes) io.out(`${note}\n`);
  if (done.needed.length > 0)
    io.err(
      `warning: the checks need files that no commit has, so they are not delivered: ${listed(done.needed)}\n`,
    );
  if (done.next !== '') io.out(`next: ${done.next}\n`);
}

const listed = (paths: readonly string[]): string =>
  `${paths.slice(0, 10).join(', ')}${paths.length > 10 ? ` and ${paths.length - 10} more` : ''}`;

/** Registers `deliver`; `io.exit` is given the exit code. */
export function deliverCommand(
  program: Command,
  io: DeliverIo & { readonly exit: (code: number) => void },
): void {
  program
    .command('deliver')
    .description("Put a run's commits on a branch or into a new repository")
    .argument('<run>', 'run id, a unique prefix of one, or the path of a run directory')
    .option('--branch <name>', 'new branch in the source repository (default: factory/<run id>)', present)
    .option('--to <dir>', 'create a repository in this new or empty directory', present)
    .option('--reuse', 'fast-forward an existing branch to the commits')
    .option('--push', 'push the branch to the first remote')
    .option('--runsdir <dir>', 'directory of the runs (default: .factory/runs)', present)
    .option('--json', 'print the result as JSON')
    .action(async (run: string, options: DeliverOptions) => io.exit(await deliver(run, options, io)));
}
