/** What visits changed in the workspace, with the contents before and after. */
import type { Exchange } from '../model/exchange.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { diff } from '../workspace/changes.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { DamagedStore } from '../workspace/trouble.ts';

/** Bytes of a file that are held to be looked through; of a larger one what is no hole, up to so many. */
const most = 256 * 1024 * 1024;

export type Work = {
  readonly node: string;
  readonly visit: number;
  readonly byAgent: boolean;
  readonly before: string;
  readonly after: string;
};

/** Of each visit that was carried to its end, and of each attempt of an agent, also where the run ended at it. */
export function workOf(records: readonly RunRecord[], exchanges: readonly Exchange[]): Work[] {
  const work: Work[] = [];
  const attempts = exchanges.flatMap(({ node, visit, files }) =>
    files === null ? [] : [{ node, visit, byAgent: true, before: files.before, after: files.after }],
  );
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    const { node, visit, before, after } = record;
    const byAgent = record.node_type === 'codergen';
    work.push(...attempts.filter((one) => one.node === node && one.visit === visit));
    if (before !== after) work.push({ node, visit, byAgent, before, after });
  }
  const done = new Set(records.flatMap((one) => (one.type === 'Visit' ? [`${one.node}@${one.visit}`] : [])));
  work.push(...attempts.filter(({ node, visit }) => !done.has(`${node}@${visit}`)));
  const seen = new Set<string>();
  return work.filter(({ node, visit, before, after }) => {
    const key = `${node}@${visit} ${before} ${after}`;
    if (before === after || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

export type Changed = {
  readonly path: string;
  readonly hash: string | undefined;
  /** Contents; undefined where there was no file. A link's is what it points at. */
  before(): Promise<Buffer | undefined>;
  after(): Promise<Buffer | undefined>;
};

/** Each file and link of a work, deleted ones too; `damaged` is told what cannot be read. */
export async function changedBy(
  { before, after }: Work,
  snapshots: Snapshots,
  damaged: (why: string) => void,
): Promise<Iterable<Changed>> {
  let was: Snapshot;
  let is: Snapshot;
  try {
    was = await snapshots.load(before);
    is = await snapshots.load(after);
  } catch (error) {
    if (!(error instanceof DamagedStore)) throw error;
    damaged(error.message);
    return [];
  }
  const { created, modified, deleted } = diff(was, is);
  const content = async (tree: Snapshot, path: string): Promise<Buffer | undefined> => {
    const entry = tree.tree.get(path);
    if (entry?.target !== undefined) return Buffer.from(entry.target);
    if (entry?.hash === undefined) return undefined;
    if ((entry.size ?? 0) <= most) return snapshots.read(entry.hash);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of snapshots.pieces(entry.hash)) {
      if (bytes + piece.length > most) {
        damaged(`of ${path} no more than ${most} bytes were looked at`);
        break;
      }
      bytes += piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  };
  // One by one, since there may be many.
  return (function* () {
    for (const paths of [created, modified, deleted])
      for (const path of paths)
        yield {
          path,
          hash: is.tree.get(path)?.hash,
          before: () => content(was, path),
          after: () => content(is, path),
        };
  })();
}
