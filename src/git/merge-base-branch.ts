/** Merges another branch of the remote into a branch of ours, in a repository of our own: the user's working tree, index and
 *  branches stay unchanged. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import { GitError, sourceGit } from '../platform/git.ts';
import { authorOf, authorVariables } from './commit.ts';
import { copyObjects } from './deliver.ts';
import { borrowHistory, checkOut } from './fresh-checkout.ts';
import { pushFailure } from './push.ts';
import { callRemote } from './remote-call.ts';
import { commitNamed, commonGitDir } from './repository.ts';

/** Fetches `branch` of a remote into the objects of `source`, so that it has `commit`; why not, where it has not. */
export async function fetchCommit(
  from: {
    readonly source: string;
    readonly remote: string;
    readonly branch: string;
    readonly commit: string;
    readonly ref: string;
    readonly env: Environment;
    readonly signal: AbortSignal;
  },
  spawn: Spawn,
): Promise<string | undefined> {
  const { source, remote, branch, commit, ref, env, signal } = from;
  const git = sourceGit(source, env);
  const is = () => commitNamed(git, commit);
  if ((await is()) !== undefined) return undefined;
  if (/[:*?[]/.test(branch) || !(await git.run(['check-ref-format', `refs/heads/${branch}`])).ok)
    return `"${branch}" is no name of a branch`;
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  const called = await callRemote(
    { repo: source, env, signal },
    ['fetch', ...quiet, remote, `+refs/heads/${branch}:${ref}`],
    spawn,
  );
  if (!called.ok) return `git cannot fetch it from ${remote}: ${pushFailure(called.stderr)}`;
  return (await is()) === undefined ? `the remote ${remote} does not have its commit yet` : undefined;
}

const verbatimFiles = '* -text -ident -filter -working-tree-encoding\n';

/** A commit that merges `other` into `head`, under the name `ref` in `source`; `conflict` where they do, `failed` where git
 *  cannot merge them at all. */
export async function mergeCommit(
  source: string,
  merged: {
    readonly head: string;
    readonly other: string;
    readonly message: string;
    readonly ref: string;
    readonly date: Date;
  },
  env: Environment,
): Promise<{ readonly commit: string } | { readonly conflict: string } | { readonly failed: string }> {
  const { head, other, message, ref, date } = merged;
  const gitDir = await commonGitDir(source, env);
  if (gitDir === undefined) throw new GitError(`${source} is no longer a git repository`, false);
  const folder = await makeTemporary(temporaryOf(env), 'factory-merge');
  try {
    const tree = join(folder, 'tree');
    await mkdir(tree);
    const borrowed = await borrowHistory(gitDir, head, { dir: join(folder, 'repository'), env });
    // Bytes as committed: git would take a file that it converts for one that was changed.
    makeFolder(join(borrowed.dir, 'info'));
    await writeFileAtomic(join(borrowed.dir, 'info', 'attributes'), verbatimFiles);
    await checkOut(borrowed, head, tree);
    const git = borrowed.at(tree);
    const by = authorVariables(await authorOf(source, env), date);
    const done = await git.run(['merge', '--quiet', '--no-ff', '--no-edit', '-m', message, other], {
      env: by,
    });
    if (!done.ok) return notMerged(done);
    const commit = await git.text(['rev-parse', 'HEAD']);
    const into = sourceGit(source, env);
    await copyObjects(git, [commit, `^${head}`, `^${other}`], into, env);
    await into.text(['update-ref', ref, commit]);
    return { commit };
  } finally {
    await removeTree(folder);
  }
}

function notMerged({ why, output = '' }: { readonly why: string; readonly output?: string }) {
  const lines = output.split('\n').filter((line) => line.startsWith('CONFLICT'));
  return lines.length === 0 ? { failed: why } : { conflict: lines.slice(0, 5).join('; ') };
}
