/** What the audit reads of the commits of a run, and what their nodes and orders may write. */
import { existsSync } from 'node:fs';
import { type Graph, nodeOf } from '../../core/graph.ts';
import { notesOf } from '../../core/orders/notes.ts';
import { inScope } from '../../core/policy/paths.ts';
import { baseRef, headRef, layout } from '../../core/records/layout.ts';
import { assertPlainHistory } from '../../git/guard.ts';
import { historyGit, readHistoryStart } from '../../git/history.ts';
import { fromBytes } from '../../platform/files/names.ts';
import { type Git, GitError } from '../../platform/git.ts';
import { loadOrders } from '../../run/orders.ts';

/** The commits of a run, from its history: messages and changes. */
export type AuditedCommit = {
  readonly id: string;
  readonly message: string;
  readonly changes: readonly CommitChange[];
};

/** Contents; undefined if the file did not exist, or is not a file. */
export type CommitChange = {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
};

/** The blobs of a commit with more changed files are not read: they are data. */
const mostChanges = 5000;

/** The commits after the base of the orders, oldest first. Rejects with a GitError if git is missing or the history is
 *  damaged. */
export async function* auditedCommits(
  runDir: string,
  env: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<AuditedCommit> {
  const { history } = layout(runDir);
  if (!existsSync(history)) return;
  assertPlainHistory(history);
  const git = historyGit(history, env);
  const head = await git.run(['rev-parse', '--verify', '--quiet', headRef]);
  if (!head.ok) {
    if (head.missing) await git.text(['--version']);
    return;
  }
  const begin = (await firstOf(history)) ?? baseRef;
  const began = await git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${begin}^{commit}`]);
  const range = began.ok ? [`${began.text}..${headRef}`] : [headRef];
  const format = '--format=%H%n%an <%ae>%n%B';
  const entries = await git.list(['log', '--reverse', '-z', '--no-show-signature', format, ...range]);
  const messages = entries.map((entry) => {
    const end = entry.indexOf('\n');
    return { id: entry.slice(0, end), message: entry.slice(end + 1).replace(/\n$/, '') };
  });
  const changed = await changedIn(git, messages);
  const names = [...changed.values()].flat().flatMap(({ before, after }) => [before, after]);
  const blobs = await blobsOf(git, new Set(names));
  for (const { id, message } of messages) {
    const changes = (changed.get(id) ?? []).map(({ path, before, after }) => ({
      ...{ path, before: blobs.get(before), after: blobs.get(after) },
    }));
    yield { id, message, changes };
  }
}

/** The base of the orders: uncommitted files of the workdir, including sealed ones, are not work of the run. */
const firstOf = async (history: string): Promise<string | null | undefined> =>
  (await readHistoryStart(history).catch(() => undefined))?.first_commit;

/** A changed path with its blobs before and after; empty for none. */
type ChangedPath = { readonly path: string; readonly before: string; readonly after: string };

async function changedIn(
  git: Git,
  commits: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, readonly ChangedPath[]>> {
  const found = new Map<string, ChangedPath[]>();
  if (commits.length === 0) return found;
  const input = commits.map(({ id }) => `${id}\n`).join('');
  const read = await git.run(['diff-tree', '--stdin', '--root', '-r', '-z', '--no-renames'], { input });
  if (!read.ok) throw new GitError(read.why, read.missing);
  let changes: ChangedPath[] = [];
  const parts = split(read.stdout);
  for (let at = 0; at < parts.length; at++) {
    const part = (parts[at] ?? Buffer.alloc(0)).toString('latin1');
    if (!part.startsWith(':')) {
      changes = [];
      found.set(part, changes);
      continue;
    }
    const path = fromBytes(parts[++at] ?? Buffer.alloc(0));
    const [fromMode = '', toMode = '', from = '', to = ''] = part.slice(1).split(' ');
    if (changes.length < mostChanges)
      changes.push({ path, before: isBlob(fromMode) ? from : '', after: isBlob(toMode) ? to : '' });
  }
  return found;
}

/** Files and links, no submodules. */
const isBlob = (mode: string): boolean => /^1[02]/.test(mode);

/** The contents of blobs, by id, read by one process. */
async function blobsOf(git: Git, ids: Set<string>): Promise<ReadonlyMap<string, Buffer>> {
  ids.delete('');
  const blobs = new Map<string, Buffer>();
  if (ids.size === 0) return blobs;
  const read = await git.run(['cat-file', '--batch'], { input: [...ids].map((id) => `${id}\n`).join('') });
  if (!read.ok) throw new GitError(read.why, read.missing);
  const { stdout } = read;
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf('\n', at);
    const [id = '', type, size] = stdout.toString('latin1', at, end).split(' ');
    if (type !== 'blob') throw new GitError(`the object ${id} is damaged or missing`, false);
    const next = end + 1 + Number(size);
    blobs.set(id, stdout.subarray(end + 1, next));
    at = next + 1;
  }
  return blobs;
}

/** The parts of a text, each ended by a zero byte. */
const split = (bytes: Buffer): Buffer[] =>
  bytes
    .toString('latin1')
    .split('\0')
    .slice(0, -1)
    .map((part) => Buffer.from(part, 'latin1'));

/** The requested changes: files named by work orders and nodes. */
export type WriteScope = { named(path: string): boolean; readonly mayChange: boolean };

const nothing: WriteScope = { named: () => false, mayChange: false };

/** Files named by the node's `allowed_write_paths`; an entry for the whole workspace names none. */
export function scopeOfNode(graph: Graph | undefined, id: string): WriteScope {
  const node = nodeOf(graph, id);
  if (node === undefined) return nothing;
  const { allowed_write_paths: allowed = [] } = node.settings;
  const entries = allowed.filter((entry) => /[^./]/.test(entry));
  return { named: (path) => inScope(path, entries), mayChange: false };
}

/** The scope of a commit's work order. An order counts only if its text is the one that the commit names; without one, no
 *  file is named. */
export async function scopesOfOrders(workspace: string): Promise<(message: string) => WriteScope> {
  const loaded = await loadOrders(workspace, { allowExempt: true });
  const orders = new Map('orders' in loaded ? loaded.orders.map((one) => [one.digest, one.order]) : []);
  return (message) => {
    const order = orders.get(/^Work-Order-Digest: (\w+)$/m.exec(message)?.[1] ?? '');
    if (order === undefined) return nothing;
    return {
      named: (path) => order.allowed_files.includes(path),
      mayChange: notesOf(order).mayChangeChecks,
    };
  };
}
