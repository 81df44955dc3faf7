/** Writes what the loop has decided: the start of an execution, its commit, the end of the run. */
import type { RunState } from '../model/checkpoint.ts';
import type { EventFacts } from '../model/event.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import type { Outcome } from '../model/outcome.ts';
import type { TraceFacts } from '../model/trace.ts';
import { hashArtifacts } from '../store/artifact-hashes.ts';
import { head } from '../system/read.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { keepJson } from './artifacts.ts';
import { delta } from './context.ts';
import type { NextExecution, RunEnding, Step, StepFacts, Stop } from './decision.ts';
import { closeVisit, openVisit, settleVisit } from './node-dir.ts';
import { inputCaptured, outputCaptured, stageEnded, status, visited } from './records.ts';
import { askedOf } from './replay-visit.ts';
import type { Execution, ExecutionEnd, PreparedRun, RunEnd } from './run-context.ts';
import { advance } from './state.ts';
import { failing, recordedEnd } from './step.ts';
import { type EventWriter, eventWriter } from './teller.ts';

/** Bytes of a failure's summary in the log. */
const mostLogged = 2200;

/** An execution that has ended, and what was decided of it. */
export type Decided = {
  readonly execution: Execution;
  readonly executed: Extract<ExecutionEnd, { kind: 'ended' }>;
  readonly before: { readonly state: RunState; readonly snapshot: Snapshot };
  readonly tookMs: number;
  readonly facts: StepFacts;
  readonly step: Step;
};

/** The records of a run, in the order in which a crash between any two of them loses nothing. */
export interface RunRecords {
  readonly writer: EventWriter;
  /** Milliseconds of the run so far, over all resumes. */
  elapsed(): number;
  /** Prepares the node's directory and records the start, once the checkpoint before it is flushed. */
  begin(next: NextExecution, contextBefore: RunState['context']): Promise<Execution>;
  /** After all processes of the execution have ended: closes the node's directory, and writes its `status.json`. */
  close(execution: Execution, outcome: Outcome): Promise<void>;
  /** Commits the execution: the line of the journal with the checkpoint, then events and trace. Returns the new state. */
  commit(decided: Decided): Promise<RunState>;
  end(state: RunState, stop: Stop): Promise<RunEnd>;
}

export function openRecords(prepared: PreparedRun): RunRecords {
  const { setting, books } = prepared;
  const { clock } = setting;
  const began = clock.monotonic();
  const elapsed = () => prepared.state.elapsed_ms + (clock.monotonic() - began);
  const writer = eventWriter(prepared);
  /** Settle when the last checkpoint, and the records written after it, are flushed. */
  let onDisk = Promise.resolve();
  let flushed = onDisk;

  return {
    writer,
    elapsed,
    async begin(next, contextBefore) {
      const { node, kind, visit, state } = next;
      const nodeDir = layout(setting.runDir).node(node.id);
      const earlierVisits = await openVisit(nodeDir, visit, setting.marker);
      const seen = { ...state, context: contextBefore };
      await writer.trace(inputCaptured(setting, node, visit, seen, nodeDir, kind.executable));
      await writer.event({ type: 'StageStarted', node_id: node.id, visit, node_type: kind.type });
      const stageBegan = clock.monotonic();
      await onDisk;
      // Flushes the start records too: a resume looks for them to write the missing records of an execution.
      flushed = writer.flush();
      flushed.catch(() => {});
      return { ...next, nodeDir, earlierVisits, began: stageBegan, contextBefore };
    },
    async close({ kind, nodeDir, visit, earlierVisits }, outcome) {
      if (kind.executable) await closeVisit(nodeDir, visit, setting.marker, earlierVisits);
      await keepJson(nodeLayout(nodeDir).status, status(outcome));
    },
    async commit(decided) {
      const { node, visit, nodeDir } = decided.execution;
      const { decision } = decided.step;
      const { state, line, changed } = await committed(prepared, decided, elapsed());
      // The checkpoint goes first: events must not report an execution that a resume cannot continue from.
      await flushed;
      const settled = await prepared.save(state, line, () => settleVisit(nodeDir, visit));
      onDisk = settled();
      onDisk.catch(() => {});
      await writeEnd(prepared, writer, decided, state, changed);
      // The next node is prepared while the checkpoint is flushed, and starts after that. The records of this execution are
      // flushed while the next node runs, before the next checkpoint is written. A node that follows itself moves the
      // artifacts of this execution, so it waits for the flush.
      if (decision.do === 'run' && decision.node === node.id) await onDisk;
      flushed = onDisk;
      return state;
    },
    async end(at, stop) {
      await flushed;
      // The checkpoint of a run that ended with a node has the end already, which a resume reports again.
      const isSaved = at.ended !== null;
      const ends = isSaved ? {} : { ...ended(stop), elapsed_ms: Math.round(elapsed()) };
      const state = { ...at, ...ends, spent: books.run() };
      if (!isSaved) {
        await writer.flush();
        await (await prepared.save(state))();
      }
      const { trace, event, end } = endRecords(state, stop, String(prepared.signal.reason));
      await writer.trace(trace);
      await writer.event(event);
      await writer.flush();
      return { state, ...end };
    },
  };
}

/** The state after the execution, and its line for the journal. */
async function committed(prepared: PreparedRun, decided: Decided, elapsedMs: number) {
  const { execution, executed, before, tookMs, step } = decided;
  const { node, kind, nodeDir } = execution;
  const { commands, toolState, replayed, usage, snapshot } = executed;
  const counts = { ...executed.counts, tookMs };
  const changed = delta(execution.contextBefore, step.change.now.context);
  const state: RunState = {
    ...advance(before.state, step.change, counts),
    snapshot: snapshot.id,
    ...(toolState === undefined ? {} : { tool_state: toolState }),
    elapsed_ms: Math.round(elapsedMs),
    spent: prepared.books.run(),
    ...(step.decision.do === 'finish' ? ended(step.decision) : {}),
  };
  const isReplayable = kind.executable && kind.type !== 'codergen';
  const asked = isReplayable ? askedOf(node, prepared.setting.variables) : undefined;
  const left = { commands, toolState, replayed, asked, usage, ...(await hashArtifacts(nodeDir)) };
  const line = visited(
    kind.type,
    step.change,
    counts,
    changed,
    before,
    { ...state, snapshot: snapshot.id },
    left,
  );
  return { state, line, changed };
}

/** The events and trace records of an execution that is committed. */
async function writeEnd(
  { setting }: PreparedRun,
  writer: EventWriter,
  { execution, executed, facts, step }: Decided,
  state: RunState,
  changed: ReturnType<typeof delta>,
): Promise<void> {
  const { node, visit, nodeDir } = execution;
  const { usage, replayed } = executed;
  const outcome = step.change.now.last_outcome;
  if (outcome.status === 'fail') {
    const summary = head(String(facts.feedback['last_failure.summary'] ?? ''), mostLogged);
    setting.log('info', 'failure detail', { node: node.id, summary });
  }
  const took = setting.clock.monotonic() - execution.began;
  await writer.event(stageEnded(node.id, visit, outcome, took, usage, replayed !== undefined));
  await writer.event({ type: 'CheckpointSaved', last_completed_node: node.id });
  if (outcome.status === 'fail' && outcome.broke)
    await writer.trace({ type: 'NodeExecutionErrored', node_id: node.id, error: outcome.reason });
  await writer.trace(
    outputCaptured(node.id, visit, outcome, state.context, changed, state.steps, nodeDir, usage, replayed),
  );
  if (step.route === undefined) return;
  const { edge, how, candidates } = step.route;
  setting.log('debug', 'route selected', { from: node.id, to: edge?.to ?? '', how });
  await writer.trace({
    type: 'RouteEvaluated',
    from_node: node.id,
    outcome: outcome.status,
    next_node: edge?.to ?? '',
    how,
    candidates,
  });
}

/** What the state says of a run that stops. */
function ended(stop: Stop): Partial<RunState> {
  switch (stop.do) {
    case 'finish':
      return { status: stop.ending.ok ? 'completed' : 'failed', ended: recordedEnd(stop.ending) };
    case 'suspend':
      return { status: stop.parked.status, parked: stop.parked };
    case 'interrupt':
      return { status: 'interrupted' };
  }
}

/** The last records of a run that stops, and how it has ended for its caller. */
function endRecords(
  state: RunState,
  stop: Stop,
  signal: string,
): {
  readonly trace: TraceFacts;
  readonly event: EventFacts;
  readonly end: Omit<RunEnd, 'state'>;
} {
  const ends = (ending: RunEnding, more: Partial<RunEnd> = {}) => ({ ending, interrupted: false, ...more });
  switch (stop.do) {
    case 'finish': {
      const { ending } = stop;
      const record: EventFacts & TraceFacts = ending.ok
        ? { type: 'PipelineCompleted' }
        : { type: 'PipelineFailed', error: ending.reason };
      return { trace: record, event: record, end: ends(ending) };
    }
    case 'suspend': {
      const { status, node, reason, wake_at } = stop.parked;
      return {
        trace: { type: 'PipelineParked', status, reason, wake_at },
        event: { type: 'PipelineParked', status, node_id: node, reason, wake_at },
        end: ends({ ...failing(`${node}: ${reason}`), code: 75 }, { parked: stop.parked }),
      };
    }
    case 'interrupt':
      return {
        trace: { type: 'PipelineInterrupted', signal },
        event: { type: 'PipelineInterrupted', signal, next_node: state.next_node ?? '' },
        end: ends({ ...failing(`interrupted by ${signal}`), code: 130 }, { interrupted: true }),
      };
  }
}
