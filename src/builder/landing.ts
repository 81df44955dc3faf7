/** A landing that was cut: what stands in the repository's git folder while a branch and the working tree are moved, and
 *  how whoever works on the repository next brings the move to its end. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../system/clock.ts';
import { beforeWrite, mayWrite } from '../system/fence.ts';
import { isMissing, removeNow, syncFolder, writeJson } from '../system/files.ts';
import { type Environment, type Git, GitError, sourceGit } from '../system/git.ts';
import { atWorkIn } from '../system/proc.ts';
import { isFolder } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { sweep } from '../system/sweep.ts';
import { tablesLock } from './deliver.ts';
import { readRecord } from './record.ts';
import { branchInUse, dirtyPaths, type Refused } from './repository.ts';

export const Landing = z.object({
  version: z.literal(1),
  run_id: z.string(),
  run_dir: z.string(),
  digest: z.string().describe('Of the work order that the commits carry out'),
  repo: z.string(),
  branch: z.string(),
  existed: z.boolean(),
  base: z.string(),
  head: z.string(),
  from: z
    .object({ branch: z.string(), commit: z.string() })
    .describe('Where the working tree stood; the branch is empty for a detached HEAD'),
  marker: z.string().describe('`NAME=value` in the environment of every git that moves something'),
  began_at: z.string(),
});
export type Landing = z.infer<typeof Landing>;

/** Where the repository's lock and the note of a landing lie. */
export const heldBy = (gitDir: string): string => join(gitDir, 'factory');
const journal = (gitDir: string): string => join(heldBy(gitDir), 'landing.json');

/** Notes, on disk before anything moves, what is about to be moved. `gitDir` is shared by all working trees. */
export async function beginLanding(gitDir: string, landing: Landing): Promise<void> {
  await writeJson(journal(gitDir), landing, { sync: true, syncFolder: true });
  // The first run on a repository has made the folder of the note.
  await syncFolder(gitDir);
}

/** `moved`: the folders that the move has written to. Git flushes no file of a working tree: until all is on the disk, a
 *  power cut leaves empty ones, and the note is what they are mended by. */
export async function endLanding(gitDir: string, moved: readonly string[] = []): Promise<void> {
  if (moved.length > 0) await settleTree(moved);
  removeNow(journal(gitDir));
  // A name that comes back may lead to what was written since.
  await syncFolder(heldBy(gitDir));
}

/** The landing that was begun and has not ended; undefined when there is none. */
export async function cutLanding(gitDir: string): Promise<Landing | undefined> {
  try {
    return await readRecord(journal(gitDir), Landing);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** `before`: nothing had moved, or nothing but the branch. `landed`: all has, by now at least. `left`: somebody has gone on
 *  from there by hand, and nothing was touched. */
export type Mended = 'before' | 'landed' | 'left';

/** Ends what the dead landing left running, takes away its lock files and finishes the move, if it had begun. Only paths
 *  that the move changes are touched, and of these only such as stand at the old or the new content, or at a part of the
 *  new. The caller holds the repository's lock. */
export async function mendLanding(
  landing: Landing,
  gitDir: string,
  doors: { readonly env: Environment; readonly clock: Clock },
): Promise<Mended | Refused> {
  const { repo, branch, base, head, from } = landing;
  const held = heldBy(gitDir);
  await sweep(landing.marker, [], () => mayWrite(held));
  if (!isFolder(repo)) return 'left';
  const git = sourceGit(repo, doors.env, held);
  if (!(await git.run(['cat-file', '-e', `${head}^{commit}`])).ok) return 'before';
  const locked = await removeLocks(git, landing, held, doors.clock);
  if (locked !== undefined) return locked;
  const ref = `refs/heads/${branch}`;
  const tip = await git.run(['rev-parse', '--verify', '--quiet', ref]);
  const on = await branchInUse(git);
  const moved = tip.ok && tip.text === head;
  const unmoved = landing.existed ? tip.ok && tip.text === base : !tip.ok;
  if ((!moved && !unmoved) || (on !== branch && on !== from.branch)) return 'left';
  const dirty = await dirtyPaths(git, true);
  if (dirty.length === 0 && unmoved) return 'before';
  if (dirty.length === 0 && on === branch) return 'landed';
  const at = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD']);
  // The index and the files are then of a commit that the switch did not begin with.
  if (on !== branch && at.ok && at.text !== from.commit) return dirty.length === 0 ? 'before' : 'left';

  const changes = await changesOf(git, from.commit, head);
  const changed = new Set(changes.map(({ path }) => path));
  // A tree that had changes of its own was not to be switched.
  if (from.branch !== branch && dirty.some((path) => !changed.has(path))) return 'left';
  const strange = await strangers(git, repo, changes, head);
  if (strange.length > 0 && !dirty.some((path) => changed.has(path) && !strange.includes(path)))
    return 'left';
  if (strange.length > 0) {
    return {
      problem: `the run ${landing.run_id} was cut while it switched ${repo} to "${branch}", and ${strange.slice(0, 5).join(', ')} changed since`,
      fix: `save what you need, then: git reset --hard ${moved && on === branch ? head : from.commit}`,
    };
  }
  const call = { env: markedBy(landing.marker), apart: true };
  const gone = changes.filter(({ deleted }) => deleted);
  const here = changes.filter(({ deleted }) => !deleted);
  const only = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  const paths = (list: readonly Change[]) => ({ ...call, input: lines(list, '\0') });
  const folders = foldersOf(changes);
  // A folder may stand there by now, or the checkout of what is in it makes one.
  const files = gone.filter(({ path }) => !folders.has(path));
  if (files.length > 0)
    await git.text(
      ['--literal-pathspecs', 'rm', '-q', '-f', '-r', '--ignore-unmatch', ...only],
      paths(files),
    );
  if (gone.length > 0) {
    // What a sparse checkout leaves out stays in the index else.
    await git.text(['update-index', '--force-remove', '-z', '--stdin'], paths(gone));
  }
  if (here.length > 0)
    await git.text(['--literal-pathspecs', 'checkout', '-q', '-f', head, ...only], paths(here));
  const old = landing.existed ? base : '0'.repeat(head.length);
  if (!moved) await git.text(['update-ref', '-m', 'factory order run', ref, head, old], call);
  if (on !== branch) await git.text(['symbolic-ref', '-m', 'factory order run', 'HEAD', ref], call);
  return 'landed';
}

/** Adds the marker by which a git that outlives its run is found. */
export function markedBy(marker: string): Readonly<Record<string, string>> {
  const at = marker.indexOf('=');
  return { [marker.slice(0, at)]: marker.slice(at + 1) };
}

type Change = {
  readonly path: string;
  /** As git spells it: not all names are UTF-8. */
  readonly bytes: Buffer;
  readonly deleted: boolean;
  readonly blobs: readonly [before: string, after: string];
};

async function changesOf(git: Git, from: string, to: string): Promise<Change[]> {
  const how = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev'];
  const told = await git.run(['diff-tree', ...how, from, to]);
  if (!told.ok) throw new GitError(`git diff-tree: ${told.why}`, told.missing);
  const raw = told.stdout.toString('latin1').split('\0');
  const changes: Change[] = [];
  // `:100644 100644 <old> <new> M` and the path, alternating.
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [, , before = '', after = '', word = ''] = (raw[at] ?? '').split(' ');
    const bytes = Buffer.from(raw[at + 1] ?? '', 'latin1');
    changes.push({ path: bytes.toString(), bytes, deleted: word === 'D', blobs: [before, after] });
  }
  return changes;
}

/** All folders that changed paths lie in. */
function foldersOf(changes: readonly Change[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { path } of changes)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      found.add(path.slice(0, at));
  return found;
}

const lines = (changes: readonly Change[], end: string): Buffer =>
  Buffer.concat(changes.flatMap(({ bytes }) => [bytes, Buffer.from(end)]));

const placeOf = (repo: string, { bytes }: Change): Buffer => Buffer.concat([Buffer.from(`${repo}/`), bytes]);

/** Of the changed paths those where something stands that cannot come from the move: it makes the old content, the new, a
 *  part of it, or nothing. */
async function strangers(
  git: Git,
  repo: string,
  changes: readonly Change[],
  head: string,
): Promise<string[]> {
  const strange: string[] = [];
  const files: Change[] = [];
  for (const change of changes) {
    const place = placeOf(repo, change);
    const found = await lstat(place).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found?.isFile() === true) files.push(change);
    else if (found?.isSymbolicLink() === true) {
      const id = blobId(await readlink(place, 'buffer'), head.length);
      if (!change.blobs.includes(id)) strange.push(change.path);
    } else if (found !== undefined && !(found.isDirectory() && (await makesWay(repo, change, changes))))
      strange.push(change.path);
  }
  // Git itself hashes by path, so that line ends and filters count as they do for it; a name with a line end is last.
  const plain = files.filter(({ path }) => !/[\n"\\]/.test(path));
  const ids = await git.run(['hash-object', '--stdin-paths'], {
    input: lines(plain, '\n'),
  });
  const hashed = ids.ok ? ids.text.split('\n') : [];
  for (const change of files) {
    if (change.blobs.includes(hashed[plain.indexOf(change)] ?? '-')) continue;
    const isText = Buffer.from(change.path).equals(change.bytes);
    const id = isText ? await git.run(['hash-object', '--', change.path]) : undefined;
    if (id?.ok === true && change.blobs.includes(id.text)) continue;
    // No program can be given a name that is no UTF-8.
    const asked = isText ? ['--filters', `${head}:${change.path}`] : ['blob', change.blobs[1]];
    const whole = await git.run(['cat-file', ...asked]);
    const part = await readFile(placeOf(repo, change));
    const begun = whole.ok && whole.stdout.subarray(0, part.length).equals(part);
    if (!begun) strange.push(change.path);
  }
  return strange;
}

/** Whether a folder may stand where the move has a file, before it or after it: one that is to become a file goes with all
 *  that is in it. */
async function makesWay(
  repo: string,
  { path, deleted }: Change,
  changes: readonly Change[],
): Promise<boolean> {
  if (!foldersOf(changes).has(path)) return false;
  if (deleted) return true;
  const known = new Set(changes.map((change) => change.path));
  const there = await readdir(join(repo, path), { recursive: true, withFileTypes: true });
  return there.every((one) => one.isDirectory() || known.has(relative(repo, join(one.parentPath, one.name))));
}

/** The id that git gives a content, in a repository whose ids have that many digits. */
const blobId = (content: Buffer, digits: number): string =>
  createHash(digits === 64 ? 'sha256' : 'sha1')
    .update(`blob ${content.length}\0`)
    .update(content)
    .digest('hex');

/** Lock files of git that came into being since the landing began: whoever made them was swept away. */
async function removeLocks(
  git: Git,
  landing: Landing,
  held: string,
  clock: Clock,
): Promise<Refused | undefined> {
  const names = [
    'index.lock',
    'HEAD.lock',
    'ORIG_HEAD.lock',
    'packed-refs.lock',
    'config.lock',
    `refs/heads/${landing.branch}.lock`,
    tablesLock,
  ];
  const told = await git.text(['rev-parse', ...names.flatMap((name) => ['--git-path', name])]);
  const paths = told.split('\n').map((line) => resolve(landing.repo, line));
  // A linked working tree has tables of its own, beside those that all share.
  for (const path of new Set([...paths, join(dirname(held), tablesLock)])) {
    const since = await stat(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (since === undefined || since.mtimeMs < Math.floor(Date.parse(landing.began_at) / 1000) * 1000)
      continue;
    // Somebody else's git holds its locks for moments only, but for a commit whose message is just being written.
    await clock.sleep(500);
    const now = await stat(path).catch(() => undefined);
    if (now?.ino !== since.ino) continue;
    const other = atWorkIn([landing.repo, dirname(held)], 'git');
    if (other !== undefined) {
      return {
        problem: `the run ${landing.run_id} was cut while it landed, and ${path} may be the lock of the git that is at work there (process ${other})`,
        fix: 'let that git end, then do it again',
      };
    }
    beforeWrite(held);
    removeNow(path);
  }
  return undefined;
}
