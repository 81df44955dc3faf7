/** Pushes a branch to the first remote. */
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { quoteWord } from '../core/policy/words.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { type Git, GitError, sourceGit } from '../platform/git.ts';
import { filteredOnBranch } from './filters.ts';
import { callRemote } from './remote-call.ts';

/** `remote` is empty when the repository has none. */
export type PushResult = {
  readonly ok: boolean;
  readonly remote: string;
  readonly stdout: string;
  readonly stderr: string;
};

/** The command to push by hand. */
export const pushCommand = (repo: string, { remote }: PushResult, branch: string): string =>
  `git -C ${quoteWord(repo)} push -u ${quoteWord(remote === '' ? 'REMOTE' : remote)} ${quoteWord(branch)}`;

/** Why a push failed: the line of git's output with the reason, without its advice. */
export function pushFailure(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const rejected = lines.find((line) => line.startsWith('! ['));
  if (rejected !== undefined) return rejected.slice(2);
  const at = lines.findIndex((line) => /^(?:fatal|error): /.test(line));
  // The program that connects has printed the reason before.
  const reason = lines[at]?.startsWith('fatal: Could not read from remote') ? lines[at - 1] : undefined;
  return reason ?? lines.at(at) ?? '';
}

/** Whether the same push may succeed another time: the remote was not reached, or failed itself. */
export const isPassingFailure = (stderr: string): boolean =>
  /Could not resolve|[Cc]onnection (?:timed out|refused|reset)|[Oo]peration timed out|unreachable|No route to host|early EOF|hung up unexpectedly|returned error: 5\d\d|\[TIMEOUT\]|\[cancelled\]/.test(
    stderr,
  );

/** Empty where the repository has none. */
async function firstRemoteName(git: Git): Promise<string> {
  const listed = await git.run(['remote']);
  return listed.ok ? (listed.text.split('\n')[0] ?? '') : '';
}

/** The remote that is pushed to, with the address that git uses; it may contain a password. */
export async function firstRemote(
  git: Git,
): Promise<{ readonly name: string; readonly address: string } | undefined> {
  const name = await firstRemoteName(git);
  const found = name === '' ? undefined : await git.run(['remote', 'get-url', '--push', '--', name]);
  return found === undefined ? undefined : { name, address: found.ok ? found.text : '' };
}

/** Pushes `branch` to the first remote of `repo` and sets its upstream. Commits with files that a filter of the user's git
 *  would have converted are not pushed. Never rejects for what git does, never asks for a password. */
export async function push(
  options: {
    readonly repo: string;
    readonly branch: string;
    readonly env: Environment;
    readonly signal?: AbortSignal;
    /** Directory of the repository's lock: an owner that has lost it does not push. */
    readonly held?: string;
  },
  spawn: Spawn,
): Promise<PushResult> {
  const { repo, branch, env } = options;
  const git = sourceGit(repo, env);
  const remote = await firstRemoteName(git);
  const fail = (stderr: string): PushResult => ({ ok: false, remote, stdout: '', stderr });
  if (remote === '') return fail('the repository has no remote');
  try {
    const files = await filteredOnBranch(git, { branch, remote }, env);
    if (files !== undefined) return fail(`a filter of your git would have converted ${files}`);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return fail(`git cannot say whether a filter would have converted files: ${error.message}`);
  }
  // `only` would push submodules and not the branch.
  const settings = ['push.recurseSubmodules=no'];
  const before = options.held === undefined ? undefined : beforeWrite.bind(undefined, options.held);
  const called = await callRemote(
    { repo, env, settings, ...(before && { before }), ...(options.signal && { signal: options.signal }) },
    ['push', '-u', remote, `refs/heads/${branch}:refs/heads/${branch}`],
    spawn,
  );
  return { ...called, remote };
}

/** The commit of a branch on a remote; `none` where it has no such branch, undefined where git cannot ask it. */
export async function commitOnRemote(
  { repo, branch, env, signal }: Pick<Parameters<typeof push>[0], 'repo' | 'branch' | 'env' | 'signal'>,
  spawn: Spawn,
): Promise<string | undefined> {
  const remote = await firstRemoteName(sourceGit(repo, env));
  if (remote === '') return undefined;
  const args = ['ls-remote', '--quiet', remote, `refs/heads/${branch}`];
  const called = await callRemote({ repo, env, ...(signal && { signal }) }, args, spawn);
  if (!called.ok) return undefined;
  return /^([0-9a-f]{40,64})\t/.exec(called.stdout)?.[1] ?? 'none';
}
