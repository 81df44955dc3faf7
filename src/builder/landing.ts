/** The record of a landing that has begun, kept in the repository's git directory, and how the next process completes the
 *  move of files that a kill has interrupted. */

import { lstat, readFile, readlink, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { once } from '../model/once.ts';
import { beforeWrite } from '../system/fence.ts';
import { isMissing, removeNow, syncFolder, writeJson } from '../system/files.ts';
import { type Environment, type Git, sourceGit } from '../system/git.ts';
import { atWorkIn } from '../system/proc.ts';
import { isFolder } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { readRecord } from './record.ts';
import { branchInUse, dirtyPaths, type Refused } from './repository.ts';

export const landingSchema = once(() =>
  z.object({
    version: z.literal(1),
    run_id: z.string(),
    run_dir: z.string(),
    digest: z.string().describe('Of the work order'),
    repo: z.string(),
    branch: z.string(),
    base: z.string(),
    head: z.string(),
    from: z
      .object({ branch: z.string(), commit: z.string(), clean: z.boolean() })
      .describe('What was checked out when the landing began; the branch is empty for a detached HEAD'),
    began_at: z.string(),
  }),
);
export type Landing = z.infer<ReturnType<typeof landingSchema>>;

/** Directory of the repository's lock and of the record of a landing. `gitDir` is shared by all working trees. */
export const lockDirectory = (gitDir: string): string => join(gitDir, 'factory');
const recordOf = (gitDir: string): string => join(lockDirectory(gitDir), 'landing.json');

/** Writes the record, flushed to disk before anything is moved. */
export async function beginLanding(
  gitDir: string,
  landing: Omit<Landing, 'version' | 'from'>,
  env: Environment,
): Promise<void> {
  const git = sourceGit(landing.repo, env);
  const commit = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  const from = {
    branch: (await branchInUse(git)) ?? '',
    commit: commit.ok ? commit.text : landing.base,
    clean: (await dirtyPaths(git)).length === 0,
  };
  await writeJson(recordOf(gitDir), { version: 1, ...landing, from }, { sync: true, syncFolder: true });
  // The first run on a repository has created the directory.
  await syncFolder(gitDir);
}

/** Removes the record once all that was written to `moved` is on disk: git does not flush files of a working tree. */
export async function endLanding(gitDir: string, moved: readonly string[] = []): Promise<void> {
  if (moved.length > 0) await settleTree(moved);
  removeNow(recordOf(gitDir));
  await syncFolder(lockDirectory(gitDir));
}

/** The landing that was begun and has not ended; undefined when there is none. */
export async function unfinishedLanding(gitDir: string): Promise<Landing | undefined> {
  try {
    return await readRecord(recordOf(gitDir), landingSchema());
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Completes the move of the working tree if it was interrupted halfway; `land` can then be repeated. Files are touched only
 *  where every difference in the tree comes from the move. The caller holds the repository's lock. */
export async function recoverLanding(
  landing: Landing,
  gitDir: string,
  env: Environment,
): Promise<Refused | undefined> {
  const { repo, branch, base, head, from } = landing;
  if (!isFolder(repo)) return undefined;
  const held = lockDirectory(gitDir);
  const git = sourceGit(repo, env, held);
  const locked = await removeLocks(git, landing, gitDir);
  if (locked !== undefined) return locked;
  const commitAt = async (name: string) => {
    const found = await git.run(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
    return found.ok ? found.text : undefined;
  };
  const [tip, at, on] = [
    await commitAt(`refs/heads/${branch}`),
    await commitAt('HEAD'),
    await branchInUse(git),
  ];
  const moving = tip === head ? on === branch || on === from.branch : tip === base && on === branch;
  if (!from.clean || !moving || (at !== from.commit && at !== head)) return undefined;
  if ((await commitAt(head)) === undefined) return undefined;
  const dirty = await dirtyPaths(git, true);
  if (dirty.length === 0) return undefined;
  const foreign = await foreignChanges(git, landing, dirty);
  if (foreign.length > 0)
    return {
      problem: `run ${landing.run_id} was interrupted while it switched ${repo} to "${branch}", and other changes were made there since: ${foreign.slice(0, 5).join(', ')}`,
      fix: 'save your changes (git stash -u), then run the same command again',
    };
  const message = ['-m', 'factory order run'];
  if (tip !== head) await git.text(['update-ref', ...message, `refs/heads/${branch}`, head, base]);
  if (on !== branch) await git.text(['symbolic-ref', ...message, 'HEAD', `refs/heads/${branch}`]);
  await git.text(['-c', 'submodule.recurse=false', 'reset', '--quiet', '--hard', head], { apart: true });
  return undefined;
}

/** Removes the lock files that the interrupted git has left; refuses while they may belong to another one. */
async function removeLocks(git: Git, landing: Landing, gitDir: string): Promise<Refused | undefined> {
  const names = ['index.lock', 'HEAD.lock', 'ORIG_HEAD.lock', `refs/heads/${landing.branch}.lock`];
  const paths = await git.text(['rev-parse', ...names.flatMap((name) => ['--git-path', name])]);
  for (const path of paths.split('\n').map((line) => resolve(landing.repo, line))) {
    const lock = await stat(path).catch(() => undefined);
    if (lock === undefined || lock.mtimeMs < Math.floor(Date.parse(landing.began_at) / 1000) * 1000) continue;
    const other = atWorkIn([landing.repo, gitDir], 'git');
    // Only Linux shows the processes that work in a directory.
    if (other !== undefined || process.platform !== 'linux')
      return {
        problem: `run ${landing.run_id} was interrupted while it moved "${landing.branch}", and ${path} exists: ${
          other === undefined ? 'another git may be running' : `git is running there (process ${other})`
        }`,
        fix: `wait until it ends${other === undefined ? ', or remove that file if none is running' : ''}, then run the same command again`,
      };
    beforeWrite(lockDirectory(gitDir));
    removeNow(path);
  }
  return undefined;
}

/** Paths whose content is neither that before the move nor that after it, nor an incomplete copy of the latter. */
async function foreignChanges(git: Git, landing: Landing, dirty: readonly string[]): Promise<string[]> {
  const { repo, from, head } = landing;
  const how = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev'];
  const lines = await git.list(['diff-tree', ...how, from.commit, head]);
  const moved = new Map<string, readonly string[]>();
  // `:100644 100644 <old> <new> M` and the path, alternating.
  for (let at = 0; at + 1 < lines.length; at += 2)
    moved.set(lines[at + 1] ?? '', (lines[at] ?? '').split(' ').slice(2, 4));
  const foreign: string[] = [];
  for (const path of new Set([...dirty, ...moved.keys()])) {
    const blobs = moved.get(path);
    // A name that is not UTF-8 cannot be looked at by its text.
    const known = blobs !== undefined && !path.includes('\uFFFD');
    if (!known || !(await isOfMove(git, repo, path, head, blobs))) foreign.push(path);
  }
  return foreign;
}

async function isOfMove(
  git: Git,
  repo: string,
  path: string,
  head: string,
  blobs: readonly string[],
): Promise<boolean> {
  const file = join(repo, path);
  const found = await lstat(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (found === undefined) return true;
  if (found.isSymbolicLink())
    return blobs.includes(
      await git.text(['hash-object', '--stdin'], { input: await readlink(file, 'buffer') }),
    );
  // The files in a directory that replaces a file have separate entries.
  if (found.isDirectory()) return /^0+$/.test(blobs[1] ?? '');
  if (!found.isFile()) return false;
  if (blobs.includes(await git.text(['hash-object', '--', path]))) return true;
  const whole = await git.run(['cat-file', '--filters', `${head}:${path}`]);
  const part = await readFile(file);
  return whole.ok && whole.stdout.subarray(0, part.length).equals(part);
}
