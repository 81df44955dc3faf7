/** The texts that agents of a run read and wrote, from the run directory. Read-only. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Graph } from '../../core/graph.ts';
import { inScope } from '../../core/policy/paths.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import {
  baseRef,
  exchangesLayout,
  headRef,
  layout,
  nodeLayout,
  reservedNodeIds,
} from '../../core/records/layout.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { assertPlainHistory } from '../../git/guard.ts';
import { historyGit, readHistoryStart } from '../../git/history.ts';
import { fromBytes } from '../../platform/files/names.ts';
import { isFolder, namesIn, readPlainBytes } from '../../platform/files/read.ts';
import { type Git, GitError } from '../../platform/git.ts';
import { bodiesOf, DamagedExchange, readBody, readExchanges } from '../../store/exchanges.ts';
import { loadOrders } from '../../store/orders.ts';
import { diff } from '../../workspace/diff.ts';
import { DamagedStore } from '../../workspace/errors.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';

export type AuditEvidence = {
  readonly node: string;
  readonly visit: number;
  /** Relative to the run directory. */
  readonly where: string;
  readonly text: Buffer;
};

/** Files of the engine in a node's folder, whose content is not an agent's or is stored elsewhere too. */
const own = new Set(['stage.json', 'context.json', 'workspace.diff.json', 'status.json', 'budget.json']);

/** The most bytes that are read of one artifact. */
const largest = 256 * 1024 * 1024;

/** Prompts, answers and transcripts in the folders of the nodes accepted by `isAgent`, by execution. */
export async function* artifacts(
  runDir: string,
  isAgent: (node: string) => boolean,
): AsyncGenerator<AuditEvidence> {
  for (const node of foldersIn(runDir)) {
    if (reservedNodeIds.includes(node) || node.startsWith('.') || !isAgent(node)) continue;
    const dir = layout(runDir).node(node);
    const { visits, stage } = nodeLayout(dir);
    const earlier = foldersIn(visits);
    for (const nth of earlier) yield* inFolder(join(visits, nth), `${node}/visits/${nth}`, node, Number(nth));
    const visit = await visitOf(stage);
    if (visit !== undefined) yield* inFolder(dir, node, node, visit);
  }
}

async function visitOf(stage: string): Promise<number | undefined> {
  const text = await readIfThere(stage);
  const visit = /"visit":\s*(\d+)/.exec(text?.toString('utf8') ?? '')?.[1];
  return visit === undefined ? undefined : Number(visit);
}

async function* inFolder(
  dir: string,
  shown: string,
  node: string,
  visit: number,
): AsyncGenerator<AuditEvidence> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (!entry.isFile() || own.has(entry.name)) continue;
    const text = await readIfThere(join(dir, entry.name));
    if (text === undefined) continue;
    yield { node, visit, where: `${shown}/${entry.name}`, text };
  }
}

/** The recorded texts of each agent call: prompt, requests, stream, answer, artifacts. `damaged` is called with a
 *  sentence for unreadable ones. */
export async function* recorded(
  runDir: string,
  damaged: (why: string) => void,
): AsyncGenerator<AuditEvidence | Exchange> {
  const dir = layout(runDir).exchanges;
  const read = await readExchanges(dir);
  if (!read.ok) {
    if (!read.missing) damaged(read.why);
    return;
  }
  const shown = basename(dir);
  const file = basename(exchangesLayout(dir).calls);
  for (const [index, { exchange }] of read.exchanges.entries()) {
    yield exchange;
    for (const body of bodiesOf(exchange)) {
      const where =
        typeof body === 'string'
          ? `${shown}/${file}:${index + 1}`
          : `${shown}/bodies/${body.sha256.slice(0, 12)}…`;
      try {
        const text = Buffer.from(await readBody(dir, body));
        yield { node: exchange.node, visit: exchange.visit, where, text };
      } catch (error) {
        if (!(error instanceof DamagedExchange)) throw error;
        damaged(error.message);
      }
    }
    // The command line of a program, and the attributes it comes from.
    const acts = JSON.stringify([exchange.actions, exchange.artifacts.map(({ name }) => name)]);
    yield {
      node: exchange.node,
      visit: exchange.visit,
      where: `${shown}/${file}:${index + 1}`,
      text: Buffer.from(acts),
    };
  }
}

/** Context updates of agents, and failure reasons of their nodes. */
export function* updates(
  records: readonly RunRecord[],
  isAgent: (node: string) => boolean,
): Generator<AuditEvidence> {
  for (const record of records) {
    if (record.type !== 'Visit' || !isAgent(record.node)) continue;
    const { outcome } = record;
    const said = { updates: outcome.updates, notes: outcome.notes, reason: reasonIn(outcome) };
    yield {
      node: record.node,
      visit: record.visit,
      where: 'journal.jsonl',
      text: Buffer.from(JSON.stringify(said)),
    };
  }
}

const reasonIn = (outcome: object): unknown => ('reason' in outcome ? outcome.reason : '');

/** The names of the folders in `dir`, sorted. */
const foldersIn = (dir: string): string[] =>
  namesIn(dir)
    .filter((name) => isFolder(join(dir, name)))
    .sort();

const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  const read = readPlainBytes(path, largest, 'cut');
  return read.kind === 'text' ? read.text : undefined;
};

/* Changes of executions in the workspace, with the contents before and after. */

/** The most bytes that are read of a file, not counting holes. */
const most = 256 * 1024 * 1024;

/** Snapshots around a finished execution, or around one attempt of an agent. */
export type Work = {
  readonly node: string;
  readonly visit: number;
  readonly by: 'agent' | 'tool';
  /** False for an attempt, whose changes guardrails may have undone. */
  readonly isVisit: boolean;
  readonly before: string;
  readonly after: string;
};

/** All executions in order, then attempts with other changes, including those of interrupted executions. */
export function workOf(records: readonly RunRecord[], exchanges: readonly Exchange[]): Work[] {
  const visits = records.flatMap((record): Work[] => {
    if (record.type !== 'Visit') return [];
    const { node, visit, before, after } = record;
    return [
      { node, visit, by: record.node_type === 'codergen' ? 'agent' : 'tool', isVisit: true, before, after },
    ];
  });
  const attempts = exchanges.flatMap(({ node, visit, files }): Work[] =>
    files === null
      ? []
      : [{ node, visit, by: 'agent', isVisit: false, before: files.before, after: files.after }],
  );
  const all = new Map<string, Work>();
  for (const work of [...visits, ...attempts]) {
    const key = `${work.node}@${work.visit} ${work.before} ${work.after}`;
    if (work.before !== work.after && !all.has(key)) all.set(key, work);
  }
  return [...all.values()];
}

export type Changed = {
  readonly path: string;
  readonly hash: string | undefined;
  /** Contents; undefined if there was no file. The content of a link is its target. */
  before(): Promise<Buffer | undefined>;
  after(): Promise<Buffer | undefined>;
};

/** Each changed file and link, including deleted ones; `damaged` is called with a sentence for unreadable ones. */
export async function* changedBy(
  { before, after }: Work,
  snapshots: Snapshots,
  damaged: (why: string) => void,
): AsyncGenerator<Changed> {
  let was: Snapshot;
  let is: Snapshot;
  try {
    was = await snapshots.load(before);
    is = await snapshots.load(after);
  } catch (error) {
    if (!(error instanceof DamagedStore)) throw error;
    damaged(error.message);
    return;
  }
  const content = (snapshot: Snapshot, path: string) => contentOf(snapshot, path, snapshots, damaged);
  const { created, modified, deleted } = diff(was, is);
  for (const paths of [created, modified, deleted])
    for (const path of paths)
      yield {
        path,
        hash: is.tree.get(path)?.hash,
        before: () => content(was, path),
        after: () => content(is, path),
      };
}

async function contentOf(
  { tree }: Snapshot,
  path: string,
  snapshots: Snapshots,
  damaged: (why: string) => void,
): Promise<Buffer | undefined> {
  const entry = tree.get(path);
  if (entry?.target !== undefined) return Buffer.from(entry.target);
  if (entry?.hash === undefined) return undefined;
  if ((entry.size ?? 0) <= most) return snapshots.read(entry.hash);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of snapshots.pieces(entry.hash)) {
    if (bytes + piece.length > most) {
      damaged(`only the first ${most} bytes of ${path} were read`);
      break;
    }
    bytes += piece.length;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

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
  const node = graph?.nodes.get(id);
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
      mayChange: /^\s*may_change_checks\s*$/m.test(order.notes ?? ''),
    };
  };
}
