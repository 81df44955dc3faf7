/** The run loop: from the checkpoint's next node to an end. */
import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { Node } from '../model/graph.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import type { Failure } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import type { Parked } from '../model/park.ts';
import { kindOf } from '../model/resolve.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { commonAttributes, executableAttributes } from '../nodes/kind.ts';
import { unfixableSource } from '../policy/unfixable.ts';
import { hashArtifacts } from '../store/artifact-hashes.ts';
import type { OnDisk } from '../store/checkpoint.ts';
import type { Journal } from '../store/journal.ts';
import type { VisitFacts } from '../store/visits.ts';
import { head } from '../system/read.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { keepJson } from './artifacts.ts';
import type { Attempt } from './attempt.ts';
import type { Books } from './books.ts';
import { alikeAfter, loopStopped } from './breaker.ts';
import type { Caps } from './caps.ts';
import { capHit, defaultCaps, spendHit } from './caps.ts';
import { delta } from './context.ts';
import { factsOf, feedback, printable, toolOutput } from './feedback.ts';
import { closeVisit, openVisit, settleVisit } from './node-dir.ts';
import { suspension } from './park.ts';
import { goalOf } from './pipeline.ts';
import { inputCaptured, outputCaptured, stageEnded, status, visited } from './records.ts';
import { askedOf } from './replay-visit.ts';
import type { RunSetting } from './site.ts';
import { advance, type Change } from './state.ts';
import type { Ending, Step } from './step.ts';
import { step } from './step.ts';
import { eventWriter } from './teller.ts';
import { executeNode } from './visit.ts';

/** A run that is ready to execute: its settings, state, limits and journals. */
export type PreparedRun = {
  readonly setting: RunSetting;
  readonly kinds: readonly NodeKind[];
  readonly attempt: Attempt;
  /** Owned by the loop: its maps by node are changed in place. */
  readonly state: RunState;
  readonly snapshot: Snapshot;
  readonly caps: Caps;
  readonly books: Books;
  readonly events: Journal;
  readonly trace: Journal;
  /** Appends the journal line of the finished execution, then writes the checkpoint. The returned function settles when both
   *  are flushed. Rejects if another process has taken over the run. */
  readonly save: (state: RunState, visit?: VisitFacts, beside?: () => Promise<void>) => Promise<OnDisk>;
  /** Reads an earlier snapshot of the run. */
  readonly snapshotOf?: (id: string) => Promise<Snapshot>;
  readonly signal: AbortSignal;
  /** Why the run was suspended before this resume. */
  readonly parkedBefore?: Parked | undefined;
  /** This process has waited out that suspension. */
  readonly waited?: boolean | undefined;
  /** Called before the run is recorded as completed: a reason fails it. */
  readonly audit?: (() => Promise<string | undefined>) | undefined;
  /** Test only: the node after whose checkpoint the run stops. */
  readonly stopAfter: string | undefined;
};

export type RunEnd = {
  readonly state: RunState;
  readonly ending: Ending;
  readonly interrupted: boolean;
  /** Set when the run is suspended. */
  readonly parked?: Parked;
};

/** Bytes of a failure's summary in the log. */
const mostLogged = 2200;

/** Test only: simulates a crash after a node, so that the end is not recorded. */
export const testStop: Ending = { ok: false, exitNode: null, reason: 'test_stop', code: 1 };

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function run(prepared: PreparedRun): Promise<RunEnd> {
  const { setting, signal } = prepared;
  const { graph, clock } = setting;
  let { state, snapshot } = prepared;
  const began = clock.monotonic();
  const earlier = state.elapsed_ms;
  const elapsed = () => earlier + (clock.monotonic() - began);
  const graphWants = readAttributes(graph.attrs, graphAttributes).values;
  const writer = eventWriter(prepared);
  // A resume may have changed the goal; no node can.
  const goal = goalOf(graph);
  const aim = goal === undefined ? {} : { 'graph.goal': goal };

  const saved = async (at: RunState): Promise<void> => {
    await writer.flush();
    await (await prepared.save(at))();
  };
  /** Settle when the last checkpoint, and the records written after it, are flushed. */
  let onDisk = Promise.resolve();
  let flushed = onDisk;
  const finish = async (ending: Ending, alreadySaved: boolean): Promise<RunEnd> => {
    await flushed;
    state = {
      ...state,
      status: ending.ok ? 'completed' : 'failed',
      ended: endedAs(ending),
      // Equal to the checkpoint's value, which a resume reports again.
      elapsed_ms: alreadySaved ? state.elapsed_ms : Math.round(elapsed()),
      spent: prepared.books.run(),
    };
    if (!alreadySaved) await saved(state);
    if (ending.ok) {
      await writer.trace({ type: 'PipelineCompleted' });
      await writer.event({ type: 'PipelineCompleted' });
    } else {
      await writer.trace({ type: 'PipelineFailed', error: ending.reason });
      await writer.event({ type: 'PipelineFailed', error: ending.reason });
    }
    await writer.flush();
    return { state, ending, interrupted: false };
  };
  const interrupt = async (at = state): Promise<RunEnd> => {
    await flushed;
    const next = at.next_node ?? '';
    state = {
      ...at,
      status: 'interrupted',
      elapsed_ms: Math.round(elapsed()),
      spent: prepared.books.run(),
    };
    await saved(state);
    await writer.trace({ type: 'PipelineInterrupted', signal: String(signal.reason) });
    await writer.event({ type: 'PipelineInterrupted', signal: String(signal.reason), next_node: next });
    await writer.flush();
    const ending = {
      ok: false,
      exitNode: null,
      reason: `interrupted by ${String(signal.reason)}`,
      code: 130,
    };
    return { state, ending, interrupted: true };
  };
  const suspend = async (at: RunState, waits: Parked): Promise<RunEnd> => {
    await flushed;
    state = {
      ...at,
      status: waits.status,
      parked: waits,
      elapsed_ms: Math.round(elapsed()),
      spent: prepared.books.run(),
    };
    await saved(state);
    const { status, node, reason, wake_at } = waits;
    await writer.trace({ type: 'PipelineParked', status, reason, wake_at });
    await writer.event({ type: 'PipelineParked', status, node_id: node, reason, wake_at });
    await writer.flush();
    const ending = { ok: false, exitNode: null, reason: `${node}: ${reason}`, code: 75 };
    return { state, ending, interrupted: false, parked: waits };
  };
  const stop = (reason: string, disk = false): Promise<RunEnd> =>
    finish({ ok: false, exitNode: null, reason, code: 1, disk }, false);

  /** Turns a success into a failure if the audit rejects it. */
  const audited = async (decision: Step['decision']): Promise<Step['decision']> => {
    if (decision.do !== 'finish' || !decision.ending.ok) return decision;
    const why = await prepared.audit?.();
    if (why === undefined) return decision;
    return { do: 'finish', ending: { ...decision.ending, ok: false, reason: why, code: 1 } };
  };

  const over = (reason: string) =>
    ({ do: 'finish', ending: { ok: false, exitNode: null, reason, code: 1 } }) as const;

  /** Ends a stalled loop with the execution that shows it, so that the checkpoint records the end as well. */
  const stalledOr = (decision: Step['decision'], node: Node, change: Change, before: RunState) => {
    if (decision.do === 'finish' || prepared.stopAfter === node.id) return decision;
    // An exit sends the run back too, if a goal gate is not satisfied.
    const atExit = kindOf(node, prepared.kinds)?.type === 'exit';
    const failing = atExit ? graph.nodes.get(change.now.last_failure?.node ?? '') : node;
    if (failing === undefined) return decision;
    const repeats = atExit ? own(before.alike ?? {}, failing.id) : change.alike;
    const reason = loopStopped(graph, prepared.kinds, failing, decision.node, repeats);
    if (reason === undefined) return decision;
    return over(reason);
  };

  for (;;) {
    if (signal.aborted) return interrupt();
    const id = state.next_node;
    const node = id === null ? undefined : graph.nodes.get(id);
    const kind = node === undefined ? undefined : kindOf(node, prepared.kinds);
    if (node === undefined || kind === undefined)
      throw new Error(`Internal: no node ${id} in a linted graph`);

    const visits = own(state.visits, node.id) ?? 0;
    const wants = readAttributes(node.attrs, executableAttributes).values;
    const maxVisits =
      prepared.caps.maxVisits ??
      readAttributes(node.attrs, commonAttributes).values.max_visits ??
      graphWants.default_max_visits ??
      defaultCaps.maxVisits;
    const { cut_ms: cutMs = 0 } = state;
    const hit = capHit(
      prepared.caps,
      {
        id: node.id,
        maxVisits,
        visits,
        maxWallMs: wants.max_wall,
        elapsedMs: (own(state.node_ms ?? {}, node.id) ?? 0) + cutMs,
      },
      { steps: state.steps, elapsedMs: elapsed() },
    );
    if (hit !== undefined) return stop(hit);
    const overspent = spendHit(
      { caps: prepared.caps, spent: prepared.books.run(), unpriced: prepared.books.unpriced() },
      prepared.caps.unknownCost,
    );
    if (overspent !== undefined) return stop(overspent);
    if (kind.type === 'codergen') {
      const hopeless = unfixableSource(graph, node, wants.allowed_write_paths ?? [], state.last_failure);
      if (hopeless !== undefined) return stop(hopeless);
    }

    const diverged = await setting.replay?.checkNode(node.id, visits + 1, state.steps + 1);
    if (diverged !== undefined) return stop(diverged);

    const nodeDir = layout(setting.runDir).node(node.id);
    const earlierVisits = await openVisit(nodeDir, visits + 1, setting.marker);
    await writer.trace(inputCaptured(setting, node, visits + 1, state, nodeDir, kind.executable));
    await writer.event({ type: 'StageStarted', node_id: node.id, visit: visits + 1, node_type: kind.type });
    const nodeBegan = clock.monotonic();
    const contextBefore = state.context;
    state = { ...state, context: { ...state.context, ...aim, current_node: node.id } };

    const atStart = state;
    await onDisk;
    // Flushes the start records too: a resume looks for them to write the missing records of an execution.
    flushed = writer.flush();
    flushed.catch(() => {});
    const parkedBefore = state.steps === prepared.state.steps ? prepared.parkedBefore : undefined;
    const ended = await executeNode(prepared, writer, {
      node,
      kind,
      state,
      snapshot,
      visit: visits + 1,
      nodeDir,
      elapsed,
      cutMs,
      probes: prepared.waited === true && parkedBefore?.status === 'paused_outage',
    });
    const tookMs = wants.max_wall === undefined ? 0 : cutMs + Math.round(clock.monotonic() - nodeBegan);
    const cut = { ...atStart, context: contextBefore, ...(tookMs === 0 ? {} : { cut_ms: tookMs }) };
    // An unfinished execution leaves no trace in the state; the resume undoes its changes.
    if (ended.kind === 'interrupted') return interrupt(cut);
    if (ended.kind === 'stopped') {
      state = cut;
      return stop(ended.reason, ended.disk);
    }
    const { outcome, usage, replayed } = ended;
    const counts = { ...ended.counts, tookMs };
    const { cut_ms: _, ...whole } = state;
    const before = { state: { ...whole, context: ended.context }, snapshot };
    snapshot = ended.snapshot;

    const at = clock.now().toISOString();
    const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
    const asIfFailed = (failure: Failure) =>
      step(graph, before.state, { ...stage, feedback: factsOf(stage, failure) }, outcome).route;
    const waits =
      outcome.status === 'fail' && outcome.park !== undefined
        ? suspension(outcome, asIfFailed(outcome), {
            node: node.id,
            now: clock.now(),
            before: parkedBefore,
          })
        : undefined;
    if (waits !== undefined) return suspend(cut, waits);
    if (kind.executable) await closeVisit(nodeDir, visits + 1, setting.marker, earlierVisits);
    await keepJson(nodeLayout(nodeDir).status, status(outcome));
    const lastFailure =
      outcome.status === 'fail'
        ? await printable(await feedback(nodeDir, stage, outcome), setting.leaks)
        : {};
    const output = kind.type === 'tool' ? await toolOutput(nodeDir, setting.leaks) : undefined;
    const taken: Step = step(graph, before.state, { ...stage, feedback: lastFailure, output }, outcome);
    const alike = await alikeAfter(
      kind.type,
      before.state,
      {
        node,
        nodeDir,
        workspace: setting.workspace,
        temporary: setting.env['TMPDIR'],
        visit: visits + 1,
        step: taken.change.now.steps,
        outcome,
        before: before.snapshot,
        after: snapshot,
      },
      prepared.snapshotOf ?? (() => Promise.reject(new Error('Internal: no snapshots'))),
    );
    const next: Step = { ...taken, change: { ...taken.change, alike } };
    const planned = stalledOr(await audited(next.decision), node, next.change, before.state);
    const otherRoute = await setting.replay?.checkRoute(next.change);
    const decision = otherRoute === undefined ? planned : over(otherRoute);
    const changed = delta(contextBefore, next.change.now.context);
    state = {
      ...advance(before.state, next.change, counts),
      snapshot: snapshot.id,
      elapsed_ms: Math.round(elapsed()),
      spent: prepared.books.run(),
      ...(decision.do === 'finish'
        ? {
            status: decision.ending.ok ? ('completed' as const) : ('failed' as const),
            ended: endedAs(decision.ending),
          }
        : {}),
    };
    // The checkpoint goes first: events must not report an execution that a resume cannot continue from.
    const asked = kind.executable && kind.type !== 'codergen' ? askedOf(node, setting.variables) : undefined;
    const left = { commands: ended.commands, replayed, asked, usage, ...(await hashArtifacts(nodeDir)) };
    const facts = visited(
      kind.type,
      next.change,
      counts,
      changed,
      before,
      { ...state, snapshot: snapshot.id },
      left,
    );
    await flushed;
    const settled = await prepared.save(state, facts, () => settleVisit(nodeDir, visits + 1));
    onDisk = settled();
    onDisk.catch(() => {});
    if (outcome.status === 'fail') {
      setting.log('info', 'failure detail', {
        node: node.id,
        summary: head(String(lastFailure['last_failure.summary'] ?? ''), mostLogged),
      });
    }
    const took = clock.monotonic() - nodeBegan;
    await writer.event(stageEnded(node.id, visits + 1, outcome, took, usage, replayed !== undefined));
    await writer.event({ type: 'CheckpointSaved', last_completed_node: node.id });
    if (outcome.status === 'fail' && outcome.broke) {
      await writer.trace({ type: 'NodeExecutionErrored', node_id: node.id, error: outcome.reason });
    }
    await writer.trace(
      outputCaptured(
        node.id,
        visits + 1,
        outcome,
        state.context,
        changed,
        state.steps,
        nodeDir,
        usage,
        replayed,
      ),
    );
    if (next.route !== undefined) {
      setting.log('debug', 'route selected', {
        from: node.id,
        to: next.route.edge?.to ?? '',
        how: next.route.how,
      });
      await writer.trace({
        type: 'RouteEvaluated',
        from_node: node.id,
        outcome: outcome.status,
        next_node: next.route.edge?.to ?? '',
        how: next.route.how,
        candidates: next.route.candidates,
      });
    }
    // The next node is prepared while the checkpoint is flushed, and starts after that. The records of this execution are
    // flushed while the next node runs, before the next checkpoint is written. A node that follows itself moves the artifacts
    // of this execution, so it waits for the flush.
    if (decision.do === 'run' && decision.node === node.id) await onDisk;
    flushed = onDisk;
    if (decision.do === 'finish') {
      // A run that has ended stays ended, also if a test stops it here.
      if (prepared.stopAfter === node.id)
        return { ...(await finish(decision.ending, true)), ending: testStop };
      return finish(decision.ending, true);
    }
    if (prepared.stopAfter === node.id) return stop(testStop.reason);
  }
}

const endedAs = (ending: Ending) => ({
  exit_node: ending.exitNode,
  ok: ending.ok,
  reason: ending.reason,
  code: ending.code,
  ...(ending.disk === true ? { disk: true } : {}),
});
