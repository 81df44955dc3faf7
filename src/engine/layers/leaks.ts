/** Ends the run if the node shows a line of the holdout; the workspace is restored to its state before the node. */
import { isAgentType } from '../../core/graph.ts';
import { HoldoutLeak } from '../../holdout/leak-guard.ts';
import type { Layer } from './layer.ts';

export const leaks: Layer = (next) => async (context) => {
  const executed = await next(context);
  const { kind, run, node, nodeDir, signal, before, snapshots } = context;
  // Resume repeats a cancelled attempt.
  if (!kind.executable || signal.aborted || run.leaks === undefined) return executed;
  const { outcome, snapshot: after } = executed;
  const thread = executed.thread?.session;
  const byAgent = isAgentType(kind.type);
  // A tool's copy of a whole holdout file is a violation: it is undone and reported as one, not as a leak.
  const undone = byAgent ? [] : (executed.holdout?.copies(before, after) ?? []);
  const leak = await run.leaks.afterAttempt({
    node,
    nodeDir,
    byAgent,
    outcome,
    thread,
    before,
    after,
    undone,
  });
  if (leak === undefined) return executed;
  await snapshots.restore(before);
  throw new HoldoutLeak(leak);
};
