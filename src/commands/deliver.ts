/** `factory deliver RUN`: puts a run's commits on a branch of the source, or into a repository of their own. */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { pathsOf } from '../builder/commit.ts';
import { branchProblem, clearBeside, commitsOf, deliverBranch, deliverFolder } from '../builder/deliver.ts';
import { unconverted } from '../builder/filtered.ts';
import { assertPlainHistory, ForeignHistory, notYours } from '../builder/history-guard.ts';
import { headRef, historyGit, neededBy, readHistoryStart } from '../builder/in-history.ts';
import { type Pushed, push, pushCommand, pushTrouble } from '../builder/push.ts';
import { BadRecord, readRecord } from '../builder/record.ts';
import { strayProblem } from '../builder/recorded.ts';
import { type CommandIo, probeOf } from '../builder/tool.ts';
import { verifyCommands } from '../builder/verify.ts';
import { BoundedCheckpoint } from '../model/checkpoint.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { quoteWord } from '../policy/words.ts';
import { ownerOf } from '../store/lock.ts';
import { findRun, readManifest } from '../store/run-store.ts';
import type { Clock } from '../system/clock.ts';
import { DiskStop, diskTrouble, mendDisk, tellsOfDisk } from '../system/disk-trouble.ts';
import { isMissing } from '../system/files.ts';
import { GitError, isNoTop, sourceGit, startGitAgain } from '../system/git.ts';
import { isFolder } from '../system/read.ts';
import { isWithin, realOf } from '../workspace/dirs.ts';
import { asCalled } from './called.ts';
import { enterFolder, switchTo } from './deliver-next.ts';
import type { Io } from './io.ts';
import { refusal, wrong } from './refuse.ts';
import { liesInRun } from './run-folder.ts';
import { present } from './run-words.ts';
import { diskWords } from './trouble.ts';

export type DeliverOptions = {
  readonly branch?: string;
  readonly to?: string;
  /** Fast-forward a branch that is there. */
  readonly reuse?: boolean;
  /** Push the branch to the first remote. */
  readonly push?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
};

/** `code`: 2 where nothing was begun, 1 for what failed on the way. */
type Refused = { readonly refused: string; readonly fix: string; readonly code: 1 | 2 };
const refuse = (code: 1 | 2, refused: string, fix: string): Refused => ({ refused, fix, code });

type Delivered = {
  readonly run_id: string;
  readonly branch: string;
  readonly source: string | null;
  readonly to: string | null;
  readonly base: string | null;
  readonly head: string | null;
  readonly commits: readonly { readonly commit: string; readonly subject: string }[];
  /** Files in no commit: those without which the checks failed, and the others that the workdir had. */
  readonly needed: readonly string[];
  readonly not_delivered: readonly string[];
  readonly notes: readonly string[];
  readonly pushed: Pushed | null;
  readonly next: string;
};

/** `signal`: who asks us to end is heeded from when it is called. `called`: as in `Io`. */
type DeliverIo = CommandIo & Pick<Io, 'called'> & { readonly signal?: () => AbortSignal | undefined };

/** Never automatic, and never touches a working tree or an index of the source. Answers with the exit code. */
export async function deliver(run: string, options: DeliverOptions, io: DeliverIo): Promise<number> {
  let asked: AbortSignal | undefined;
  const signal = () => {
    asked ??= io.signal?.();
    return asked;
  };
  const done = await attempt(run, options, { ...io, signal });
  if ('refused' in done) {
    // What is told on standard error is put so for all that is told there.
    const typed = (text: string) => asCalled(text, io.called?.program);
    const [error, fix] = [typed(done.refused), typed(done.fix)];
    if (options.json === true) io.out(refusal([wrong('deliver', error, fix)], done.code, { error, fix }));
    else io.err(`error: ${done.refused}\n  = fix: ${done.fix}\n`);
    return done.code;
  }
  if (options.json === true) io.out(`${JSON.stringify(done, null, 2)}\n`);
  else tell(done, io);
  if (done.pushed === null || done.pushed.ok) return 0;
  const stopped = asked?.aborted === true;
  const why = stopped ? 'interrupted' : pushTrouble(done.pushed.stderr);
  const byHand = pushCommand(done.source ?? '.', done.pushed, done.branch);
  io.err(`error: delivered, but not pushed: ${why}\n  = fix: by hand: ${byHand}\n`);
  return stopped ? 130 : 1;
}

async function attempt(run: string, options: DeliverOptions, io: DeliverIo): Promise<Delivered | Refused> {
  if (options.branch !== undefined && options.to !== undefined) {
    return refuse(2, '--branch and --to are two ways to deliver', 'give one of them');
  }
  if (options.to !== undefined && (options.reuse === true || options.push === true)) {
    return refuse(
      2,
      '--reuse and --push are about a branch of the source, and --to makes a new repository',
      'leave out --to',
    );
  }
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return refuse(2, found.why, 'name one of those, or another place with --runsdir');
  const dir = resolve(io.cwd, found.dir);
  const read = await readManifest(dir);
  if (!read.ok) return refuse(2, read.why, 'a run without its manifest cannot be delivered');
  const typed = `${quoteWord(run)}${runsdirOf(options)}`;
  try {
    return await deliverRun(typed, dir, read.manifest, options, io);
  } catch (error) {
    if (error instanceof BadRecord)
      return refuse(2, error.message, `put back a copy of that file; factory verify ${typed} tells more`);
    if (error instanceof ForeignHistory) return refuse(1, error.message, notYours);
    if (error instanceof GitError) return refuse(1, gitWords(error), gitFix(error));
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    return refuse(1, error instanceof DiskStop ? error.message : diskWords(trouble), mendDisk);
  }
}

const runsdirOf = ({ runsdir }: DeliverOptions): string =>
  runsdir === undefined ? '' : ` --runsdir ${quoteWord(runsdir)}`;

/** Git tells of each file that finds no room. */
const mostLines = 3;

function gitWords({ message, missing, where }: GitError): string {
  const lines = message.split('\n');
  const more = lines.length - mostLines;
  const said = [...lines.slice(0, mostLines), ...(more > 0 ? [`and ${more} more like that`] : [])].join('\n');
  return where === undefined || missing ? said : `${where}: ${said}`;
}

const gitFix = ({ message, missing, unanswered }: GitError): string =>
  missing
    ? 'install git'
    : unanswered
      ? startGitAgain
      : tellsOfDisk(message)
        ? mendDisk
        : 'check that repository, and the space and permissions there, then do it again';

async function deliverRun(
  /** The run and where it is, as typed: what is proposed is typed in the same place. */
  typed: string,
  dir: string,
  manifest: Manifest,
  options: DeliverOptions,
  io: DeliverIo,
): Promise<Delivered | Refused> {
  const { env } = io;
  const run = layout(dir);
  const { run_id } = manifest;
  const checkpoint = await readRecord(run.checkpoint, BoundedCheckpoint).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (checkpoint?.status !== 'completed') {
    const reason = checkpoint?.ended?.reason ?? '';
    const state =
      checkpoint === undefined
        ? 'has not begun'
        : checkpoint.status === 'running'
          ? 'is not finished'
          : `is ${checkpoint.status}`;
    if (checkpoint?.status === 'running' && (await ownerOf(dir, clockOf(io))) !== undefined)
      return refuse(
        2,
        `run ${run_id} is still running`,
        `deliver it when it has ended: factory runs${runsdirOf(options)} tells how it stands`,
      );
    return refuse(
      2,
      `run ${run_id} ${state}${reason === '' ? '' : ` (${reason})`}: only a run that succeeded is delivered`,
      checkpoint?.status === 'failed'
        ? `see what went wrong: factory trace ${typed}${
            checkpoint.last_failure === null ? '' : ` --node ${checkpoint.last_failure.node}`
          }`
        : `go on with it: factory resume ${typed}`,
    );
  }
  const start = await readHistoryStart(run.history).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (start === undefined)
    return refuse(
      2,
      `run ${run_id} made no commits: its pipeline builds none`,
      `its files are in ${run.workspace}`,
    );
  const source = start.kind === 'none' ? undefined : manifest.original_workdir;
  if (options.to === undefined && start.kind !== 'git') {
    const why =
      start.kind === 'none'
        ? 'began with an empty tree'
        : `began with ${source}, which is not the top of a git repository`;
    return refuse(
      2,
      `run ${run_id} ${why}, so there is no repository for a branch`,
      `factory deliver ${typed} --to DIR`,
    );
  }

  assertPlainHistory(run.history);
  const history = historyGit(run.history, env);
  const branch = options.branch ?? (options.to === undefined ? `factory/${run_id}` : 'main');
  const at = await history.run(['rev-parse', '--verify', '--quiet', headRef]);
  // Else a name that is valid, and a history that nobody has moved, would be called wrong.
  if (!at.ok && at.missing) throw new GitError(at.why, true);
  const nameProblem = options.to === undefined ? await branchProblem(history, branch) : undefined;
  if (nameProblem !== undefined) return refuse(2, nameProblem, `leave out --branch for factory/${run_id}`);
  const head = at.ok ? at.text : null;
  const stray = strayProblem(head, { context: checkpoint.context, first: start.first_commit });
  if (stray !== undefined) return refuse(1, stray.problem, stray.fix);
  const base = start.base_commit;
  const to = options.to === undefined ? null : resolve(io.cwd, options.to);
  const whose = to === null ? undefined : await liesInRun(to, dir, io.env);
  if (whose !== undefined) return refuse(2, `${to} ${whose}`, 'name a folder outside of all runs');
  const common = { run_id, branch, source: source ?? null, to, base, head };
  if (head === null || (head === base && to === null)) {
    const notes = [`nothing to deliver: run ${run_id} changed no file`];
    return { ...common, commits: [], needed: [], not_delivered: [], notes, pushed: null, next: '' };
  }

  // The folder of the run names it, and that may be somebody else's: settings of a repository can run programs.
  const isOurs = source !== undefined && isAbsolute(source) && !isWithin(await realpath(dir), realOf(source));
  // Told with the delivery; what cannot be read is said before there is one.
  const needed = await neededBy(head, { historyDir: run.history, context: checkpoint.context });
  const notes: string[] = [];
  let next = '';
  let pushed: Pushed | null = null;
  if (to === null) {
    if (source === undefined) throw new Error('Internal: a git run without a workdir');
    if (!isOurs)
      return refuse(
        2,
        `the run says that it began with ${JSON.stringify(source)}, which no run does`,
        'pass --to DIR for a repository of its own',
      );
    const wrong = await sourceProblem(source, io);
    if (wrong !== undefined) return wrong;
    const stands = await sourceGit(source, env).run([
      'rev-parse',
      '--verify',
      '--quiet',
      `refs/heads/${branch}`,
    ]);
    const switching = async (): Promise<void> => {
      const told = await switchTo(source, branch, io);
      next = told.next;
      notes.push(...told.notes);
    };
    if (stands.ok && stands.text === head && options.push !== true) {
      await switching();
      notes.push(`delivered already: the branch "${branch}" stands at what this run made`);
      return { ...common, commits: [], needed: [], not_delivered: [], notes, pushed, next };
    }
    const made = await deliverBranch({
      historyDir: run.history,
      source,
      branch,
      base,
      head,
      reuse: options.reuse === true,
      env,
    });
    if ('problem' in made) return refuse(2, made.problem, made.fix);
    if (base !== null) notes.push(...(await unconverted(sourceGit(source, env), { base, head }, env)));
    // Left to itself the push would go on behind whoever stops us.
    if (options.push === true) {
      const signal = io.signal?.();
      const what = { repo: source, branch, env, ...(signal === undefined ? {} : { signal }) };
      pushed = await push(what, io.spawn);
    }
    await switching();
  } else if (await standsThere(to, `refs/heads/${branch}`, head, io)) {
    // Of two deliveries at once the other may have been killed, and nobody comes here for it again.
    await clearBeside(await realpath(to)).catch(() => {});
    const notes = [`delivered already: "${branch}" in ${to} stands at what this run made`];
    const next = `${enterFolder(options.to ?? to)} && git log`;
    return { ...common, commits: [], needed: [], not_delivered: [], notes, pushed, next };
  } else {
    const made = await deliverFolder({
      historyDir: run.history,
      source: isOurs ? source : undefined,
      to,
      branch,
      base,
      head,
      env,
    });
    if ('problem' in made) return refuse(2, made.problem, made.fix);
    if (!made.whole)
      notes.push(`commits before ${base?.slice(0, 12)} are not included: the source no longer gives them`);
    const files = [...(await pathsOf(run.history, head, env))];
    const check = await verifyCommands(to, { verify_exempt: false }, { files: [], probe: probeOf(io) });
    const command = check[0] ?? (files.length === 0 ? '' : 'git log');
    next = `${enterFolder(options.to ?? to)}${command === '' ? '' : ` && ${command}`}`;
  }
  const committed = await pathsOf(run.history, head, env);
  const leftOut = start.left_out.filter((path) => !committed.has(path));
  return {
    ...common,
    commits: await commitsOf(run.history, base, head, env),
    needed,
    not_delivered: leftOut.filter((path) => !needed.includes(path)),
    notes,
    pushed,
    next,
  };
}

/** Enough of a clock to tell whether a lock is still held. */
const clockOf = (io: CommandIo): Clock => ({ now: io.now, monotonic: () => 0, sleep: async () => {} });

/** Why no branch can be made in `source`, undefined where it can. */
async function sourceProblem(source: string, io: CommandIo): Promise<Refused | undefined> {
  const instead = 'pass --to DIR for a repository of its own';
  const gone = refuse(2, `${source} is no longer a git repository`, instead);
  if (!isFolder(source)) return gone;
  const top = await sourceGit(source, io.env).run(['rev-parse', '--show-toplevel']);
  // What git says of its settings says nothing of whether there is a repository.
  if (!top.ok && !isNoTop(top.why))
    return refuse(2, `git cannot look at ${source}: ${top.why}`, `mend what git says, or ${instead}`);
  // A folder inside somebody's repository is not that repository.
  return top.ok && realOf(top.text) === realOf(source) ? undefined : gone;
}

/** Whether `to` is the repository of a delivery before this one: of one that a kill has cut before its last words, say. */
async function standsThere(to: string, ref: string, head: string, io: CommandIo): Promise<boolean> {
  // Nor is this.
  const own = await stat(join(to, '.git')).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!own) return false;
  const at = await sourceGit(to, io.env).run(['rev-parse', '--verify', '--quiet', ref]);
  return at.ok && at.text === head;
}

function tell(done: Delivered, io: CommandIo): void {
  for (const { commit, subject } of done.commits) io.out(`${commit.slice(0, 12)} ${subject}\n`);
  if (done.commits.length > 0) {
    const where = done.to === null ? `branch ${done.branch}` : done.to;
    io.out(`${done.commits.length} commit${done.commits.length === 1 ? '' : 's'} delivered to ${where}\n`);
  }
  if (done.pushed?.ok === true) io.out(`pushed to ${done.pushed.remote}\n`);
  for (const note of done.notes) io.out(`${note}\n`);
  if (done.needed.length > 0) {
    io.err(
      `warning: the checks need files that no commit holds as they are, so they are not delivered: ${listed(done.needed)}\n`,
    );
  }
  if (done.not_delivered.length > 0) {
    io.err(
      `warning: not delivered: ${listed(done.not_delivered)} (untracked or ignored where the run began)\n`,
    );
  }
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
