/** One execution of a node: attempts, until one is final. */
import type { Usage } from '../agents/agent.ts';
import type { Node } from '../model/graph.ts';
import { jittered, noWaits, type Waits } from '../model/outage.ts';
import { reasonOf } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import type { Parked } from '../model/park.ts';
import { keptOf } from '../model/reserve.ts';
import { sourceOf } from '../model/settings/typing.ts';
import { sumOfUsages } from '../model/spent.ts';
import { isDisks } from '../system/disk-trouble.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import type { AttemptRequest, AttemptResult } from './attempt.ts';
import { capHit, defaultCaps, spendHit } from './caps.ts';
import type { RunRecords } from './commit.ts';
import { openDesk } from './desk.ts';
import { escalated, oneMore } from './escalate.ts';
import { HoldoutLeak } from './leaks.ts';
import { noteProcess } from './node-dir.ts';
import { withWait } from './park.ts';
import { Diverged } from './replay.ts';
import { outageWaits, retry } from './retry.ts';
import type { Execution, ExecutionEnd, PreparedRun } from './run-context.ts';

/** Executes a node once, with its retries, within the limits of node and run. */
export async function executeNode(
  prepared: PreparedRun,
  { writer, elapsed }: Pick<RunRecords, 'writer' | 'elapsed'>,
  execution: Execution,
  before: Snapshot,
  /** The suspension that this process has resumed with this execution. */
  resumes: Parked | undefined,
): Promise<ExecutionEnd> {
  // It only tries whether the outage is over.
  const probes = prepared.waited === true && resumes?.status === 'paused_outage';
  const cutMs = execution.state.cut_ms ?? 0;
  const at = { ...execution, elapsed, cutMs, probes, snapshot: before };
  const { setting, signal, caps } = prepared;
  const { node, kind, visit, nodeDir } = at;
  const wants = node.settings;
  const isExplicit = sourceOf(wants, 'timeout') === 'node';
  const perCall = kind.type === 'codergen' && !isExplicit ? caps.commandTimeoutMs : undefined;
  const limit = perCall ?? wants.timeout;
  const began = at.elapsed();
  const nodeElapsed = () => (own(at.state.node_ms ?? {}, node.id) ?? 0) + at.cutMs + at.elapsed() - began;
  const runLeft = () =>
    caps.maxWallMs === undefined ? Number.POSITIVE_INFINITY : caps.maxWallMs - at.elapsed();
  const nodeLeft = () =>
    wants.max_wall === undefined ? Number.POSITIVE_INFINITY : wants.max_wall - nodeElapsed();
  // A goal gate verifies, so it may use the budget reserved for verification.
  const spares = kind.type === 'codergen' && !wants.uses_reserve && !wants.goal_gate;
  const kept = keptOf(spares ? setting.graph.settings.verify_reserve : undefined, caps);
  const wallLeft = () => Math.min(runLeft() - kept.ms, nodeLeft());
  const desk = openDesk({
    books: prepared.books,
    caps,
    nodeCaps: { maxCostUsd: wants.max_cost_usd, maxTokens: wants.max_tokens },
    kept,
    wallLeft: runLeft,
    node: node.id,
    visit,
    clock: setting.clock,
  });
  const parkAfterMs = caps.parkAfterMs ?? defaultCaps.parkAfterMs;
  const outageMs = kind.type !== 'codergen' || at.probes ? 0 : parkAfterMs;
  let outage: Waits = noWaits;
  const wallHit = () =>
    capHit(
      caps,
      {
        id: node.id,
        maxVisits: Number.POSITIVE_INFINITY,
        visits: 0,
        maxWallMs: wants.max_wall,
        elapsedMs: nodeElapsed(),
      },
      { steps: -1, elapsedMs: at.elapsed() },
    );
  if (kind.executable && kind.type !== 'codergen') {
    const recorded = await setting.replay?.answer(at).catch((error: unknown) => {
      if (error instanceof WorkspaceError) return { trouble: error.message };
      throw error;
    });
    if (recorded !== undefined && 'trouble' in recorded)
      return { kind: 'stopped', reason: `${node.id}: ${recorded.trouble}` };
    if (recorded !== undefined && 'outcome' in recorded) return { kind: 'ended', ...recorded };
    if (recorded !== undefined)
      await writer.event({ type: 'ReplayRan', node_id: node.id, visit, why: recorded.unlike });
  }
  let { snapshot } = at;
  let state = escalated(at.state, node);
  let retries = own(state.retry_counts, node.id) ?? 0;
  let calls = own(state.calls, node.id) ?? 0;
  let usage: Usage | undefined;
  let askedAgain = false;
  let repeats: string | undefined;
  for (let attempt = 1; ; attempt++) {
    setting.log('debug', 'node attempt', { node: node.id, visit, attempt });
    const left = Math.max(0, wallLeft());
    let written: Promise<void> = Promise.resolve();
    const result = await attempted(prepared, {
      kind,
      before: snapshot,
      visit: {
        node,
        state,
        visit,
        attempt,
        ...(repeats === undefined ? {} : { repeats }),
        call: calls + 1,
        timeout: {
          ms: Math.min(limit, left),
          explicit: isExplicit || left < limit,
          runLeftMs: left,
        },
        snapshotId: snapshot.id,
        signal,
        spawned: (process) => noteProcess(nodeDir, { visit, attempt, marker: setting.marker, process }),
        acted: (action) => {
          written = written.then(() => writer.event({ type: 'AgentActed', node_id: node.id, ...action }));
          // Awaited below; until then a rejection must not count as unhandled.
          written.catch(() => {});
        },
        desk,
      },
    });
    await written;
    // The run cannot continue with a workspace that cannot be recorded; the checkpoint is before this node.
    if ('trouble' in result)
      return { kind: 'stopped', reason: `${node.id}: ${result.trouble}`, disk: result.disk };
    if ('leaked' in result) return { kind: 'stopped', reason: result.leaked };
    if ('diverged' in result) return { kind: 'stopped', reason: result.diverged };
    if (signal.aborted) return { kind: 'interrupted' };
    if (desk.stop !== undefined) return { kind: 'stopped', reason: desk.stop };
    snapshot = result.after;
    if (result.usage !== undefined) usage = sumOfUsages(usage, result.usage);
    if (kind.type === 'codergen') calls++;
    if (result.violations.length > 0) {
      await writer.event({ type: 'GuardrailViolation', node_id: node.id, paths: [...result.violations] });
    }
    if (result.outcome.status === 'fail' && result.outcome.rerun !== undefined)
      await writer.event({ type: 'ScenarioRerun', node_id: node.id, ...result.outcome.rerun });
    const cut =
      result.outcome.status === 'fail' && result.outcome.class === 'timeout' ? wallHit() : undefined;
    if (cut !== undefined) return { kind: 'stopped', reason: cut };
    const outcome = withWait(result.outcome, setting.clock.now(), parkAfterMs, caps.parkPassing);
    const policy = retryPolicy(node, parkAfterMs);
    const down = outageWaits(outcome, outage, outageMs);
    const again =
      down === undefined
        ? retry({ ...policy, askedAgain }, attempt - outage.tries, outcome)
        : ({
            again: true,
            delayMs: jittered(down.delayMs, `${setting.marker}.${node.id}.${attempt}`),
          } as const);
    if (down !== undefined) outage = down;
    if (!again.again) {
      const { context } = state;
      const counts = { retries, calls };
      const { commands = [], toolState } = result;
      const { outcome } = again;
      return { kind: 'ended', outcome, context, counts, snapshot, usage, commands, toolState };
    }
    retries++;
    repeats = reasonOf(outcome);
    if (outcome.status === 'fail' && outcome.unsaid === true) askedAgain = true;
    state = { ...state, context: { ...state.context, [`internal.retry_count.${node.id}`]: retries } };
    if (result.outcome.status === 'fail' && result.outcome.class === 'product') state = oneMore(state, node);
    await writer.event({
      type: 'StageRetrying',
      node_id: node.id,
      retry_count: retries,
      reason: reasonOf(result.outcome),
      delay_ms: again.delayMs,
    });
    // A replay does not repeat the waits of the recorded run.
    const delay = kind.type === 'codergen' && setting.replay?.follows === true ? 0 : again.delayMs;
    await setting.clock.sleep(Math.min(delay, Math.max(0, wallLeft())), signal);
    if (signal.aborted) return { kind: 'interrupted' };
    const over =
      wallHit() ??
      spendHit({ caps, spent: prepared.books.run(), unpriced: prepared.books.unpriced() }, caps.unknownCost);
    if (over !== undefined) return { kind: 'stopped', reason: over };
  }
}

/** Runs an attempt; errors that end the run become results. */
async function attempted(
  { attempt }: PreparedRun,
  request: AttemptRequest,
): Promise<
  | AttemptResult
  | { readonly trouble: string; readonly disk: boolean }
  | { readonly diverged: string }
  | { readonly leaked: string }
> {
  try {
    return await attempt.run(request);
  } catch (error) {
    if (error instanceof WorkspaceError) return { trouble: error.message, disk: isDisks(error) };
    if (error instanceof Diverged) return { diverged: error.message };
    if (error instanceof HoldoutLeak) return { leaked: error.message };
    throw error;
  }
}

const retryPolicy = ({ type, settings }: Node, parkAfterMs: number) => ({
  maxRetries: settings.max_retries,
  delayMs: settings.retry_delay,
  backoff: settings.retry_backoff,
  maxDelayMs: settings.retry_max_delay,
  onFail: settings.retry_on === 'fail',
  allowPartial: settings.allow_partial,
  isAgent: type === 'codergen',
  parkAfterMs,
});
