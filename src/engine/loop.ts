/** The run loop: from the checkpoint's next node to an end. */
import type { RunEnd, RunEnding, RunPlan, Stop } from '../core/decision.ts';
import { shortText, shown } from '../core/diagnostic.ts';
import { truthGate } from '../core/gates.ts';
import { type Outcome, pausedBy, type SuspendedRun } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { Question } from '../core/records/question.ts';
import { endingFromRecord, failing, plan, step, suspendedBy } from '../core/step.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { type Decided, openRecords, type RunRecords } from './commit.ts';
import { executeNode, resumedSuspension } from './execute-node.ts';
import { gatherFacts } from './facts.ts';
import { failureFacts } from './feedback.ts';
import type { Execution, ExecutionEnd, Run } from './run-context.ts';

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function runLoop(run: Run): Promise<RunEnd> {
  const records = openRecords(run);
  let { state, snapshot } = run;
  for (;;) {
    const next = await planned(run, state, records.elapsed());
    if (next.do !== 'execute') return records.end(state, next);
    const execution = await records.begin(next, state.context);
    const executed = await executeNode(run, records, execution, snapshot);
    const decided = await decide(run, records, { state, snapshot }, execution, executed);
    if ('do' in decided) return records.end(unfinished(run, execution, state), decided);
    state = await records.commit(decided);
    snapshot = decided.executed.snapshot;
    if (decided.facts.testStop === true) return endOfTest(records, state);
  }
}

/** What the run does now; a replay is asked only about a node that would start. */
async function planned(run: Run, state: RunState, elapsedMs: number): Promise<RunPlan> {
  const { kinds, caps, costs } = run;
  const interrupted = run.signal.aborted;
  const facts = { kinds, caps, elapsedMs, spent: costs.run(), unpriced: costs.unpriced(), interrupted };
  const next = plan(run.graph, state, facts);
  if (next.do !== 'execute' || run.replay === undefined) return next;
  const replay = await run.replay.checkNode(next.node.id, next.visit, state.steps + 1);
  return plan(run.graph, state, { ...facts, replay });
}

/** What follows the execution: a stop that leaves the node to a resume, or a step to commit. */
async function decide(
  run: Run,
  records: RunRecords,
  { state, snapshot }: { readonly state: RunState; readonly snapshot: Snapshot },
  execution: Execution,
  executed: ExecutionEnd,
): Promise<Stop | Decided> {
  const tookMs = timeOf(run, execution, state);
  if (executed.kind === 'asks') return asking(state, executed.question);
  // Waiting is no outcome: no edge takes it.
  if (executed.kind === 'waits') return { do: 'suspend', parked: executed.parked };
  if (executed.kind !== 'ended') return stopOf(executed);
  const { graph, clock } = run;
  const { cut_ms: _, ...whole } = execution.state;
  const before = { state: { ...whole, context: executed.context }, snapshot };
  const outcome = truthGate(execution, state, executed.outcome);
  const at = clock.now().toISOString();
  const parked = suspension(run, execution, before.state, outcome, at);
  if (parked !== undefined) return { do: 'suspend', parked };
  await records.close(execution, outcome);
  const facts = await gatherFacts(run, execution, before, executed.snapshot, outcome, at);
  return { execution, executed, before, tookMs, facts, step: step(graph, before.state, outcome, facts) };
}

/** Milliseconds of the execution and of those that were interrupted before it. */
const timeOf = ({ clock }: Run, { began }: Execution, { cut_ms = 0 }: RunState): number =>
  cut_ms + Math.round(clock.monotonic() - began);

/** The state after an execution that did not end: it leaves no trace, and the resume undoes its changes. */
const unfinished = (run: Run, execution: Execution, state: RunState): RunState => ({
  ...state,
  cut_ms: timeOf(run, execution, state),
});

const stopOf = (executed: Exclude<ExecutionEnd, { kind: 'ended' | 'asks' | 'waits' }>): Stop =>
  executed.kind === 'interrupted'
    ? { do: 'interrupt' }
    : { do: 'finish', ending: failing(executed.reason, executed.disk) };

/** Waiting is no outcome: no edge takes it, and the resume asks the same question. */
const asking = (before: RunState, question: Question): Stop => ({
  do: 'suspend',
  parked: {
    status: pausedBy('answer'),
    node: question.node,
    reason: `waits for an answer: ${shortText(question.text.replace(/\s+/g, ' '), shown.name)}`,
    wake_at: question.deadline,
    since: question.asked_at,
  },
  ...(before.question === question ? {} : { question }),
});

function suspension(
  run: Run,
  { node, kind }: Execution,
  before: RunState,
  outcome: Outcome,
  at: string,
): SuspendedRun | undefined {
  if (outcome.status !== 'fail') return undefined;
  const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
  const facts = { ...stage, feedback: failureFacts(stage, outcome) };
  return suspendedBy(run.graph, before, outcome, facts, resumedSuspension(run, before));
}

/** Test only: simulates a crash after a node, so that the end is not recorded. */
export const testStop: RunEnding = failing('test_stop');

/** A run that has ended stays ended, also if a test stops it here. */
async function endOfTest(records: RunRecords, state: RunState): Promise<RunEnd> {
  const ending = state.ended === null ? testStop : endingFromRecord(state.ended);
  return { ...(await records.end(state, { do: 'finish', ending })), ending: testStop };
}
