/** Innermost: the run function of the node's kind. */
import { failed, type Outcome } from '../../core/outcome.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { runOwnKind } from '../own-kind.ts';
import { waitingWithin } from '../shared-budget.ts';
import type { Execute, LayerContext } from './layer.ts';

/** A system error about the run directory is an outcome. Disk errors are thrown: the run stops before this node, and resume
 *  repeats it. */
export const runKind: Execute = async (context) => {
  const { outcome, error } = await caught(context);
  return {
    outcome: await waitingWithin(context.nodeDir, outcome),
    snapshot: context.before,
    toolState: context.toolState.now(),
    answer: context.answered(),
    ...(error === undefined ? {} : { error }),
  };
};

async function caught(context: LayerContext): Promise<{ readonly outcome: Outcome; readonly error?: Error }> {
  try {
    const { kind, node } = context;
    return {
      outcome: await (kind.own === undefined ? kind.run(node.settings, context) : runOwnKind(context)),
    };
  } catch (error) {
    if (!isSystemError(error) || isDisks(error, context.workspace.path)) throw error;
    return {
      outcome: failed(`cannot use the run directory: ${error.message}`, 'infra', { broke: true }),
      error,
    };
  }
}

/** System errors, such as a missing folder. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);
