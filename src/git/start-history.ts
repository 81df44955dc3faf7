/** Creates a run's history: a bare repository in the run directory that begins with the workdir's HEAD. */
import { existsSync } from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { isSealedPath } from '../core/policy/holdout-paths.ts';
import { quoteWord } from '../core/policy/words.ts';
import { baseRef, branchRef, copiedRef, historyLayout } from '../core/records/layout.ts';
import { writeJson } from '../platform/files/write.ts';
import {
  checkoutInstead,
  type Git,
  GitError,
  isGitsOwn,
  isNoTop,
  keepToLineEnds,
  makeRepository,
  processEnvironment,
  sourceGit,
  startGitAgain,
} from '../platform/git.ts';
import {
  type Author,
  authorOf,
  makeCommit,
  moveRefs,
  noteSealed,
  overlookSealed,
  submodulesOf,
  treeOfCommit,
  treeWith,
} from './commit.ts';
import { type HistoryStart, historyGit, readHistoryStart } from './history.ts';
import { commitNamed } from './repository.ts';

export type StartedHistory = {
  /** `git` when the workdir is the top of a repository. */
  readonly kind: 'none' | 'folder' | 'git';
  /** HEAD of the workdir; null in a fresh history. */
  readonly baseCommit: string | null;
  readonly author: Author;
  /** Messages for people: what of the workdir is not in the history. */
  readonly notes: readonly string[];
};
export type GitProblem = { readonly problem: Diagnostic };

const problem = (code: string, message: string, fix: string): GitProblem => ({
  problem: { code, severity: 'error', message, fix },
});

type Start = {
  readonly workdir: string | undefined;
  readonly historyDir: string;
  readonly allowDirty: boolean;
  readonly runId: string;
  /** The commit of the workdir to begin with; its HEAD by default. */
  readonly base?: string;
  /** Whether changes of the working tree are left out. */
  readonly exact?: boolean;
  /** Carries out work orders again although a commit of the workdir names them as done. */
  readonly redo?: boolean;
  readonly env?: Environment;
};

/** Creates `historyDir`, replacing any that exists, and fetches the workdir's HEAD into it (one commit deep). Called before
 *  the workdir is copied; refuses tracked changes unless `allowDirty`. `workdir` undefined: an empty history. `env` is the
 *  caller's environment (default: this process's), used only for git's settings and identity. The workdir is only read. */
export async function startHistory(options: Start): Promise<StartedHistory | GitProblem> {
  try {
    return await start(options, options.env ?? processEnvironment);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return error.missing
      ? problem(
          'git-missing',
          `${error.message}; this pipeline makes commits`,
          'install git, then start again',
        )
      : problem(
          'git-history',
          `the git history cannot be created: ${error.message}`,
          error.unanswered ? startGitAgain : 'fix what git reports (git fsck shows more), then start again',
        );
  }
}

async function start(options: Start, env: Environment): Promise<StartedHistory | GitProblem> {
  const { workdir, historyDir } = options;
  const found = workdir === undefined ? undefined : await lookAt(workdir, env);
  if (found === 'own')
    return problem(
      'workdir-bare',
      `the workdir ${workdir} is not a working tree: it is the folder of a git repository`,
      checkoutInstead,
    );
  const looked = found?.within === undefined ? found : undefined;
  const source = looked && options.exact === true ? { ...looked, dirty: [] } : looked;
  if (source !== undefined && source.dirty.length > 0 && !options.allowDirty) return dirtyProblem(source);
  const named = await namedBase(options, source !== undefined, env);
  if (typeof named === 'object') return named;
  await rm(historyDir, { recursive: true, force: true });
  await makeRepository(historyDir, {
    settingsFile: historyLayout(historyDir).settings,
    bare: true,
    branch: branchRef.slice('refs/heads/'.length),
    sha256: source?.sha256 === true,
    env,
  });
  await keepToLineEnds(historyDir);
  const base = source && (named ?? source.head);
  const from = workdir !== undefined && source !== undefined && base !== undefined;
  const submodules = from ? await fetchBase({ ...options, base }, workdir, source, env) : [];
  const applied = from && options.redo !== true ? await appliedOrders(workdir, base, env) : {};
  const record: HistoryStart = {
    version: 1,
    kind: workdir === undefined ? 'none' : source === undefined ? 'folder' : 'git',
    base_commit: base ?? null,
    // A folder that is no repository has no git settings; the user's are found from any folder.
    author: await authorOf(source === undefined || workdir === undefined ? historyDir : workdir, env),
    dirty: [...(source?.dirty ?? [])],
    applied,
    submodules,
    first_commit: base ?? null,
    left_out: [],
  };
  await writeJson(historyLayout(historyDir).start, record);
  const notes = notesOn(found, base !== undefined, submodules);
  return { kind: record.kind, baseCommit: record.base_commit, author: record.author, notes };
}

/** The commit that `base` names in the workdir; undefined where none is named. */
async function namedBase(
  { workdir, base }: Start,
  isRepository: boolean,
  env: Environment,
): Promise<string | undefined | GitProblem> {
  if (base === undefined) return undefined;
  const fix = 'name a commit of the git repository that --workdir names, or leave out --base';
  if (workdir === undefined || !isRepository)
    return problem('base-commit', `the workdir is no git repository, so it has no commit ${base}`, fix);
  const found = await commitNamed(sourceGit(workdir, env), base);
  return found ?? problem('base-commit', `${workdir} has no commit ${base}`, fix);
}

function dirtyProblem({ dirty }: Source): GitProblem {
  const more = dirty.length > 10 ? ` and ${dirty.length - 10} more` : '';
  return problem(
    'workdir-dirty',
    `the workdir has tracked changes that are not committed: ${dirty.slice(0, 10).join(', ')}${more}`,
    'commit or stash them, or pass --allow-dirty to make them the first commit of the run',
  );
}

/** Fetches the commit that the history begins with. Answers the submodules in it. */
async function fetchBase(
  options: Start & { readonly base: string },
  workdir: string,
  source: Source,
  env: Environment,
): Promise<string[]> {
  const { base } = options;
  const git = historyGit(options.historyDir, env);
  // One commit is enough: its parents are in the workdir, where the commits are delivered.
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  await git.text([
    'fetch',
    ...quiet,
    '--depth=1',
    workdir,
    `${base === source.head ? 'HEAD' : base}:${baseRef}`,
  ]);
  const fetched = await git.text(['rev-parse', baseRef]);
  if (fetched !== base) throw new GitError(`HEAD of the workdir moved from ${base} to ${fetched}`, false);
  // The commit of the copied files, needed to turn the copy into the tree of the base. The copy of a sparse checkout
  // lacks files, which an order would otherwise see as absent.
  const isOther = base !== source.head || options.exact === true;
  if (isOther || (source.sparse && source.dirty.length === 0))
    await git.text(['fetch', ...quiet, '--depth=1', workdir, `HEAD:${copiedRef}`]);
  return submodulesOf(git, fetched);
}

/** What of the workdir is not in the history. */
function notesOn(
  found: Source | Within | undefined,
  hasBase: boolean,
  submodules: readonly string[],
): string[] {
  if (found?.within !== undefined)
    return [
      `the workdir is a folder of the repository ${found.within}, not its top: the run starts a new history from a copy of it, which can be delivered to a new folder only (--workdir ${quoteWord(found.within)} builds on the repository)`,
    ];
  const notes: string[] = [];
  if (hasBase && found?.sparse === true && found.dirty.length > 0)
    notes.push(
      'the workdir is a sparse checkout with changes: files that are not checked out may be missing in the workspace (commit or stash the changes to begin with all of them)',
    );
  if (submodules.length > 0)
    notes.push(`submodules are copied as files, but no work order can change them: ${submodules.join(', ')}`);
  return notes;
}

type Within = { readonly within: string };

type Source = {
  readonly within?: undefined;
  readonly head: string | undefined;
  readonly sha256: boolean;
  /** Whether its working tree may be without files of its HEAD. */
  readonly sparse: boolean;
  readonly dirty: readonly string[];
};

/** The repository whose top is `workdir`, or `within`, the top of the repository whose HEAD has `workdir` as a folder; `own`
 *  for git's own folder of a repository; undefined for a plain folder. Rejects if git cannot read the repository (broken
 *  settings, say): treated as a plain folder, its commits would not follow those of the repository. */
async function lookAt(workdir: string, env: Environment): Promise<Source | Within | 'own' | undefined> {
  const git = sourceGit(workdir, env);
  const top = await git.run([
    'rev-parse',
    '--show-object-format',
    '--git-path',
    'info/sparse-checkout',
    '--show-toplevel',
  ]);
  if (!top.ok) {
    if (top.missing) throw new GitError(top.why, true);
    if (await isGitsOwn(workdir, env)) return 'own';
    if (!existsSync(join(workdir, '.git')) || isNoTop(top.why)) return undefined;
    throw new GitError(`git cannot look at ${workdir}: ${top.why}`, false);
  }
  const [format = '', sparse = ''] = top.text.split('\n', 2);
  const folder = top.text.slice(format.length + sparse.length + 2);
  if ((await realpath(folder)) !== (await realpath(workdir))) {
    const held = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD:./']);
    return held.ok ? { within: folder } : undefined;
  }
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  const tracked = ['--untracked-files=no', '--no-renames', '--ignore-submodules=dirty'];
  const status = await git.list(['status', '--porcelain=v1', '-z', ...tracked]);
  return {
    head: head.ok ? head.text : undefined,
    sha256: format === 'sha256',
    sparse: existsSync(resolve(workdir, sparse)),
    dirty: status.map((line) => line.slice(3)),
  };
}

/** Work orders that the last 1000 commits up to `tip` name as carried out, by digest, each with its newest commit. Commits
 *  that have been reverted do not count. */
export async function appliedOrders(
  repo: string,
  tip: string,
  env: Environment,
): Promise<Record<string, string>> {
  const git = sourceGit(repo, env);
  const format = '--format=%H%n%(trailers:key=Work-Order-Digest,valueonly)%x00%B';
  // The user's settings for signatures and trailers must not change this output.
  const trailers = ['-c', 'trailer.separators=:'];
  const log = await git.run([...trailers, 'log', '-n', '1000', '-z', '--no-show-signature', format, tip]);
  const applied: Record<string, string> = {};
  if (!log.ok) return applied;
  const reverted = new Set<string>();
  const fields = log.text.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [head = '', message = ''] = fields.slice(at, at + 2);
    const [commit = '', ...digests] = head.split('\n').map((line) => line.trim());
    if (reverted.has(commit)) continue;
    for (const [, undone = ''] of message.matchAll(/^This reverts commit ([0-9a-f]{40,64})\b/gm))
      reverted.add(undone);
    for (const digest of digests) if (/^[0-9a-f]{64}$/.test(digest)) applied[digest] ??= commit;
  }
  return applied;
}

/** Called after the copy: commits what is in the workspace but in no commit (the files of a folder that is no repository,
 *  or the tracked changes of a dirty workdir), and records the paths that no commit has. Returns the commit that the
 *  orders build on; null if there is none. */
export async function recordBase(
  options: Base,
): Promise<{ readonly firstCommit: string | null } | GitProblem> {
  const { historyDir, workspace, sealed = [] } = options;
  const env = options.env ?? processEnvironment;
  const record = await readHistoryStart(historyDir);
  const git = historyGit(historyDir, env, { workTree: workspace });
  try {
    await turnIntoBase({ historyDir, workspace, env, base: record.base_commit });
    const committed = await commitRest(options, record, git, env);
    if ('problem' in committed) return committed;
    const { first } = committed;
    if (first !== null) {
      await moveRefs(git, first);
      await git.text(['read-tree', first]);
    }
    await noteSealed(historyDir, sealed, first);
    await overlookSealed(historyDir, git);
    const others = await git.list(['ls-files', '--others', '--directory', '--no-empty-directory', '-z']);
    const left_out = others.filter(
      (path) => !path.startsWith('.factory/') && !isSealedPath(path.replace(/\/$/, ''), sealed),
    );
    const whole: HistoryStart = { ...record, first_commit: first, left_out };
    await writeJson(historyLayout(historyDir).start, whole);
    return { firstCommit: first };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return problem(
      'git-history',
      `the first commit cannot be made: ${error.message}`,
      error.unanswered ? startGitAgain : 'check the workdir, then start again',
    );
  }
}

type Base = {
  readonly historyDir: string;
  readonly workspace: string;
  readonly runId: string;
  readonly now: Date;
  /** Holdout paths, which are removed from the workspace later. */
  readonly sealed?: readonly string[];
  readonly env?: Environment;
};

/** Commits what the base lacks, if it lacks anything. */
async function commitRest(
  { historyDir, workspace, runId, now: date }: Base,
  { base_commit: parent, kind, dirty, author }: HistoryStart,
  git: Git,
  env: Environment,
): Promise<{ readonly first: string | null } | GitProblem> {
  const fresh = parent === null && kind !== 'none';
  const paths = fresh ? await unignoredFiles(git) : dirty;
  if (paths.length === 0) return { first: parent };
  const made = await treeWith({ historyDir, workspace, parent, paths, env });
  if ('problem' in made)
    return problem('git-history', made.problem, 'commit the change in the submodule first');
  const { tree } = made;
  if (tree === (await treeOfCommit(git, parent))) return { first: parent };
  const subject = fresh
    ? 'Files as they were before the run'
    : 'Changes that were not committed before the run';
  const message = `${subject}\n\nFactory-Run: ${runId}\n`;
  return { first: await makeCommit({ historyDir, tree, parent, message, author, date, env }) };
}

/** Replaces the copied files of the workdir's HEAD with those of the base, if the run begins with another commit. */
async function turnIntoBase(where: {
  readonly historyDir: string;
  readonly workspace: string;
  readonly env: Environment;
  readonly base: string | null;
}): Promise<void> {
  const { historyDir, workspace, env, base } = where;
  const indexFile = historyLayout(historyDir).scratchIndex;
  const git = historyGit(historyDir, env, { workTree: workspace, indexFile });
  if (base === null) return;
  const copied = await git.run(['rev-parse', '--verify', '--quiet', copiedRef]);
  if (!copied.ok) return;
  await git.text(['read-tree', copied.text]);
  await git.run(['update-index', '-q', '--refresh']);
  await git.text(['read-tree', '--reset', '-u', base]);
  await git.text(['update-ref', '-d', copiedRef]);
  await rm(indexFile, { force: true });
}

/** Every file and link of the working tree that its `.gitignore` files do not hide. */
export async function unignoredFiles(git: Git): Promise<string[]> {
  const hidden = ['--exclude-per-directory=.gitignore', '--exclude=/.factory/'];
  const found = await git.list(['ls-files', '--others', '-z', ...hidden]);
  // A path that ends with a slash is a nested repository and stays out.
  return found.filter((path) => !path.endsWith('/'));
}
