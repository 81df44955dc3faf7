/** The door to git: every call with an environment of its own, no prompt, no hook, no signature, no pager. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { collect } from './collect.ts';
import { beforeWrite } from './fence.ts';
import { isMissing, makeFolder, systemWords, writeFileAtomic } from './files.ts';
import { readSome } from './read.ts';
import { hasNull, noNull } from './why-not.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** This process's own, for callers that are handed none. */
export const processEnvironment: Environment = process.env;

/** How a git command ended. `stdout` is raw: with `-z` it holds NULs, and paths may not be UTF-8. `said`: all that one that
 *  failed has printed. */
export type GitEnd =
  | { readonly ok: true; readonly stdout: Buffer; readonly text: string }
  | { readonly ok: false; readonly why: string; readonly missing: boolean; readonly said?: string };

export type GitCall = {
  /** Given on standard input; without it there is none. */
  readonly input?: string | Uint8Array;
  readonly inputFile?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** In a process group of its own, and not ended with us: Ctrl-C must not cut what moves somebody's files. */
  readonly apart?: boolean;
};

/** One repository (or place) and whose settings count there. */
export interface Git {
  /** Runs `git <args>`. Never rejects for what git does; rejects with a `GitError` where the system would not start it, or
   *  a signal ended it, which is no answer of git's. In a repository of a run that is no longer ours: `Superseded`. */
  run(args: readonly string[], call?: GitCall): Promise<GitEnd>;
  /** The output without its final newline; rejects with a `GitError` when git fails. */
  text(args: readonly string[], call?: GitCall): Promise<string>;
  /** The entries of a `-z` output; rejects as `text` does. */
  list(args: readonly string[], call?: GitCall): Promise<string[]>;
}

export class GitError extends Error {
  readonly missing: boolean;
  /** The system had no process or memory for it, or somebody ended it. */
  readonly unanswered: boolean;
  /** The repository that it was called in, where that is known. */
  readonly where: string | undefined;
  constructor(why: string, missing: boolean, unanswered = false, where?: string) {
    super(why);
    this.missing = missing;
    this.unanswered = unanswered;
    this.where = where;
  }
}

/** What to do about one that has not answered. */
export const startGitAgain = 'see that the machine has processes and memory to spare, then do it again';

/** Whether git says so of a folder that is in no working tree, and not that it could not look at one. */
export const isNoTop = (why: string): boolean =>
  /not a git repository|invalid gitfile format|must be run in a work tree/.test(why);

/** Whether `folder` holds git's records and no files of a project: a bare repository, or the inside of a `.git`. Such a
 *  folder with a `.git` that points to a bare repository beside its worktrees counts, too. */
export async function isGitsOwn(folder: string, env: Environment): Promise<boolean> {
  const found = await sourceGit(folder, env).run([
    'rev-parse',
    '--is-inside-git-dir',
    '--is-bare-repository',
  ]);
  const [inside, bare] = found.ok ? found.text.split('\n') : [];
  return inside === 'true' || (bare === 'true' && existsSync(join(folder, '.git')));
}

/** What to do about a folder that is git's own. */
export const checkoutInstead =
  'name a working tree of it: "git clone" makes one, and so does "git worktree add"';

export const gitMissing = 'git is not installed, or not on PATH';

const notThere = (): GitEnd =>
  hasNull() ? { ok: false, why: gitMissing, missing: true } : { ok: false, why: noNull, missing: false };

/** What git does here and newer ones (2.55) run commands of the settings for, whatever folder hooks are looked for in. */
const events = [
  'reference-transaction',
  'post-index-change',
  'post-checkout',
  'pre-merge-commit',
  'post-merge',
  'pre-push',
  'pre-auto-gc',
];
/** Settings by which git runs no hook, neither a file nor a command that the settings name. */
export const noHooks: readonly string[] = [
  'core.hooksPath=/dev/null',
  ...events.map((event) => `hook.${event}.enabled=false`),
];

/** A stranger's repository is read because the user named it; nothing of it is ever run, but for the filters that the
 *  settings there name, by a git that looks at files or writes them. What we put there, and what a checkpoint names, outlives
 *  a power cut. */
const harmless = [
  'core.fsmonitor=false',
  ...noHooks,
  'safe.directory=*',
  'safe.bareRepository=all',
  'core.fsync=objects,reference',
];
/** Nobody's settings, ignore or attribute file but those of the tree itself. */
const verbatim = [
  'core.autocrlf=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.quotePath=false',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

/** Variables of the caller's that say where the user's own settings are; all other `GIT_*` are dropped. */
const settings = new Set(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM', 'GIT_EXEC_PATH']);

const quiet = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  // Nor the parents that `info/grafts` claims: of a file that is not there git says nothing.
  GIT_GRAFT_FILE: '/dev/null/none',
  GIT_PAGER: 'cat',
};

/** The environment without git's variables but those in `keep`. */
export function withoutGit(env: Environment, keep: ReadonlySet<string> = new Set()): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (!name.startsWith('GIT_') || keep.has(name))) clean[name] = value;
  }
  return clean;
}

/** Git in the user's own repository, with the user's settings. `held` is the folder of the lock by which it may be changed,
 *  where it is: whoever has lost that lock calls no more git there. */
export function sourceGit(cwd: string, env: Environment, held?: string): Git {
  return git({
    cwd,
    config: harmless,
    env: { ...withoutGit(env, settings), ...quiet },
    ...(held === undefined ? {} : { repository: held }),
  });
}

/** Git in a repository of ours (or, with `gitDir`, on any repository by its folder): nobody's settings but those given
 *  here. `settingsFile` is where they lie, because a server started by git reads settings only from a file. */
export function ownGit(where: {
  readonly cwd: string;
  readonly settingsFile: string;
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  readonly env: Environment;
}): Git {
  return git({
    cwd: where.cwd,
    repository: where.gitDir ?? where.cwd,
    records: where.gitDir ?? where.cwd,
    config: [...harmless, ...verbatim],
    env: {
      ...withoutGit(where.env, new Set(['GIT_EXEC_PATH'])),
      ...quiet,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: where.settingsFile,
      GIT_ATTR_NOSYSTEM: '1',
      ...(where.gitDir === undefined ? {} : { GIT_DIR: where.gitDir }),
      ...(where.workTree === undefined ? {} : { GIT_WORK_TREE: where.workTree }),
      ...(where.indexFile === undefined ? {} : { GIT_INDEX_FILE: where.indexFile }),
    },
  });
}

const safeAnywhere = '[safe]\n\tdirectory = *\n';

/** Makes an empty repository at `path`. */
export async function makeRepository(
  path: string,
  options: {
    readonly settingsFile: string;
    readonly bare: boolean;
    readonly branch: string;
    readonly sha256?: boolean;
    readonly env: Environment;
  },
): Promise<void> {
  makeFolder(path);
  // Torn by a power cut it would be no settings of ours, and git not be called there any more. A delivery finds it made.
  if ((await readSome(options.settingsFile, 1000)) !== safeAnywhere)
    await writeFileAtomic(options.settingsFile, safeAnywhere, { sync: true });
  const git = ownGit({ cwd: path, settingsFile: options.settingsFile, env: options.env });
  const init = ['init', '--quiet', '--template=', `--initial-branch=${options.branch}`];
  // Said in any case: what git takes where nobody says it is another thing in each of its ages.
  const format = `--object-format=${options.sha256 === true ? 'sha256' : 'sha1'}`;
  await git.text([...init, format, ...(options.bare ? ['--bare'] : []), '.'], {
    // The option for it is not known to every git, and HEAD and refs are files that are flushed one by one.
    env: { GIT_DEFAULT_REF_FORMAT: 'files' },
  });
}

/** In a repository of the run's own: of what `.gitattributes` files ask for, line ends alone are converted, as git does
 *  it everywhere; whatever needs a program or changes words is left as it is. `.factory/` is nobody's news. */
export async function keepToLineEnds(gitDir: string): Promise<void> {
  await writeFileAtomic(join(gitDir, 'info', 'attributes'), '* -ident -filter -working-tree-encoding\n');
  await writeFileAtomic(join(gitDir, 'info', 'exclude'), nobodysNews);
}
export const nobodysNews = '/.factory/\n';

/** Files that a call opens at the most, its pipes among them. */
const filesOfACall = 12;

/** Throws where so many cannot be opened: the call would fail later, in a way that nobody can catch. */
function enoughFiles(): void {
  const files: number[] = [];
  try {
    while (files.length < filesOfACall) files.push(openSync('/', 'r'));
  } catch (error) {
    throw new GitError(`git cannot be started: ${systemWords(error)}`, false, true);
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** What git opens of a repository before it answers anything. */
const openedFirst = [
  'HEAD',
  'config',
  'index',
  'packed-refs',
  'shallow',
  'commondir',
  'info/exclude',
  'info/attributes',
];

/** A pipe in place of one of these, in which git would wait for a writer that never comes; undefined where there is none. */
function pipeIn(repository: string): string | undefined {
  return openedFirst
    .map((name) => join(repository, name))
    .find((path) => {
      try {
        return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
      } catch {
        // What may not be looked at git cannot open either.
        return false;
      }
    });
}

/** The `.git` that git would find from `folder` upwards; undefined where there is none. */
function recordsAbove(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const records = join(at, '.git');
    if (existsSync(records)) return records;
    if (at === dirname(at)) return undefined;
  }
}

const nothing = (): void => {};

/** Has a write beyond a file-size limit go on to fail with an error. Each call listens for the limit's signal as for all
 *  that may end us, and when the last listener of a signal goes, Node gives it back to the system, which would end us. */
function keepFileSizeErrors(): void {
  if (!process.listeners('SIGXFSZ').includes(nothing)) process.on('SIGXFSZ', nothing);
}

function git(setup: {
  readonly cwd: string;
  /** A folder, in or for which only its owner may be at work. */
  readonly repository?: string;
  /** Where git's records lie; where they are not named git looks for them from `cwd` upwards. */
  readonly records?: string;
  readonly config: readonly string[];
  readonly env: Record<string, string>;
}): Git {
  const options = setup.config.flatMap((entry) => ['-c', entry]);
  const run = async (args: readonly string[], call: GitCall = {}): Promise<GitEnd> => {
    keepFileSizeErrors();
    enoughFiles();
    if (setup.repository !== undefined) beforeWrite(setup.repository);
    const records = setup.records ?? recordsAbove(setup.cwd);
    const pipe = records === undefined ? undefined : pipeIn(records);
    if (pipe !== undefined)
      return {
        ok: false,
        why: `${pipe} is a pipe, in which git would wait for ever: put git's own file there again`,
        missing: false,
      };
    const ended = await collect('git', [...options, ...args], {
      cwd: setup.cwd,
      env: { ...setup.env, ...call.env },
      ...(call.input === undefined ? {} : { input: call.input }),
      ...(call.inputFile === undefined ? {} : { inputFile: call.inputFile }),
      ...(call.apart === true ? { detached: true } : {}),
    });
    if (ended.kind === 'exited' && ended.code === 0)
      return { ok: true, stdout: ended.stdout, text: ended.stdout.toString('utf8').replace(/\n$/, '') };
    if (ended.kind === 'not_started') {
      if (isMissing(ended.error)) return notThere();
      throw new GitError(`git cannot be started: ${systemWords(ended.error)}`, false, true);
    }
    // A git that fails in a repository that another process took over says nothing about ours.
    if (setup.repository !== undefined) beforeWrite(setup.repository);
    if (ended.kind === 'signalled')
      throw new GitError(
        `git ${verbOf(args)} was ended by ${ended.signal} before it had answered`,
        false,
        true,
      );
    const stderr = ended.stderr.toString('utf8').trim();
    return {
      ok: false,
      why: stderr === '' ? `git ${verbOf(args)} ended with exit code ${ended.code}` : stderr,
      missing: false,
      said: `${ended.stdout.toString('utf8')}${stderr}`,
    };
  };
  const must = async (args: readonly string[], call?: GitCall) => {
    const ended = await run(args, call);
    if (ended.ok) return ended;
    const why = ended.missing ? ended.why : `git ${verbOf(args)}: ${ended.why}`;
    throw new GitError(why, ended.missing, false, setup.env['GIT_DIR'] ?? setup.cwd);
  };
  return {
    run,
    text: async (args, call) => (await must(args, call)).text,
    list: async (args, call) =>
      (await must(args, call)).stdout
        .toString('utf8')
        .split('\0')
        .filter((entry) => entry !== ''),
  };
}

/** Which command it is, behind the options of git itself. */
const verbOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? '';

/** HEAD of a folder that is the top of a repository; null where it is none, cannot be read, or has no commit. */
export async function headCommit(folder: string, env: Environment): Promise<string | null> {
  // Git is asked only where there is something to ask about: starting it costs more than the rest of a small run.
  if (!existsSync(join(folder, '.git'))) return null;
  const git = sourceGit(folder, env);
  const top = await git.run(['rev-parse', '--show-toplevel']);
  if (!top.ok || (await realpath(top.text)) !== (await realpath(folder))) return null;
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  return head.ok ? head.text : null;
}
