/** The run loop: from the checkpoint's next node to an end. */
import type { RunState } from '../model/checkpoint.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Parked } from '../model/park.ts';
import { openRecords } from './commit.ts';
import type { Ending, Plan, Stop } from './decision.ts';
import { executeNode } from './execute-node.ts';
import { gatherFacts } from './facts.ts';
import { factsOf } from './feedback.ts';
import { truthGate } from './gates.ts';
import type { Execution, ExecutionEnd, PreparedRun, RunEnd } from './run-context.ts';
import { endingOf, failing, plan, step, suspendedBy } from './step.ts';

/** Test only: simulates a crash after a node, so that the end is not recorded. */
export const testStop: Ending = failing('test_stop');

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function run(prepared: PreparedRun): Promise<RunEnd> {
  const { graph } = prepared.setting;
  const records = openRecords(prepared);
  let { state, snapshot } = prepared;
  for (;;) {
    const next = await planned(prepared, state, records.elapsed());
    if (next.do !== 'execute') return records.end(state, next);

    const execution = await records.begin(next, state.context);
    // Only the first execution of this process can be the one for which the run was suspended.
    const resumes = state.steps === prepared.state.steps ? prepared.parkedBefore : undefined;
    const probes = prepared.waited === true && resumes?.status === 'paused_outage';
    const executed = await executeNode(prepared, records, execution, snapshot, probes);
    const tookMs = timeOf(prepared, execution, state);
    // An unfinished execution leaves no trace in the state; the resume undoes its changes.
    const unfinished = { ...state, ...(tookMs === 0 ? {} : { cut_ms: tookMs }) };
    if (executed.kind !== 'ended') return records.end(unfinished, stopOf(executed));

    const before = { state: { ...withoutCut(next.state), context: executed.context }, snapshot };
    const outcome = truthGate(next, state, executed.outcome);
    const at = prepared.setting.clock.now().toISOString();
    const parked = suspension(prepared, execution, before.state, outcome, at, resumes);
    if (parked !== undefined) return records.end(unfinished, { do: 'suspend', parked });

    await records.close(execution, outcome);
    const facts = await gatherFacts(prepared, execution, before, executed.snapshot, outcome, at);
    const decided = step(graph, before.state, outcome, facts);
    state = await records.commit({ execution, executed, before, tookMs, facts, step: decided });
    snapshot = executed.snapshot;
    if (facts.testStop === true) return endOfTest(records, state);
  }
}

/** What the run does now; a replay is asked only about a node that would start. */
async function planned(prepared: PreparedRun, state: RunState, elapsedMs: number): Promise<Plan> {
  const { setting, kinds, caps, books } = prepared;
  const interrupted = prepared.signal.aborted;
  const facts = { kinds, caps, elapsedMs, spent: books.run(), unpriced: books.unpriced(), interrupted };
  const next = plan(setting.graph, state, facts);
  if (next.do !== 'execute' || setting.replay === undefined) return next;
  const replay = await setting.replay.checkNode(next.node.id, next.visit, state.steps + 1);
  return plan(setting.graph, state, { ...facts, replay });
}

/** Milliseconds of the execution and of those that were interrupted before it; 0 for a node without a limit on its time. */
function timeOf({ setting }: PreparedRun, { node, began }: Execution, { cut_ms = 0 }: RunState): number {
  if (node.settings.max_wall === undefined) return 0;
  return cut_ms + Math.round(setting.clock.monotonic() - began);
}

const stopOf = (executed: Exclude<ExecutionEnd, { kind: 'ended' }>): Stop =>
  executed.kind === 'interrupted'
    ? { do: 'interrupt' }
    : { do: 'finish', ending: failing(executed.reason, executed.disk) };

const withoutCut = ({ cut_ms: _, ...state }: RunState): RunState => state;

function suspension(
  { setting }: PreparedRun,
  { node, kind }: Execution,
  before: RunState,
  outcome: Outcome,
  at: string,
  resumes: Parked | undefined,
): Parked | undefined {
  if (outcome.status !== 'fail') return undefined;
  const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
  const facts = { ...stage, feedback: factsOf(stage, outcome) };
  return suspendedBy(setting.graph, before, outcome, facts, resumes);
}

/** A run that has ended stays ended, also if a test stops it here. */
async function endOfTest(records: ReturnType<typeof openRecords>, state: RunState): Promise<RunEnd> {
  const ending = state.ended === null ? testStop : endingOf(state.ended);
  return { ...(await records.end(state, { do: 'finish', ending })), ending: testStop };
}
