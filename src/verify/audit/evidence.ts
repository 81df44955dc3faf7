/** What the audit reads of the records and artifacts of a run. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAgentType } from '../../core/graph.ts';
import type { CheckCommand } from '../../core/policy/check-words.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import { layout, nodeLayout, reservedNodeIds } from '../../core/records/layout.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { isOwnStepText } from '../../core/setup.ts';
import { isFolder, namesIn, readPlainBytes } from '../../platform/files/read.ts';
import { DamagedStore } from '../../platform/files/workspace-error.ts';
import { bodiesIn, bodiesOf } from '../../run/exchanges.ts';
import { contentIn, diff } from '../../workspace/diff.ts';
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
export function* recorded(
  runDir: string,
  exchanges: readonly Exchange[],
  damaged: (why: string) => void,
): Generator<AuditEvidence> {
  const at = layout('');
  const read = bodiesIn(runDir);
  for (const exchange of exchanges) {
    const { node, visit, seq } = exchange;
    const line = `${at.journal}:${seq}`;
    for (const body of bodiesOf(exchange)) {
      const where = typeof body === 'string' ? line : `${at.contents}/${body.sha256.slice(0, 12)}…`;
      try {
        yield { node, visit, where, text: Buffer.from(read(body)) };
      } catch (error) {
        if (!(error instanceof DamagedStore)) throw error;
        damaged(error.message);
      }
    }
    // The command line of a program, and the attributes it comes from.
    const acts = JSON.stringify([exchange.actions, exchange.artifacts.map(({ name }) => name)]);
    yield { node, visit, where: line, text: Buffer.from(acts) };
  }
}

/** What agents kept of their conversations. */
export function* conversations(
  runDir: string,
  records: readonly RunRecord[],
  damaged: (why: string) => void,
): Generator<AuditEvidence> {
  const read = bodiesIn(runDir);
  for (const record of records) {
    if (record.type !== 'Visit' || record.thread === undefined) continue;
    const { node, visit, thread } = record;
    try {
      const text = Buffer.from(read(thread.session));
      yield { node, visit, where: `the conversation "${thread.key}"`, text };
    } catch (error) {
      if (!(error instanceof DamagedStore)) throw error;
      damaged(error.message);
    }
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
    const texts = { updates: outcome.updates, notes: outcome.notes, reason: reasonIn(outcome) };
    yield {
      node: record.node,
      visit: record.visit,
      where: 'journal.jsonl',
      text: Buffer.from(JSON.stringify(texts)),
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
  /** A step of our own pipelines, whose changes are those of a work order: its commits have them. */
  readonly isOwn: boolean;
  readonly before: string;
  readonly after: string;
  /** The end of a finished execution. */
  readonly at?: string;
  readonly commands: readonly CheckCommand[];
};

/** All executions in order, then attempts with other changes, including those of interrupted executions. */
export function workOf(records: readonly RunRecord[], exchanges: readonly Exchange[]): Work[] {
  const visits = records.flatMap((record): Work[] => {
    if (record.type !== 'Visit') return [];
    const { node, visit, before, after, at } = record;
    const by = isAgentType(record.node_type) ? 'agent' : 'tool';
    const commands = commandsOf(record);
    const isOwn = commands.length > 0 && commands.every(isFactory);
    const work: Work = { node, visit, by, isVisit: true, isOwn, before, after, at, commands };
    const { setup } = record;
    if (setup === undefined) return [work];
    const ran = setup.commands.map(({ argv }) => typedCommand(argv));
    return [{ ...work, by: 'tool', isOwn: false, before: setup.before, after: before, commands: ran }, work];
  });
  const attempts = exchanges.flatMap(({ node, visit, files }): Work[] =>
    files === null
      ? []
      : [{ node, visit, by: 'agent', isVisit: false, isOwn: false, ...files, commands: [] }],
  );
  const all = new Map<string, Work>();
  for (const work of [...visits, ...attempts]) {
    const key = `${work.node}@${work.visit} ${work.before} ${work.after}`;
    if (work.before !== work.after && !all.has(key)) all.set(key, work);
  }
  return [...all.values()];
}

/** The commands of a tool or verification. */
export const commandsOf = (record: RunRecord): CheckCommand[] =>
  record.type === 'Visit' && !isAgentType(record.node_type)
    ? (record.commands ?? []).map(({ argv }) => typedCommand(argv))
    : [];

const typedCommand = (argv: readonly string[]): CheckCommand =>
  argv[0] === 'sh' && argv[1] === '-c' && argv.length === 3 ? (argv[2] ?? '') : argv;

const isFactory = (command: CheckCommand): boolean => typeof command === 'string' && isOwnStepText(command);

export type Changed = {
  readonly path: string;
  readonly hash: string | undefined;
  /** As `contentIn`. */
  readonly is: string | undefined;
  readonly mtimeMs: number | undefined;
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
        is: contentIn(is, path),
        mtimeMs: is.tree.get(path)?.mtimeMs,
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
