/** The run loop: from the checkpoint's next node to an end. */
import type { RunEnd, RunEnding, RunPlan, Stop } from '../core/decision.ts';
import { truthGate } from '../core/gates.ts';
import type { Outcome, SuspendedRun } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { endingFromRecord, failing, plan, step, suspendedBy } from '../core/step.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { type Decided, openRecords, type RunRecords } from './commit.ts';
import { executeNode, resumedSuspension } from './execute-node.ts';
import { gatherFacts } from './facts.ts';
import { failureFacts } from './feedback.ts';
import type { Execution, ExecutionEnd, PreparedRun } from './run-context.ts';

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function runLoop(prepared: PreparedRun): Promise<RunEnd> {
  const records = openRecords(prepared);
  let { state, snapshot } = prepared;
  for (;;) {
    const next = await planned(prepared, state, records.elapsed());
    if (next.do !== 'execute') return records.end(state, next);
    const execution = await records.begin(next, state.context);
    const executed = await executeNode(prepared, records, execution, snapshot);
    const decided = await decide(prepared, records, { state, snapshot }, execution, executed);
    if ('do' in decided) return records.end(unfinished(prepared, execution, state), decided);
    state = await records.commit(decided);
    snapshot = decided.executed.snapshot;
    if (decided.facts.testStop === true) return endOfTest(records, state);
  }
}

/** What the run does now; a replay is asked only about a node that would start. */
async function planned(prepared: PreparedRun, state: RunState, elapsedMs: number): Promise<RunPlan> {
  const { setting, kinds, caps, books } = prepared;
  const interrupted = prepared.signal.aborted;
  const facts = { kinds, caps, elapsedMs, spent: books.run(), unpriced: books.unpriced(), interrupted };
  const next = plan(setting.graph, state, facts);
  if (next.do !== 'execute' || setting.replay === undefined) return next;
  const replay = await setting.replay.checkNode(next.node.id, next.visit, state.steps + 1);
  return plan(setting.graph, state, { ...facts, replay });
}

/** What follows the execution: a stop that leaves the node to a resume, or a step to commit. */
async function decide(
  prepared: PreparedRun,
  records: RunRecords,
  { state, snapshot }: { readonly state: RunState; readonly snapshot: Snapshot },
  execution: Execution,
  executed: ExecutionEnd,
): Promise<Stop | Decided> {
  const tookMs = timeOf(prepared, execution, state);
  if (executed.kind !== 'ended') return stopOf(executed);
  const { graph, clock } = prepared.setting;
  const { cut_ms: _, ...whole } = execution.state;
  const before = { state: { ...whole, context: executed.context }, snapshot };
  const outcome = truthGate(execution, state, executed.outcome);
  const at = clock.now().toISOString();
  const parked = suspension(prepared, execution, before.state, outcome, at);
  if (parked !== undefined) return { do: 'suspend', parked };
  await records.close(execution, outcome);
  const facts = await gatherFacts(prepared, execution, before, executed.snapshot, outcome, at);
  return { execution, executed, before, tookMs, facts, step: step(graph, before.state, outcome, facts) };
}

/** Milliseconds of the execution and of those that were interrupted before it. */
const timeOf = ({ setting }: PreparedRun, { began }: Execution, { cut_ms = 0 }: RunState): number =>
  cut_ms + Math.round(setting.clock.monotonic() - began);

/** The state after an execution that did not end: it leaves no trace, and the resume undoes its changes. */
const unfinished = (prepared: PreparedRun, execution: Execution, state: RunState): RunState => ({
  ...state,
  cut_ms: timeOf(prepared, execution, state),
});

const stopOf = (executed: Exclude<ExecutionEnd, { kind: 'ended' }>): Stop =>
  executed.kind === 'interrupted'
    ? { do: 'interrupt' }
    : { do: 'finish', ending: failing(executed.reason, executed.disk) };

function suspension(
  prepared: PreparedRun,
  { node, kind }: Execution,
  before: RunState,
  outcome: Outcome,
  at: string,
): SuspendedRun | undefined {
  if (outcome.status !== 'fail') return undefined;
  const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
  const facts = { ...stage, feedback: failureFacts(stage, outcome) };
  return suspendedBy(prepared.setting.graph, before, outcome, facts, resumedSuspension(prepared, before));
}

/** Test only: simulates a crash after a node, so that the end is not recorded. */
export const testStop: RunEnding = failing('test_stop');

/** A run that has ended stays ended, also if a test stops it here. */
async function endOfTest(records: RunRecords, state: RunState): Promise<RunEnd> {
  const ending = state.ended === null ? testStop : endingFromRecord(state.ended);
  return { ...(await records.end(state, { do: 'finish', ending })), ending: testStop };
}
