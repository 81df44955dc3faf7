/** Changes of executions in the workspace, with the contents before and after. */
import type { Exchange } from '../model/exchange.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { diff } from '../workspace/changes.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { DamagedStore } from '../workspace/trouble.ts';

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
