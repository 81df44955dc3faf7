/** Restores the workspace of a run to its checkpoint. */
import { join } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { snapshotNow } from '../../core/fork.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import { inWorkspace, layout } from '../../core/records/layout.ts';
import { hidingPlace } from '../../engine/agent-process.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { DamagedStore, WorkspaceError } from '../../platform/files/workspace-error.ts';
import { writeFileAtomic } from '../../platform/files/write.ts';
import { bringBack } from '../../workspace/hide.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { movedSnapshots, openSnapshots } from '../../workspace/snapshots.ts';
import { type ResumeChange, textsIn } from './resume-changes.ts';

/** The snapshots of a run, and the latest of them. */
export type OpenSnapshots = { readonly snapshots: Snapshots; readonly snapshot: Snapshot };

/** Opens the run's snapshots; on a resume, restores the workspace to the latest one, with the texts that the user changed.
 *  `taken`: those of a run that this process has just created, before its folder had its name. */
export async function restoreWorkspace(
  runDir: string,
  state: Pick<RunState, 'snapshot' | 'fork'>,
  run: { readonly resumed: boolean; readonly change: ResumeChange | undefined },
  opened?: OpenSnapshots,
): Promise<OpenSnapshots | Refusal> {
  const at = layout(runDir);
  const id = snapshotNow(state);
  if (id === null) throw new Error('Internal: a checkpoint without a snapshot');
  // Each line of the journal flushes what it names.
  const where = { workspace: at.workspace, dir: at.contents, sync: 'later' } as const;
  try {
    if (opened !== undefined) return { ...opened, snapshots: movedSnapshots(opened.snapshots, where) };
    const snapshots = await openSnapshots(where);
    // Files that a killed engine had hidden from an agent come back before the whole workspace is restored.
    await bringBack(at.workspace, hidingPlace(runDir));
    const snapshot = await snapshots.load(id);
    if (!run.resumed) return { snapshots, snapshot };
    await snapshots.restore(snapshot);
    for (const [file, text] of run.change === undefined ? [] : textsIn(run.change))
      await writeFileAtomic(join(at.workspace, inWorkspace.inputs, file), text);
    return { snapshots, snapshot: await snapshots.take(snapshot) };
  } catch (error) {
    const trouble = restoreProblem(error);
    if (trouble !== undefined) return trouble;
    throw error;
  }
}

/** The refusal for an error of a run's snapshots or workspace; undefined for any other error. */
export function restoreProblem(error: unknown): Refusal | undefined {
  if (error instanceof DamagedStore)
    return refused(
      'snapshot',
      error.message,
      'restore that file from a copy of the run directory, or start a new run; nothing of it was used',
    );
  if (error instanceof WorkspaceError && !isDisks(error))
    return refused('workspace', error.message, 'fix that in the run’s workspace and resume again');
  return undefined;
}
