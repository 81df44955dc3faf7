/** Prepares a copy of the workspace in which a node runs a second time. */
import { constants } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seesHoldout } from '../holdout/mount.ts';
import { placeSealed } from '../holdout/sealed-files.ts';
import { isMissing, makeFolder } from '../platform/files/write.ts';
import type { LayerContext } from './layers/layer.ts';
import { attemptContext } from './node-context.ts';
import type { Run } from './run-context.ts';

/** The context of a node in a copy of the workspace of before the node, with the sealed files. */
export async function contextInCopy(
  context: LayerContext,
  place: { readonly folder: string; readonly nodeDir: string; readonly timeoutMs: number },
): Promise<LayerContext> {
  const { folder, nodeDir, timeoutMs } = place;
  const { run, kind, node, before, snapshots, attempt } = context;
  const workspace = join(folder, 'workspace');
  await snapshots.checkout(before.id, workspace);
  makeFolder(nodeDir);
  const { sealed } = run;
  if (sealed !== undefined && seesHoldout(node, kind.type))
    placeSealed(workspace, sealed.paths, sealed.files());
  const historyEnv = await historyFor(run, workspace, nodeDir);
  const there = context.with({ run: { ...run, workspace, historyEnv }, nodeDir, agent: undefined });
  return attemptContext(there, { ...attempt, timeout: { ...attempt.timeout, ms: timeoutMs } });
}

/** An environment for git that shows the run's history to the copy and leaves git's index of the workspace unchanged. */
async function historyFor(
  { historyEnv }: Run,
  workspace: string,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const index = historyEnv['GIT_INDEX_FILE'];
  if (index === undefined) return historyEnv;
  const copy = join(folder, 'index');
  await copyFile(index, copy, constants.COPYFILE_FICLONE).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  return { ...historyEnv, GIT_WORK_TREE: workspace, GIT_INDEX_FILE: copy };
}
