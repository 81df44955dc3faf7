/** The loop: attempt → step → save → tell → again. */
import type { Usage } from '../agents/agent.ts';

import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { EventFacts, RunEvent } from '../model/event.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import type { Outcome } from '../model/outcome.ts';
import { reasonOf } from '../model/outcome.ts';
import { kindOf } from '../model/resolve.ts';
import type { TraceFacts } from '../model/trace.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { commonAttributes, executableAttributes } from '../nodes/kind.ts';
import type { Journal } from '../store/journal.ts';
import { writeJson } from '../system/files.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import type { Attempt, AttemptRequest, AttemptResult } from './attempt.ts';
import type { Caps } from './caps.ts';
import { capHit, defaultCaps } from './caps.ts';
import { feedback } from './feedback.ts';
import { openVisit, writeStage } from './node-dir.ts';
import { inputCaptured, outputCaptured, stageEnded, status } from './records.ts';
import { retry } from './retry.ts';
import type { RunSetting } from './site.ts';
import type { Ending, Step } from './step.ts';
import { step } from './step.ts';
import { unfixableSource } from './unfixable.ts';

/** A run that is prepared: its folder, its state, and what it is told to stop at. */
export type PreparedRun = {
  readonly setting: RunSetting;
  readonly kinds: readonly NodeKind[];
  readonly attempt: Attempt;
  readonly state: Checkpoint;
  readonly snapshot: Snapshot;
  readonly caps: Caps;
  readonly events: Journal;
  readonly trace: Journal;
  /** Saves the checkpoint; rejects when another engine has taken the run over. */
  readonly save: (state: Checkpoint) => Promise<void>;
  readonly signal: AbortSignal;
  /** Node after whose checkpoint the run stops, as if it had been interrupted. */
  readonly stopAfter: string | undefined;
};

export type RunEnd = {
  readonly state: Checkpoint;
  readonly ending: Ending;
  readonly interrupted: boolean;
};

/** Milliseconds a stage may take when nobody says otherwise. */
const defaultTimeoutMs = 30 * 60_000;

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function run(prepared: PreparedRun): Promise<RunEnd> {
  const { setting, signal } = prepared;
  const { graph, clock } = setting;
  let { state, snapshot } = prepared;
  const began = clock.monotonic();
  const earlier = state.elapsed_ms;
  const elapsed = () => earlier + (clock.monotonic() - began);
  const graphWants = readAttributes(graph.attrs, graphAttributes).values;
  const tell = teller(prepared);

  const finish = async (ending: Ending, alreadySaved: boolean): Promise<RunEnd> => {
    state = {
      ...state,
      status: ending.ok ? 'completed' : 'failed',
      ended: ended(ending),
      elapsed_ms: Math.round(elapsed()),
    };
    if (!alreadySaved) await prepared.save(state);
    if (ending.ok) {
      await tell.trace({ type: 'PipelineCompleted' });
      await tell.event({ type: 'PipelineCompleted' });
    } else {
      await tell.trace({ type: 'PipelineFailed', error: ending.reason });
      await tell.event({ type: 'PipelineFailed', error: ending.reason });
    }
    await tell.flush();
    return { state, ending, interrupted: false };
  };
  const interrupt = async (): Promise<RunEnd> => {
    const next = state.next_node ?? '';
    state = { ...state, status: 'interrupted', elapsed_ms: Math.round(elapsed()) };
    await prepared.save(state);
    await tell.trace({ type: 'PipelineInterrupted', signal: String(signal.reason) });
    await tell.event({ type: 'PipelineInterrupted', signal: String(signal.reason), next_node: next });
    await tell.flush();
    const ending = {
      ok: false,
      exitNode: null,
      reason: `interrupted by ${String(signal.reason)}`,
      code: 130,
    };
    return { state, ending, interrupted: true };
  };
  const stop = (reason: string): Promise<RunEnd> =>
    finish({ ok: false, exitNode: null, reason, code: 1 }, false);

  for (;;) {
    if (signal.aborted) return interrupt();
    const id = state.next_node;
    const node = id === null ? undefined : graph.nodes.get(id);
    const kind = node === undefined ? undefined : kindOf(node, prepared.kinds);
    if (node === undefined || kind === undefined)
      throw new Error(`Internal: no node ${id} in a linted graph`);

    const visits = state.visits[node.id] ?? 0;
    const maxVisits =
      readAttributes(node.attrs, commonAttributes).values.max_visits ??
      graphWants.default_max_visits ??
      defaultCaps.maxVisits;
    const hit = capHit(
      prepared.caps,
      { id: node.id, maxVisits, visits },
      { steps: state.steps, elapsedMs: elapsed() },
    );
    if (hit !== undefined) return stop(hit);
    const wants = readAttributes(node.attrs, executableAttributes).values;
    if (kind.type === 'codergen') {
      const hopeless = unfixableSource(graph, node, wants.allowed_write_paths ?? [], state.last_failure);
      if (hopeless !== undefined) return stop(hopeless);
    }

    const nodeDir = layout(setting.runDir).node(node.id);
    await openVisit(nodeDir, visits + 1, setting.marker);
    await tell.trace(inputCaptured(setting, node, visits + 1, state, nodeDir));
    await tell.event({ type: 'StageStarted', node_id: node.id, visit: visits + 1, node_type: kind.type });
    const stageBegan = clock.monotonic();
    const contextBefore = state.context;
    state = { ...state, context: { ...state.context, current_node: node.id } };

    const wallLeft =
      prepared.caps.maxWallMs === undefined ? Number.POSITIVE_INFINITY : prepared.caps.maxWallMs - elapsed();
    const perCall = kind.type === 'codergen' ? prepared.caps.commandTimeoutMs : undefined;
    const own = wants.timeout ?? perCall ?? graphWants.default_timeout ?? defaultTimeoutMs;
    const timeout = { ms: Math.min(own, wallLeft), explicit: wants.timeout !== undefined || wallLeft < own };
    let outcome: Outcome;
    let usage: Usage | undefined;
    for (let attempt = 1; ; attempt++) {
      const retries = state.retry_counts[node.id] ?? 0;
      const call = (state.calls[node.id] ?? 0) + 1;
      const result = await attempted(prepared, {
        kind,
        before: snapshot,
        visit: {
          node,
          state,
          visit: visits + 1,
          attempt,
          retries,
          call,
          timeout,
          snapshotId: snapshot.id,
          signal,
          spawned: (process) =>
            writeStage(nodeDir, {
              visit: visits + 1,
              attempt,
              marker: setting.marker,
              process: process ?? null,
            }),
        },
      });
      // A workspace that cannot be recorded cannot be gone on with; the checkpoint stands before this stage.
      if ('trouble' in result) return stop(`${node.id}: ${result.trouble}`);
      // What a cancelled stage did is undone by the resume; nothing of it is remembered.
      if (signal.aborted) return interrupt();
      snapshot = result.after;
      usage = result.usage ?? usage;
      if (kind.type === 'codergen') state = { ...state, calls: { ...state.calls, [node.id]: call } };
      if (result.violations.length > 0) {
        await tell.event({ type: 'GuardrailViolation', node_id: node.id, paths: [...result.violations] });
      }
      const again = retry(retryPolicy(kind, wants, graphWants.default_max_retries), attempt, result.outcome);
      if (!again.again) {
        outcome = again.outcome;
        break;
      }
      state = {
        ...state,
        retry_counts: { ...state.retry_counts, [node.id]: retries + 1 },
        context: { ...state.context, [`internal.retry_count.${node.id}`]: retries + 1 },
      };
      await tell.event({
        type: 'StageRetrying',
        node_id: node.id,
        retry_count: retries + 1,
        reason: reasonOf(result.outcome),
        delay_ms: again.delayMs,
      });
      await clock.sleep(again.delayMs, signal);
      if (signal.aborted) return interrupt();
    }

    const at = clock.now().toISOString();
    await writeJson(nodeLayout(nodeDir).status, status(outcome));
    const told =
      outcome.status === 'fail'
        ? await feedback(nodeDir, { node: node.id, type: kind.type, at }, outcome)
        : {};
    const next: Step = step(
      graph,
      state,
      { node: node.id, type: kind.type, executable: kind.executable, feedback: told, at },
      outcome,
    );
    const { decision } = next;
    state = {
      ...next.state,
      snapshot: snapshot.id,
      elapsed_ms: Math.round(elapsed()),
      ...(decision.do === 'finish'
        ? {
            status: decision.ending.ok ? ('completed' as const) : ('failed' as const),
            ended: ended(decision.ending),
          }
        : {}),
    };
    // The checkpoint goes first: an event without a checkpoint is a story about a run that nobody can continue.
    await prepared.save(state);
    if (outcome.status === 'fail') {
      setting.log('info', 'failure detail', {
        node: node.id,
        summary: String(told['last_failure.summary'] ?? ''),
      });
    }
    await tell.event(stageEnded(node.id, visits + 1, outcome, clock.monotonic() - stageBegan, usage));
    await tell.event({ type: 'CheckpointSaved', last_completed_node: node.id });
    if (outcome.status === 'fail' && outcome.broke) {
      await tell.trace({ type: 'NodeExecutionErrored', node_id: node.id, error: outcome.reason });
    }
    await tell.trace(
      outputCaptured(node.id, visits + 1, outcome, contextBefore, state.context, state.steps, nodeDir),
    );
    if (next.route !== undefined) {
      setting.log('debug', 'route selected', {
        from: node.id,
        to: next.route.edge?.to ?? '',
        how: next.route.how,
      });
      await tell.trace({
        type: 'RouteEvaluated',
        from_node: node.id,
        outcome: outcome.status,
        next_node: next.route.edge?.to ?? '',
        how: next.route.how,
        candidates: next.route.candidates,
      });
    }
    await tell.flush();
    if (prepared.stopAfter === node.id) return stop('test_stop');
    if (decision.do === 'finish') return finish(decision.ending, true);
  }
}

/** An attempt, or what is wrong with the workspace that it left. */
async function attempted(
  { attempt }: PreparedRun,
  request: AttemptRequest,
): Promise<AttemptResult | { readonly trouble: string }> {
  try {
    return await attempt.run(request);
  } catch (error) {
    if (error instanceof WorkspaceError) return { trouble: error.message };
    throw error;
  }
}

const ended = (ending: Ending) => ({
  exit_node: ending.exitNode,
  ok: ending.ok,
  reason: ending.reason,
  code: ending.code,
});

/** Writes events and trace records with their time, and passes events on. */
export function teller({ setting, events, trace }: Pick<PreparedRun, 'setting' | 'events' | 'trace'>) {
  const stamp = () => ({ schema_version: 1 as const, at: setting.clock.now().toISOString() });
  return {
    async event(facts: EventFacts): Promise<void> {
      const { type, ...rest } = facts;
      const record = { schema_version: 1, type, at: stamp().at, ...rest } as RunEvent;
      await events.append(record);
      setting.watcher.event(record);
    },
    async trace(facts: TraceFacts): Promise<void> {
      const { type, ...rest } = facts;
      await trace.append({ schema_version: 1, type, at: stamp().at, ...rest });
    },
    async flush(): Promise<void> {
      await events.flush();
      await trace.flush();
    },
  };
}
function retryPolicy(
  kind: NodeKind,
  wants: ReturnType<typeof readAttributes<typeof executableAttributes>>['values'],
  graphRetries: number | undefined,
) {
  return {
    maxRetries: wants.max_retries ?? graphRetries,
    delayMs: wants.retry_delay ?? 500,
    backoff: wants.retry_backoff ?? 1,
    maxDelayMs: wants.retry_max_delay ?? 60_000,
    onFail: wants.retry_on === 'fail',
    allowPartial: wants.allow_partial === true,
    isAgent: kind.type === 'codergen',
  };
}
