/** Merges what the branches of a fork have left in their workspaces, and keeps the sides of a conflict as artifacts. */
import { dirname, join } from 'node:path';
import type { Json, JsonObject } from '../core/json.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import { below, liesIn } from '../platform/files/names.ts';
import { removeTree } from '../platform/files/remove.ts';
import { isCode, makeFolder } from '../platform/files/write.ts';
import { maskFolder } from '../run/artifacts.ts';
import { mergeTrees, type TreeMerge } from '../workspace/merge.ts';
import { textMerger } from '../workspace/merge-text.ts';
import type { Entry, Snapshot, Tree } from '../workspace/snapshot.ts';
import type { LayerContext } from './layers/layer.ts';

type Joining = Pick<LayerContext, 'run' | 'node' | 'nodeDir' | 'before' | 'snapshots' | 'signal'>;

/** A tree that the join looks at; many large ones do not fit into memory at once. */
export type JoinSide = { readonly id: string; tree(): Promise<Tree> };

/** The trees of these branches merged with one another, and with what the workspace has become meanwhile. What the merged tree needs is
 *  in the store. Rejects with a `GitError` where git fails, and with what is wrong with the store. */
export async function mergeSides(
  { run, node, before, snapshots, signal }: Joining,
  base: Snapshot,
  sides: readonly JoinSide[],
): Promise<TreeMerge> {
  // No node can have a name that begins with a dot.
  const folder = join(layout(run.runDir).scratch, `.merge.${node.id}`);
  await removeTree(folder);
  makeFolder(folder);
  const batch = snapshots.store.begin();
  try {
    const merge = textMerger(folder, run.env);
    const merged = await mergeTrees(base.tree, treesOf(before, base, sides), {
      read: (hash) => snapshots.read(hash),
      // Of an interrupted execution nothing counts.
      texts: async (texts) => (signal.aborted ? undefined : merge(texts)),
      keep: (bytes) => batch.addContent(bytes),
      mtimeMs: run.clock.now().getTime(),
    });
    await batch.commit();
    return merged;
  } finally {
    await batch.end();
    await removeTree(folder);
  }
}

/** A person may have changed the workspace since, while the run was suspended. */
async function* treesOf(before: Snapshot, base: Snapshot, sides: readonly JoinSide[]): AsyncGenerator<Tree> {
  if (before.id !== base.id) yield before.tree;
  for (const { tree } of sides) yield tree();
}

/* The sides of a conflict. */

/** Files that are kept, and bytes of each and of all. */
const mostFiles = 500;
const mostBytes = 16 * 1024 * 1024;
const mostOfAll = 64 * 1024 * 1024;

/** Keeps what each side has at the conflicting paths in `conflicts/BRANCH/PATH`, that of before the branches in `conflicts/FANOUT/PATH`,
 *  secrets masked. Answers what each side has there; a file that is too large, or one too many, is only listed. */
export async function keepConflicts(
  { nodeDir, snapshots }: Pick<Joining, 'nodeDir' | 'snapshots'>,
  paths: readonly string[],
  sides: readonly JoinSide[],
  secrets: readonly string[],
): Promise<Readonly<Record<string, JsonObject>>> {
  const { conflicts: root } = nodeLayout(nodeDir);
  const inside = new Set(paths);
  const found: Record<string, JsonObject> = {};
  let [files, bytes] = [0, 0];
  for (const { id, tree } of sides) {
    const has: Record<string, Json> = {};
    for (const [path, entry] of await tree()) {
      if (!liesIn(inside, path)) continue;
      has[path] = factsOf(entry);
      const size = entry.size ?? 0;
      if (entry.kind !== 'file' || files >= mostFiles || size > mostBytes || bytes + size > mostOfAll)
        continue;
      if (await writeSide(snapshots, `${root}/${id}`, path, entry))
        [files, bytes] = [files + 1, bytes + size];
    }
    found[id] = has;
  }
  await maskFolder(root, secrets);
  return found;
}

const factsOf = ({ kind, mode, hash, target, size }: Entry): JsonObject => ({
  kind,
  mode: mode.toString(8),
  ...(hash === undefined ? {} : { sha256: hash, size: size ?? 0 }),
  ...(target === undefined ? {} : { target }),
});

/** False where the path is too long for the folder of artifacts. */
async function writeSide(
  { store }: LayerContext['snapshots'],
  folder: string,
  path: string,
  { hash = '' }: Entry,
): Promise<boolean> {
  try {
    makeFolder(join(folder, dirname(path)));
    await store.writeTo(hash, below(folder, path), 0o644);
    return true;
  } catch (error) {
    if (isCode(error, 'ENAMETOOLONG')) return false;
    throw error;
  }
}
