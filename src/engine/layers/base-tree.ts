/** Gives a tool that runs scenarios the tree with which the run began: by that, it knows which files the run wrote, and which
 *  scenarios passed before. */
import { join } from 'node:path';
import { runsScenarios } from '../../core/policy/holdout-paths.ts';
import { layout } from '../../core/records/layout.ts';
import { workBegan } from '../../core/setup.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { removeAside } from '../../platform/files/remove.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import type { Layer, LayerContext } from './layer.ts';

export const baseTree: Layer = (next) => async (context) => {
  const { run, node, state, snapshots } = context;
  const { tool_command, floor } = node.settings;
  const isNeeded = floor !== 'false' || context.survivors !== undefined;
  if (!isNeeded || !runsScenarios(tool_command ?? '')) return next(context);
  // No node can have a name that begins with a dot.
  const place = join(layout(run.runDir).scratch, '.base', node.id);
  try {
    await removeAside(place);
    const isThere = await placed(context, () => snapshots.checkout(workBegan(run.start, state), place));
    return await next(isThere ? context.with({ baseTree: place }) : context);
  } finally {
    await removeAside(place);
  }
};

/** False where the tree cannot be read any more: the scenarios then run without it. */
async function placed({ run, node }: LayerContext, checkout: () => Promise<unknown>): Promise<boolean> {
  try {
    await checkout();
    return true;
  } catch (error) {
    if (!(error instanceof WorkspaceError) || isDisks(error)) throw error;
    const why = error.message;
    run.log('warn', 'scenarios run without the tree before the work', { node: node.id, why });
    return false;
  }
}
