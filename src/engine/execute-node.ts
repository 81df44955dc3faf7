/** One execution of a node on this machine. */
import type { ChangedPaths } from '../core/contracts/node-kind.ts';
import { once } from '../core/once.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { workBegan } from '../core/setup.ts';
import { HoldoutLeak } from '../holdout/leak-guard.ts';
import { scenariosOf, withheldFrom } from '../holdout/mount.ts';
import { isDisks, isFull } from '../platform/files/disk-error.ts';
import { StoreTrouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { Diverged } from '../run/answers.ts';
import { diff } from '../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import type { RunRecords } from './commit.ts';
import { environmentOf, passedTo } from './environment.ts';
import { type LayerContext, LimitReached, layerContext } from './layers/layer.ts';
import { nodeLog } from './node-context.ts';
import { AnswerAwaited } from './question.ts';
import type { Execution, ExecutionEnd, Run } from './run-context.ts';
import { notesFor, releaseNotes } from './steering.ts';
import { TimeAwaited } from './waiting.ts';

/** Executes the node through the layers. */
export async function executeNode(
  run: Run,
  records: Pick<RunRecords, 'writer' | 'elapsed'>,
  execution: Execution,
  before: Snapshot,
): Promise<ExecutionEnd> {
  const context = outermostContext(run, records, execution, before);
  let isOver = false;
  try {
    const executed = await run.execute(context);
    if (run.signal.aborted) return { kind: 'interrupted' };
    const { outcome, snapshot, usage, toolState, thread, commands = [], answer, replayed } = executed;
    const { counts = { retries: 0, calls: 0 }, joined, opens, setup } = executed;
    const { context: seen = execution.state.context } = executed;
    const end = { outcome, context: seen, counts, snapshot, usage, commands, toolState, thread, answer };
    const branches = { joined, opens };
    const { used: steered } = context.notes;
    isOver = true;
    return {
      ...{ kind: 'ended', ...end, ...branches, ...(replayed === undefined ? {} : { replayed }) },
      ...(steered.length === 0 ? {} : { steered }),
      ...(setup === undefined ? {} : { setup }),
    };
  } catch (error) {
    return stopped(execution.node.id, error);
  } finally {
    if (!isOver) releaseNotes(run, execution);
  }
}

/** What the outermost layer is handed; the rest is added by the layers. */
export function outermostContext(
  run: Run,
  { writer, elapsed }: Pick<RunRecords, 'writer' | 'elapsed'>,
  { node, kind, visit, state, nodeDir }: Execution,
  before: Snapshot,
): LayerContext {
  const { graph, runDir, clock, caps, costs, snapshots, signal } = run;
  const probes = run.waited === true && run.parkedBefore?.status === 'paused_outage';
  const { mask } = environmentOf(run, passedTo(run, node));
  return layerContext({
    ...{ run, graph, runDir, clock, signal, node, kind, visit, state, nodeDir, snapshots, writer },
    ...beginningIn(run, state, before),
    limits: { caps, costs, elapsed, probes },
    notes: notesFor(run, { node, visit }),
    holdout: { ...withheldFrom(node, run.sealed), scenarios: scenariosOf(run) },
    log: nodeLog(run, node, mask),
  });
}

/** What the layers are handed of the workspace in which a node begins. */
export const beginningIn = (
  { start, snapshots }: Pick<Run, 'start' | 'snapshots'>,
  state: Pick<RunState, 'setup'>,
  before: Snapshot,
): Pick<LayerContext, 'before' | 'changedInRun' | 'pathsBefore'> => ({
  before,
  changedInRun: once(() => changedSince(workBegan(start, state), before, snapshots)),
  pathsBefore: () => before.tree.keys(),
});

/** How the workspace differs from an earlier snapshot. */
async function changedSince(start: string, now: Snapshot, snapshots: Snapshots): Promise<ChangedPaths> {
  const { folders, ...items } = diff(await snapshots.load(start), now);
  const changed = new Map<string, 'created' | 'modified' | 'deleted'>();
  for (const kind of ['deleted', 'modified', 'created'] as const)
    for (const path of [...items[kind], ...(kind === 'modified' ? [] : folders[kind])])
      changed.set(path, kind);
  return changed;
}

/** Why the run cannot continue; the checkpoint is before this node. */
function stopped(node: string, error: unknown): ExecutionEnd {
  // It suspends the run.
  if (isFull(error)) throw error;
  if (error instanceof WorkspaceError)
    return {
      kind: 'stopped',
      reason: `${node}: ${error.message}`,
      disk: isDisks(error) || error instanceof StoreTrouble,
    };
  if (error instanceof TimeAwaited) return { kind: 'waits', parked: error.parked };
  if (error instanceof AnswerAwaited) return { kind: 'asks', question: error.question };
  if (error instanceof LimitReached) return { kind: 'stopped', ...error.hit, orderly: true };
  if (error instanceof Diverged || error instanceof HoldoutLeak)
    return { kind: 'stopped', reason: error.message };
  throw error;
}
