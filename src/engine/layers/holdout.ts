/** Places the holdout files in the workspace for a node that may see them, and removes them when it has ended. */
import { type HoldoutMount, sealingOf } from '../../holdout/mount.ts';
import type { TakenOut } from '../../holdout/sealed-files.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { StoreTrouble, WorkspaceError } from '../../platform/files/workspace-error.ts';
import type { Executed, Layer } from './layer.ts';

export const holdoutMount: Layer = (next) => async (context) => {
  const { kind, run, node } = context;
  const sealing = kind.executable ? sealingOf(run, node, kind.type) : undefined;
  if (sealing === undefined) return next(context);
  sealing.place();
  const executed = await next(context);
  const { taken, unreadable } = takenOut(sealing, executed);
  const { sealed } = context.hidden;
  sealed.push(...taken.broken.filter((path) => !sealed.includes(path)));
  return {
    ...executed,
    holdout: { taken, copies: sealing.copies },
    ...(unreadable === undefined ? {} : { unreadable }),
  };
};

const nothing: TakenOut = { broken: [], blocked: [], linked: false, touched: [] };

function takenOut(
  sealing: HoldoutMount,
  { commands = [] }: Executed,
): { readonly taken: TakenOut; readonly unreadable?: string } {
  try {
    return { taken: sealing.takeOut(commands) };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble || isDisks(error)) throw error;
    return { taken: nothing, unreadable: error.message };
  }
}
