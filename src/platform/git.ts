/** The only module that runs git: every call has a clean environment, no prompt, no hook, no signature and no
 *  pager. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { beforeWrite } from './files/fence.ts';
import { readSome } from './files/read.ts';
import { isMissing, makeFolder, systemWords, writeFileAtomic } from './files/write.ts';
import { collect } from './process/collect.ts';
import { hasNull, noNull } from './process/spawn-error.ts';

/** This process's environment, for callers that pass none. */
export const processEnvironment: Environment = process.env;

/** How a git command ended. `stdout` is raw: with `-z` it holds NULs, and paths may not be UTF-8. `said`:
 *  everything that a failed command printed. */
export type GitEnd =
  | { readonly ok: true; readonly stdout: Buffer; readonly text: string }
  | {
      readonly ok: false;
      readonly why: string;
      readonly missing: boolean;
      readonly output?: string;
      /** Where git ran to its end. */
      readonly code?: number;
    };

export type GitCall = {
  /** Passed on standard input; without it standard input is empty. */
  readonly input?: string | Uint8Array;
  readonly inputFile?: string;
  /** Receives standard output, for what is too large for memory. */
  readonly outputFile?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** In a separate process group that is not ended with this process: Ctrl-C must not interrupt a command that
   *  moves a user's files. */
  readonly apart?: boolean;
};

/** One repository (or folder) and the settings that apply there. */
export interface Git {
  /** Runs `git <args>`. Does not reject when git fails; rejects with a `GitError` where the system could not start
   *  git or a signal ended it, and with `Superseded` in a repository of a run that this process no longer owns. */
  run(args: readonly string[], call?: GitCall): Promise<GitEnd>;
  /** The output without its final newline; rejects with a `GitError` when git fails. */
  text(args: readonly string[], call?: GitCall): Promise<string>;
  /** The entries of a `-z` output; rejects as `text` does. */
  list(args: readonly string[], call?: GitCall): Promise<string[]>;
}

export class GitError extends Error {
  readonly missing: boolean;
  /** The system had no process or memory for it, or a signal ended it. */
  readonly unanswered: boolean;
  /** The repository of the call, where known. */
  readonly where: string | undefined;
  constructor(why: string, missing: boolean, unanswered = false, where?: string) {
    super(why);
    this.missing = missing;
    this.unanswered = unanswered;
    this.where = where;
  }
}

/** What to do when git could not be started or was killed. */
export const startGitAgain = 'free processes and memory on the machine, then retry';

/** Whether git reports that a folder is in no working tree, rather than that it could not read one. */
export const isNoTop = (why: string): boolean =>
  /not a git repository|invalid gitfile format|must be run in a work tree/.test(why);

/** Whether `folder` holds git's data and no project files: a bare repository, or the inside of a `.git`. A folder
 *  with a `.git` that points to a bare repository next to its worktrees counts, too. */
export async function isGitsOwn(folder: string, env: Environment): Promise<boolean> {
  const found = await sourceGit(folder, env).run([
    'rev-parse',
    '--is-inside-git-dir',
    '--is-bare-repository',
  ]);
  const [inside, bare] = found.ok ? found.text.split('\n') : [];
  return inside === 'true' || (bare === 'true' && existsSync(join(folder, '.git')));
}

/** What to do about a folder that only git uses. */
export const checkoutInstead =
  'name a working tree of it: "git clone" makes one, and so does "git worktree add"';

export const gitMissing = 'git is not installed, or not on PATH';

const notThere = (): GitEnd =>
  hasNull() ? { ok: false, why: gitMissing, missing: true } : { ok: false, why: noNull, missing: false };

/** Events for which git (2.55 and newer) runs commands from its settings, whatever the hooks folder is. */
const events = [
  'reference-transaction',
  'post-index-change',
  'post-checkout',
  'pre-merge-commit',
  'post-merge',
  'pre-push',
  'pre-auto-gc',
];
/** Settings by which git runs no hook, neither a file nor a command from the settings. */
export const noHooks: readonly string[] = [
  'core.hooksPath=/dev/null',
  ...events.map((event) => `hook.${event}.enabled=false`),
];

/** Settings for a user's repository: nothing from it is run, except the filters that its settings name, when git
 *  compares or writes files. Objects and checkpoint refs are flushed, so that they survive a power failure. */
const harmless = [
  'core.fsmonitor=false',
  ...noHooks,
  'safe.directory=*',
  'safe.bareRepository=all',
  'core.fsync=objects,reference',
];
/** Only the ignore and attribute files of the tree itself apply, no settings of the user or the system. */
const verbatim = [
  'core.autocrlf=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.quotePath=false',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

/** The caller's variables that locate the user's settings; all other `GIT_*` variables are dropped. */
const settings = new Set(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM', 'GIT_EXEC_PATH']);

const quiet = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  // Ignore the parents in `info/grafts` too: git accepts a missing file silently.
  GIT_GRAFT_FILE: '/dev/null/none',
  GIT_PAGER: 'cat',
};

/** The environment without git's variables, except those in `keep`. */
export function withoutGit(env: Environment, keep: ReadonlySet<string> = new Set()): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (!name.startsWith('GIT_') || keep.has(name))) clean[name] = value;
  }
  return clean;
}

/** Git in the user's repository, with the user's settings. `held` is the folder of the lock that allows changes, if
 *  any: a process that has lost that lock runs git there no longer. */
export function sourceGit(cwd: string, env: Environment, held?: string): Git {
  return git({
    cwd,
    config: harmless,
    env: { ...withoutGit(env, settings), ...quiet },
    ...(held === undefined ? {} : { repository: held }),
  });
}

/** Git in a repository of this program (or, with `gitDir`, in any repository by its folder), with only the settings
 *  given here. `settingsFile` is where they are stored, because a server started by git reads settings only from a
 *  file. */
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

/** Creates an empty repository at `path`. */
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
  // Flushed, because git cannot run with a partial settings file. A delivery expects it to exist.
  if ((await readSome(options.settingsFile, 1000)) !== safeAnywhere)
    await writeFileAtomic(options.settingsFile, safeAnywhere, { sync: true });
  const git = ownGit({ cwd: path, settingsFile: options.settingsFile, env: options.env });
  const init = ['init', '--quiet', '--template=', `--initial-branch=${options.branch}`];
  // Set explicitly, because the default differs between versions of git.
  const format = `--object-format=${options.sha256 === true ? 'sha256' : 'sha1'}`;
  await git.text([...init, format, ...(options.bare ? ['--bare'] : []), '.'], {
    // Older versions of git lack the option for it, and HEAD and refs are files that are flushed one by one.
    env: { GIT_DEFAULT_REF_FORMAT: 'files' },
  });
}

/** Attributes for a run's repository: of what `.gitattributes` files request only line endings are converted, as
 *  git does everywhere; filters and keyword expansion are off. `.factory/` is ignored. */
export async function keepToLineEnds(gitDir: string): Promise<void> {
  await writeFileAtomic(join(gitDir, 'info', 'attributes'), '* -ident -filter -working-tree-encoding\n');
  await writeFileAtomic(join(gitDir, 'info', 'exclude'), ignoreFactory);
}
export const ignoreFactory = '/.factory/\n';

/** The most files that a call opens, including pipes. */
const filesOfACall = 12;

/** Throws where so many files cannot be opened: the call would fail later, with an error that no code can catch. */
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

/** The files that git opens in a repository for every command. */
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

/** The first of these files that is a pipe, on which git would wait for a writer forever; undefined where there is
 *  none. */
function pipeIn(repository: string): string | undefined {
  return openedFirst
    .map((name) => join(repository, name))
    .find((path) => {
      try {
        return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
      } catch {
        // Git cannot open it either.
        return false;
      }
    });
}

/** The `.git` that git finds from `folder` upwards; undefined where there is none. */
function recordsAbove(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const records = join(at, '.git');
    if (existsSync(records)) return records;
    if (at === dirname(at)) return undefined;
  }
}

const nothing = (): void => {};

/** Makes a write beyond the file-size limit fail with an error instead of a signal. Each git call installs a
 *  listener for this signal, and when the last listener is removed, Node restores the system's default, which ends
 *  this process. */
function keepFileSizeErrors(): void {
  if (!process.listeners('SIGXFSZ').includes(nothing)) process.on('SIGXFSZ', nothing);
}

function git(setup: {
  readonly cwd: string;
  /** A folder that only its owner may use or change. */
  readonly repository?: string;
  /** The repository's folder; without it git searches from `cwd` upwards. */
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
        why: `${pipe} is a pipe, on which git would wait forever: restore git's file`,
        missing: false,
      };
    const ended = await collect('git', [...options, ...args], {
      cwd: setup.cwd,
      env: { ...setup.env, ...call.env },
      ...(call.input === undefined ? {} : { input: call.input }),
      ...(call.inputFile === undefined ? {} : { inputFile: call.inputFile }),
      ...(call.outputFile === undefined ? {} : { outputFile: call.outputFile }),
      ...(call.apart === true ? { detached: true } : {}),
    });
    if (ended.kind === 'exited' && ended.code === 0)
      return { ok: true, stdout: ended.stdout, text: ended.stdout.toString('utf8').replace(/\n$/, '') };
    if (ended.kind === 'not_started') {
      if (isMissing(ended.error)) return notThere();
      throw new GitError(`git cannot be started: ${systemWords(ended.error)}`, false, true);
    }
    // After a takeover, a failure of git says nothing about this process's repository.
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
      output: `${ended.stdout.toString('utf8')}${stderr}`,
      code: ended.code,
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

/** The git command's name, after git's global options. */
const verbOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? '';

/** HEAD of a folder that is the top of a repository; null where it is none, cannot be read, or has no commit. */
export async function headCommit(folder: string, env: Environment): Promise<string | null> {
  // Git runs only where there is a repository: starting it costs more than the rest of a small run.
  if (!existsSync(join(folder, '.git'))) return null;
  const git = sourceGit(folder, env);
  const top = await git.run(['rev-parse', '--show-toplevel']);
  if (!top.ok || (await realpath(top.text)) !== (await realpath(folder))) return null;
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  return head.ok ? head.text : null;
}
