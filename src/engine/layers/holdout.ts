/** Places the holdout files in the workspace for a node that may see them, and removes them when it has ended. */
import { type HoldoutMount, sealingOf } from '../../holdout/mount.ts';
import type { RemovedHoldout } from '../../holdout/sealed-files.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { StoreTrouble, WorkspaceError } from '../../platform/files/workspace-error.ts';
import type { Executed, Layer } from './layer.ts';

export const holdoutMount: Layer = (next) => async (context) => {
  const { kind, run, node } = context;
  // Without a folder there is nowhere to place it, and nothing to remove.
  const sealing = kind.executable && run.files === undefined ? sealingOf(run, node, kind.type) : undefined;
  if (sealing === undefined) return next(context);
  sealing.place();
  const executed = await next(context);
  const { removed, unreadable } = takeOut(sealing, executed);
  const { sealed } = context.hidden;
  sealed.push(...removed.broken.filter((path) => !sealed.includes(path)));
  return {
    ...executed,
    holdout: { removed, copies: sealing.copies },
    ...(unreadable === undefined ? {} : { unreadable }),
  };
};

const nothing: RemovedHoldout = { broken: [], blocked: [], linked: false, touched: [] };

function takeOut(
  sealing: HoldoutMount,
  { commands = [] }: Executed,
): { readonly removed: RemovedHoldout; readonly unreadable?: string } {
  try {
    return { removed: sealing.takeOut(commands) };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble || isDisks(error)) throw error;
    return { removed: nothing, unreadable: error.message };
  }
}
