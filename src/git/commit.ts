/** Makes commits without touching the workspace, its index or the user's branches: blobs, a tree, a commit, a ref. */
import type { Stats } from 'node:fs';
import { chmod, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Environment } from '../core/contracts/process.ts';
import { once } from '../core/once.ts';
import { branchRef, headRef, headText, historyLayout } from '../core/records/layout.ts';
import { readJsonRecord } from '../platform/files/json-record.ts';
import { lstatIfThere } from '../platform/files/read.ts';
import { flushFile } from '../platform/files/remove.ts';
import { isMissing, syncFolder, writeFileAtomic, writeJson } from '../platform/files/write.ts';
import { type Git, ignoreFactory, sourceGit } from '../platform/git.ts';
import { historyGit, readHistoryStart } from './history.ts';

export type CommitPlace = {
  readonly historyDir: string;
  readonly workspace: string;
  readonly env: Environment;
};

/** The tree of `parent` with `paths` taken from the workspace: bytes unchanged except for line ends that attributes name,
 *  the executable bit kept, links as links, deleted files removed. Ignored files are taken too; `.factory/` never is. */
export async function treeWith(
  options: CommitPlace & { readonly parent: string | null; readonly paths: readonly string[] },
): Promise<{ readonly tree: string } | { readonly problem: string }> {
  const { historyDir, workspace, parent, env } = options;
  const indexFile = historyLayout(historyDir).scratchIndex;
  // A fresh separate index: what a node has staged with git is not part of the order.
  for (const file of [indexFile, `${indexFile}.lock`]) await rm(file, { force: true });
  const git = historyGit(historyDir, env, { workTree: workspace, indexFile });
  // No commit of the run adds or removes a submodule.
  const { submodules: modules } = await readHistoryStart(historyDir);
  const inside = options.paths.find((path) =>
    modules.some((module) => path === module || path.startsWith(`${module}/`)),
  );
  if (inside !== undefined) return { problem: `${inside} lies in a submodule, which a commit cannot change` };

  if (parent !== null) await git.text(['read-tree', parent]);
  const files: string[] = [];
  const lines: string[] = [];
  for (const path of options.paths) {
    // On a case-insensitive file system a node may have spelled the folder otherwise.
    if (path.split('/')[0]?.toLowerCase() === '.factory') continue;
    const there = await statWithin(workspace, path);
    if (there?.isSymbolicLink() === true) {
      const target = await readlink(join(workspace, path), 'buffer');
      lines.push(`120000 ${await git.text(['hash-object', '-w', '--stdin'], { input: target })}\t${path}`);
    } else if (there?.isFile() === true) {
      files.push(path);
    } else {
      lines.push(`0 ${'0'.repeat(parent?.length ?? 40)}\t${path}`);
    }
  }
  const stdin = (entries: readonly string[]) => ({ input: entries.map((entry) => `${entry}\0`).join('') });
  if (lines.length > 0) await git.text(['update-index', '-z', '--index-info'], stdin(lines));
  // As `git add` does: git reads from the index which line ends to keep as committed.
  if (files.length > 0) await git.text(['update-index', '-z', '--add', '--replace', '--stdin'], stdin(files));
  const tree = await git.text(['write-tree']);
  await rm(indexFile, { force: true });
  return { tree };
}

/** The tree of a commit; that of an empty folder without one. */
export const treeOfCommit = (git: Git, commit: string | null): Promise<string> =>
  commit === null
    ? // Only hashed, not written: "mktree" ignores our settings for flushing.
      git.text(['hash-object', '-t', 'tree', '--stdin'], { input: '' })
    : git.text(['rev-parse', `${commit}^{tree}`]);

/** Paths of a commit that are submodules. */
export async function submodulesOf(git: Git, commit: string): Promise<string[]> {
  const listed = await git.list(['ls-tree', '-r', '-z', commit]);
  return listed
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1));
}

/** A commit object; no ref moves. */
export async function makeCommit(options: {
  readonly historyDir: string;
  readonly tree: string;
  readonly parent: string | null;
  readonly message: string;
  readonly author: Author;
  readonly date: Date;
  readonly env: Environment;
}): Promise<string> {
  const { author, date } = options;
  const parents = options.parent === null ? [] : ['-p', options.parent];
  return historyGit(options.historyDir, options.env).text(
    ['commit-tree', '--no-gpg-sign', ...parents, options.tree],
    {
      input: options.message,
      env: authorVariables(author, date),
    },
  );
}

/** Variables by which git takes a commit's author, who is its committer too, and its time. */
export function authorVariables({ name, email }: Author, date: Date): Readonly<Record<string, string>> {
  const at = `${Math.floor(date.getTime() / 1000)} +0000`;
  return {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: at },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: at },
  };
}

/** Commits `tree` for a work order on `parent` and moves the run's head to it. `commit` is null if the tree equals the
 *  parent's. Repeating it from the same parent replaces the commit, never adds one. */
export async function commitOrder(
  options: CommitPlace & {
    readonly parent: string | null;
    readonly tree: string;
    /** The parent's tree, where it is known. */
    readonly parentTree?: string | undefined;
    readonly order: { readonly id: string; readonly title: string };
    readonly digest: string;
    readonly runId: string;
    readonly author: Author;
    readonly date: Date;
  },
): Promise<{ readonly commit: string | null; readonly subject: string }> {
  const subject = commitSubject(options.order);
  const git = historyGit(options.historyDir, options.env);
  if (options.tree === (options.parentTree ?? (await treeOfCommit(git, options.parent)))) {
    // A killed attempt may have moved the head already; without a commit it has to move back.
    await moveHead(options, options.parent);
    return { commit: null, subject };
  }
  const trailers = `Factory-Run: ${options.runId}\nWork-Order: ${options.order.id}\nWork-Order-Digest: ${options.digest}\n`;
  const commit = await makeCommit({ ...options, message: `${subject}\n\n${trailers}` });
  await moveHead(options, commit);
  return { commit, subject };
}

/** `WO-NN: title` on one line. */
const commitSubject = (order: { readonly id: string; readonly title: string }): string =>
  `${order.id}: ${order.title}`.replace(/[\s\0]+/g, ' ').trim();

/** Moves the run's refs, HEAD and the index that nodes see to `commit`; null for a history without commits. */
export async function moveHead(
  { historyDir, workspace, env }: CommitPlace,
  commit: string | null,
): Promise<void> {
  const git = historyGit(historyDir, env, { workTree: workspace });
  // For commands of nodes that call git: HEAD on the run's branch and a matching index; their changes to both are undone.
  // Git does not flush HEAD, and without HEAD there is no repository.
  const file = join(historyDir, 'HEAD');
  if ((await readFile(file, 'utf8').catch(() => '')) !== headText)
    await writeFileAtomic(file, headText, { sync: true, syncFolder: true });
  await moveRefs(git, commit);
  await rm(join(historyDir, 'index.lock'), { force: true });
  await git.text(['read-tree', commit ?? '--empty']);
  await overlookSealed(historyDir, git);
  await flushNames(historyDir);
}

/** Flushes the folders of objects and refs, and the index: git flushes only objects and refs themselves. A checkpoint must
 *  not name anything that a power failure could lose. */
export async function flushNames(historyDir: string): Promise<void> {
  const { index } = historyLayout(historyDir);
  const now = performance.timeOrigin + performance.now();
  const since = (flushedAt.get(historyDir) ?? performance.timeOrigin) - slack;
  if (await isThere(index)) await flushFile(index);
  for (const folder of ['refs/factory', 'refs/heads', 'refs', '.']) {
    const path = join(historyDir, folder);
    if (await isThere(path)) await syncFolder(path);
  }
  const objects = join(historyDir, 'objects');
  for (const name of await readdir(objects)) {
    const path = join(objects, name);
    if ((await stat(path)).mtimeMs >= since) await syncFolder(path);
  }
  await syncFolder(objects);
  flushedAt.set(historyDir, now);
}

const isThere = async (path: string): Promise<boolean> => (await lstatIfThere(path)) !== undefined;

/** Times of the latest flush, by history: older folders were flushed then, or by the process that wrote them. */
const flushedAt = new Map<string, number>();
/** Milliseconds; file system clocks are coarse. */
const slack = 2000;

/** Moves both refs of the run at once; null deletes them. */
export async function moveRefs(git: Git, commit: string | null): Promise<void> {
  const line = (ref: string) => (commit === null ? `delete ${ref}\n` : `update ${ref} ${commit}\n`);
  await git.text(['update-ref', '--stdin'], { input: [headRef, branchRef].map(line).join('') });
}

/** Paths in a commit; empty without a commit. */
export async function pathsOf(
  historyDir: string,
  commit: string | null,
  env: Environment,
): Promise<Set<string>> {
  if (commit === null) return new Set();
  return new Set(await historyGit(historyDir, env).list(['ls-tree', '-r', '-z', '--name-only', commit]));
}

/** Writes single files of a tree into the workspace, as a checkout does, with the given permission bits. No link or file
 *  may be in place of one of their parent folders. */
export async function putFiles(
  where: CommitPlace,
  tree: string,
  files: readonly { readonly path: string; readonly mode: number }[],
): Promise<void> {
  const indexFile = historyLayout(where.historyDir).scratchIndex;
  for (const file of [indexFile, `${indexFile}.lock`]) await rm(file, { force: true });
  const git = historyGit(where.historyDir, where.env, { workTree: where.workspace, indexFile });
  await git.text(['read-tree', tree]);
  await git.text(['checkout-index', '--force', '--quiet', '-z', '--stdin'], {
    input: files.map(({ path }) => `${path}\0`).join(''),
  });
  for (const { path, mode } of files) await chmod(join(where.workspace, path), mode);
  await rm(indexFile, { force: true });
}

/** The file, folder or link at a path below `root`, as git sees it: undefined if a parent folder is a link. */
export async function statWithin(root: string, path: string): Promise<Stats | undefined> {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
    if ((await lstatIfThere(join(root, path.slice(0, at))))?.isSymbolicLink() === true) return undefined;
  return lstatIfThere(join(root, path));
}

/** The author of the run's commits. */
export type Author = { readonly name: string; readonly email: string };

/** Used if the source repository has no identity. Existing tools know builds of work orders by this name. */
export const fixedAuthor: Author = { name: 'llm-compiler', email: 'llm-compiler@noreply.local' };

/** The identity that git would use in `workdir` (environment, repository, user); without one, `fixedAuthor`. */
export async function authorOf(workdir: string, env: Environment): Promise<Author> {
  const git = sourceGit(workdir, env);
  const listed = await git
    .list(['config', '-z', '--get-regexp', '^(user|author)\\.(name|email)$'])
    .catch(() => []);
  // Each entry is a key, a newline and a value; the last value of a key counts.
  const settings = new Map(
    listed.map((entry) => [entry.split('\n', 1)[0], entry.slice(entry.indexOf('\n') + 1)]),
  );
  const first = (...words: readonly (string | undefined)[]): string =>
    words.map(clean).find((word) => word !== '') ?? '';
  const name = first(env['GIT_AUTHOR_NAME'], settings.get('author.name'), settings.get('user.name'));
  const email = first(env['GIT_AUTHOR_EMAIL'], settings.get('author.email'), settings.get('user.email'));
  return name === '' || email === '' ? fixedAuthor : { name, email };
}

/** The name as git would store it; empty if it has only dots, quotes and the like, which git rejects. */
function clean(word: string | undefined): string {
  const kept = (word ?? '').replace(/[<>\r\n\0]/g, '').trim();
  return /^[\x00-\x20.,:;"'\\]*$/.test(kept) ? '' : kept;
}

/** Keeps git from reporting sealed paths: they are removed from the workspace and restored, and no order commits them. */
const sealedPathsSchema = once(() =>
  z.object({
    version: z.literal(1),
    paths: z.array(z.string()),
    tracked: z
      .boolean()
      .exactOptional()
      .describe('False if the first commit has none of them, nor any later one'),
  }),
);

type SealedPaths = z.infer<ReturnType<typeof sealedPathsSchema>>;

/** Records the sealed paths of a new history and excludes them, so that git does not report new files there. */
export async function noteSealed(
  historyDir: string,
  paths: readonly string[],
  first: string | null,
): Promise<void> {
  if (paths.length === 0) return;
  const { sealed, exclude } = historyLayout(historyDir);
  const record = { version: 1, paths: [...paths] } as const;
  // A history without commits has none of them.
  await writeJson(sealed, first === null ? { ...record, tracked: false } : record);
  const literal = (path: string) => path.replace(/[\\*?[\]!# ]/g, '\\$&');
  await writeFileAtomic(exclude, ignoreFactory + paths.map((path) => `/${literal(path)}\n`).join(''));
}

/** The sealed paths of a history, if there are any. */
export const sealedPathsOf = (historyDir: string): Promise<SealedPaths | undefined> =>
  readJsonRecord(historyLayout(historyDir).sealed, sealedPathsSchema()).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/** Makes git treat tracked files at sealed paths as present and unchanged. `git` must use the index that commands of nodes
 *  see. */
export async function overlookSealed(historyDir: string, git: Git): Promise<void> {
  const sealed = await sealedPathsOf(historyDir);
  if (sealed === undefined || sealed.tracked === false) return;
  const tracked = await overlook(git, sealed.paths);
  if (sealed.tracked === undefined) await writeJson(historyLayout(historyDir).sealed, { ...sealed, tracked });
}

/** The same for `paths` of any index. Whether it has files at them. */
export async function overlook(git: Git, paths: readonly string[]): Promise<boolean> {
  const tracked = await git.list(['--literal-pathspecs', 'ls-files', '-z', '--', ...paths]);
  if (tracked.length > 0)
    await git.text(['update-index', '--skip-worktree', '-z', '--stdin'], {
      input: tracked.map((path) => `${path}\0`).join(''),
    });
  return tracked.length > 0;
}
