/** The ground that a run goes on from: the workspace as its checkpoint has it. */
import { hidingPlace } from '../engine/agent-door.ts';
import type { Refusal } from '../engine/casting.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Loaded } from '../store/checkpoint.ts';
import { isDisks } from '../system/disk-trouble.ts';
import { bringBack } from '../workspace/hide.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { DamagedStore, WorkspaceError } from '../workspace/trouble.ts';
import { type Change, carryOut } from './cover.ts';
import { refused } from './types.ts';

/** Opens the run's snapshots; for one that is taken up again, puts its workspace back to the snapshot of its checkpoint, and
 *  carries out the change that the user has asked for. */
export async function groundOf(
  runDir: string,
  { snapshot: id }: { readonly snapshot: string | null },
  taken: {
    readonly resumed: boolean;
    readonly change: Change | undefined;
    readonly manifest: Manifest;
    readonly read: Loaded;
  },
): Promise<{ readonly snapshots: Snapshots; readonly snapshot: Snapshot } | Refusal> {
  const at = layout(runDir);
  if (id === null) throw new Error('Internal: a checkpoint without a snapshot');
  try {
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    // What a killed engine had hidden from its agent comes back first: what is restored next is the whole workspace.
    await bringBack(at.workspace, hidingPlace(runDir));
    const snapshot = await snapshots.load(id);
    if (!taken.resumed) return { snapshots, snapshot };
    await snapshots.restore(snapshot);
    const { change, manifest, read } = taken;
    if (change !== undefined) await carryOut({ ...change, manifest }, runDir, read, { snapshots, snapshot });
    return { snapshots, snapshot: await snapshots.take(snapshot) };
  } catch (error) {
    const trouble = groundTrouble(error);
    if (trouble !== undefined) return trouble;
    throw error;
  }
}

/** What is wrong with a run's snapshots or its workspace; undefined for all that is wrong with something else. */
export function groundTrouble(error: unknown): Refusal | undefined {
  if (error instanceof DamagedStore)
    return refused(
      'snapshot',
      error.message,
      'put that file back from a copy of the run directory, or begin a new run; nothing of it was used',
    );
  if (error instanceof WorkspaceError && !isDisks(error))
    return refused('workspace', error.message, 'mend that in the run’s workspace and resume again');
  return undefined;
}
