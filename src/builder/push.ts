/** Telling a remote about a branch. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { quoteWord } from '../policy/words.ts';
import { beforeWrite } from '../system/fence.ts';
import { systemWords } from '../system/files.ts';
import { type Environment, GitError, noHooks, sourceGit, withoutGit } from '../system/git.ts';
import { readSome } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import type { Spawn } from '../system/spawn.ts';
import { makeTemporary, temporaryOf } from '../system/temporary.ts';
import { unconvertedIn } from './filtered.ts';

/** `remote` is empty when the repository has none. */
export type Pushed = {
  readonly ok: boolean;
  readonly remote: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Where it failed: what names the branch on a command line, if its name alone does not. A tag may have it too. */
  readonly named?: string;
};

/** What a person would type to do it by hand. */
export const pushCommand = (repo: string, { remote, named }: Pushed, branch: string): string =>
  `git -C ${quoteWord(repo)} push -u ${quoteWord(remote === '' ? 'REMOTE' : remote)} ${quoteWord(named ?? branch)}`;

/** Milliseconds that a push may take. */
const limit = 60_000;

/** Variables by which git reaches remotes; those that name a repository or an index are not among them. */
const wanted =
  /^GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_|HTTP_|PROXY|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|EXEC_PATH)/;

const flushing = 'core.fsync=objects,reference';

/** The other ends of a push that are folders of this machine: the power that cuts us cuts them too. `only`: there are no
 *  others, and the user has no wish of his own about who takes it there. */
async function foldersOf(
  repo: string,
  remote: string,
  env: Environment,
): Promise<{ readonly folders: readonly string[]; readonly only: boolean }> {
  const git = sourceGit(repo, env);
  const at = await git.run(['remote', 'get-url', '--push', '--all', remote]);
  const urls = at.ok ? at.text.split('\n').filter((url) => url !== '') : [];
  const folders = urls.map((url) => resolve(repo, pathIn(url))).filter(existsSync);
  const own = await git.run(['config', '--get-all', `remote.${remote}.receivepack`]);
  return { folders, only: urls.length > 0 && folders.length === urls.length && !own.ok };
}

/** Who has git push submodules only (a push that says it went well) asked for the branch all the same. */
async function branchToo(repo: string, env: Environment): Promise<readonly string[]> {
  const wish = await sourceGit(repo, env).run(['config', '--get', 'push.recurseSubmodules']);
  return wish.ok && wish.text === 'only' ? ['--no-recurse-submodules'] : [];
}

/** As git reads it: of a `file:` address the host does not count, and what looks like an escape is one. */
function pathIn(url: string): string {
  const path = /^file:\/\/[^/]*(\/.*)$/.exec(url)?.[1];
  if (path === undefined) return url;
  const bytes = Buffer.from(path).toString('latin1');
  const plain = bytes.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
  return Buffer.from(plain, 'latin1').toString();
}

/** It has settings of its own, and shall flush as we do before it says that it has the branch. A host that takes pushes
 *  only, and nobody's commands, refuses this. */
const flushingThere = [`--receive-pack=git -c ${flushing} receive-pack`];

/** Git flushes what it writes there, and not the names: where a disk keeps no order, the branch could be gone again.
 *  Answers why it may be. */
async function unsettledAt(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    try {
      await settleTree(folder);
    } catch (error) {
      return `${folder} has the branch, which cannot be flushed there: ${systemWords(error)}`;
    }
  }
  return undefined;
}

/** Why a push failed, of all that git has said: it ends with advice. */
export function pushTrouble(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const refused = lines.find((line) => line.startsWith('! ['));
  if (refused !== undefined) return refused.slice(2);
  const at = lines.findIndex((line) => /^(?:fatal|error): /.test(line));
  // The program that makes the connection has said why before.
  const told =
    lines[at]?.startsWith('fatal: Could not read from remote') === true ? lines[at - 1] : undefined;
  return told ?? lines.at(at) ?? '';
}

/** Pushes `branch` to the first remote of `repo` and lets it follow, but for commits with files that a filter of the user's
 *  would have converted, or where git does not tell: these are left to him. Never rejects for what git does, never asks. */
export async function push(options: PushOptions, spawn: Spawn): Promise<Pushed> {
  const pushed = await pushNow(options, spawn);
  if (pushed.ok) return pushed;
  const { repo, branch, env } = options;
  const short = await sourceGit(repo, env).run([
    'for-each-ref',
    '--format=%(refname:short)',
    `refs/heads/${branch}`,
  ]);
  return !short.ok || short.text === branch || short.text === '' ? pushed : { ...pushed, named: short.text };
}

type PushOptions = {
  readonly repo: string;
  readonly branch: string;
  readonly env: Environment;
  readonly signal?: AbortSignal;
  /** The folder of the repository's lock: whoever has lost it pushes nothing. */
  readonly held?: string;
};

async function pushNow(options: PushOptions, spawn: Spawn): Promise<Pushed> {
  const { repo, branch, env } = options;
  const listed = await sourceGit(repo, env).run(['remote']);
  const remote = listed.ok ? (listed.text.split('\n')[0] ?? '') : '';
  if (remote === '') return { ok: false, remote: '', stdout: '', stderr: 'the repository has no remote' };
  const no = (stderr: string): Pushed => ({ ok: false, remote, stdout: '', stderr });
  try {
    const raw = await unconvertedIn(sourceGit(repo, env), { branch, remote }, env);
    if (raw !== undefined) return no(`a filter of your git would have converted ${raw}`);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return no(`git does not tell whether a filter of yours would have converted files: ${error.message}`);
  }
  const folder = await makeTemporary(temporaryOf(env), 'factory-push');
  try {
    const [stdoutFile, stderrFile] = [join(folder, 'out'), join(folder, 'err')];
    const keep = new Set(Object.keys(env).filter((name) => wanted.test(name)));
    const settings = [...noHooks, 'core.fsmonitor=false', 'gc.auto=0', flushing];
    const { folders, only } = await foldersOf(repo, remote, env);
    const its = [...(only ? flushingThere : []), ...(await branchToo(repo, env))];
    const quiet = settings.flatMap((setting) => ['-c', setting]);
    if (options.held !== undefined) beforeWrite(options.held);
    const ended = await spawn.run({
      argv: ['git', ...quiet, 'push', '-u', ...its, remote, `refs/heads/${branch}:refs/heads/${branch}`],
      cwd: repo,
      env: { ...withoutGit(env, keep), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
      stdoutFile,
      stderrFile,
      timeoutMs: limit,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const isThere = ended.kind === 'exited' && ended.code === 0;
    const unsettled = isThere ? await unsettledAt(folders) : undefined;
    const said = {
      remote,
      stdout: (await readSome(stdoutFile, 4000, 'tail')) ?? '',
      stderr: (await readSome(stderrFile, 4000, 'tail')) ?? '',
    };
    if (unsettled !== undefined) return { ok: false, ...said, stderr: `${said.stderr}${unsettled}` };
    if (ended.kind === 'exited') return { ok: ended.code === 0, ...said };
    const why = ended.kind === 'timed_out' ? `[TIMEOUT] after ${limit / 1000} s` : `[${ended.kind}]`;
    return { ok: false, ...said, stderr: `${said.stderr}${why}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
