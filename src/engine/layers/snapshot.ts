/** Records the workspace as the node left it. If that is impossible, every change is undone, because none could be checked. */
import { isDisks } from '../../platform/files/disk-error.ts';
import { StoreTrouble, WorkspaceError } from '../../platform/files/workspace-error.ts';
import { diff } from '../../workspace/diff.ts';
import { assertWorkspaceRoot } from '../../workspace/roots.ts';
import type { Snapshot, Stray } from '../../workspace/snapshot.ts';
import { changedPaths, undo } from '../undo.ts';
import type { Layer, LayerContext } from './layer.ts';

export const snapshot: Layer = (next) => async (context) => {
  const executed = await next(context);
  if (!context.kind.executable) return executed;
  const snapshot =
    executed.unreadable === undefined ? await take(context) : { unreadable: executed.unreadable };
  if ('unreadable' in snapshot) {
    const { unreadable } = snapshot;
    return { ...executed, snapshot: await restored(context), strays: [], unreadable };
  }
  if (snapshot.strays.length > 0)
    context.log('warn', 'removed sockets, pipes and devices that the node left in the workspace', {
      count: snapshot.strays.length,
    });
  return { ...executed, snapshot: snapshot.after, strays: snapshot.strays };
};

async function take({
  snapshots,
  before,
  workspace,
}: LayerContext): Promise<
  { readonly after: Snapshot; readonly strays: readonly Stray[] } | { readonly unreadable: string }
> {
  try {
    const after = await snapshots.take(before);
    assertWorkspaceRoot(workspace.path);
    const strays = snapshots.strays();
    // No snapshot can hold them: a resumed or forked run would be without them.
    const gone = new Set(strays.map(({ path }) => path));
    if (gone.size > 0) await snapshots.restore(after, (path) => gone.has(path));
    return { after, strays };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble || isDisks(error)) throw error;
    return { unreadable: error.message };
  }
}

/** The workspace as before the node. No snapshot has files at holdout paths, so that this removes them as well. */
const restored = ({ snapshots, before }: LayerContext): Promise<Snapshot> =>
  undo(before, ['.'], async () => {
    await snapshots.restore(before);
    const then = await snapshots.take(before);
    return [then, changedPaths(diff(before, then))];
  });
