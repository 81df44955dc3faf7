/** The run loop: from the checkpoint's next node to an end. */
import type { RunEnd, RunEnding, RunPlan, Stop } from '../core/decision.ts';
import { shortText, shown } from '../core/diagnostic.ts';
import { hasOpenBranches, nextNodes } from '../core/fork.ts';
import { truthGate } from '../core/gates.ts';
import { own } from '../core/json.ts';
import { type Outcome, pausedBy, type SuspendedRun } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { Question } from '../core/records/question.ts';
import { endingFromRecord, failing, plan, step, suspendedBy } from '../core/step.ts';
import type { NextInBranch } from '../run/recorded-order.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { isEarly } from './branch-wake.ts';
import { runBranches } from './branches.ts';
import { type Decided, openRecords, type RunRecords } from './commit.ts';
import { executeNode } from './execute-node.ts';
import { gatherFacts } from './facts.ts';
import { failureFacts } from './feedback.ts';
import type { EndInBranches, Execution, ExecutionEnd, Run } from './run-context.ts';
import { type LaneEnd, type RunLane, RunProgress, stateOf } from './run-lane.ts';

/** Runs from the checkpoint's next node to an end. Rejects only when the run directory cannot be written. */
export async function runLoop(run: Run): Promise<RunEnd> {
  const records = openRecords(run);
  const progress = new RunProgress(run.state);
  const end = await runAll({ run, progress, records });
  const { state } = progress;
  // Only a branch ends without one.
  const { stop = { do: 'finish', ending: testStop }, cutMs, cutBranches } = end;
  if (stop.do === 'finish' && stop.ending === testStop) return endOfTest(records, state);
  return records.end(cutMs === undefined ? state : { ...state, cut_ms: cutMs }, stop, cutBranches);
}

/** As `runLane`, until no branch of a replay waits any more. */
async function runAll(lane: RunLane): Promise<LaneEnd> {
  const end = await runLane(lane);
  const { run, progress } = lane;
  const [first] = end.waits === true ? nextInBranches(progress.state) : [];
  if (first === undefined) return end;
  const stop = await run.replay?.checkWaiting(first);
  const { snapshot } = end;
  if (stop === undefined) return runAll({ ...lane, run: { ...run, snapshot } });
  return { stop: { do: 'finish', ending: failing(stop) }, snapshot };
}

const nextInBranches = (state: RunState): readonly NextInBranch[] =>
  nextNodes(state).flatMap(({ node, branch }) =>
    branch === undefined ? [] : [{ node, branch, visit: (own(state.visits, node) ?? 0) + 1 }],
  );

/** Executes nodes until the run or the branch ends, or stops. */
export async function runLane(lane: RunLane): Promise<LaneEnd> {
  const { progress, records } = lane;
  let { run } = lane;
  let { snapshot } = run;
  for (;;) {
    if (hasOpenBranches(stateOf(lane))) {
      const met = await runBranches(lane, snapshot, runLane);
      if (met.stop !== undefined || met.waits === true) return met;
      snapshot = met.snapshot;
    }
    const state = stateOf(lane);
    if (run.branch !== undefined && isEarly(run, progress.state, run.branch))
      return { waits: true, snapshot };
    const next = await planned(run, state, records.elapsed());
    if (next.do !== 'execute') return { stop: next, snapshot };
    const execution = await records.begin(next, progress);
    const executed = await executeNode(run, records, execution, snapshot);
    const decided = await progress.inTurn(() => conclude({ ...lane, run }, execution, executed, snapshot));
    if ('do' in decided) return { stop: decided, cutMs: timeOf(run, execution, state), snapshot };
    snapshot = decided.executed.snapshot;
    if (decided.facts.testStop === true) return { stop: { do: 'finish', ending: testStop }, snapshot };
    if (decided.step.decision.do === 'end_branch') return { snapshot };
    // What is known of a run is kept by this object.
    if (run.parkedBefore !== undefined) run = { ...run, parkedBefore: undefined };
  }
}

/** What the run does now; a replay is asked only about a node that would start. */
async function planned(run: Run, state: RunState, elapsedMs: number): Promise<RunPlan> {
  const { kinds, caps, costs } = run;
  const interrupted = run.signal.aborted || run.stopAsked?.() !== undefined || run.limitReached?.() === true;
  const facts = { kinds, caps, elapsedMs, spent: costs.run(), unpriced: costs.unpriced(), interrupted };
  const next = plan(run.graph, state, facts);
  if (next.do !== 'execute' || run.replay === undefined) return next;
  const { node, visit } = next;
  const step = state.steps + 1;
  const replay = await run.replay.checkNode({ node: node.id, visit, step, branch: run.branch });
  return plan(run.graph, state, { ...facts, replay });
}

/** Commits what follows the execution; a stop leaves the node to a resume. */
async function conclude(
  lane: RunLane,
  execution: Execution,
  executed: ExecutionEnd,
  snapshot: Snapshot,
): Promise<Stop | Decided> {
  const { progress, records } = lane;
  const decided = await decide(lane, { state: stateOf(lane), snapshot }, execution, executed);
  if (!('do' in decided)) progress.state = await records.commit(decided, progress.state);
  return decided;
}

async function decide(
  { run, records, lane }: RunLane,
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
  const { cut_ms: _, ...whole } = state;
  const before = {
    state: { ...whole, context: executed.context },
    snapshot: executed.setup?.ready ?? snapshot,
  };
  const outcome = truthGate(execution, state, executed.outcome);
  const at = clock.now().toISOString();
  const parked = suspension(run, execution, before.state, outcome, at);
  if (parked !== undefined) return { do: 'suspend', parked };
  await records.close(execution, outcome);
  const facts = await gatherFacts(run, execution, before, { ...executed, outcome }, at, lane);
  return { execution, executed, before, tookMs, facts, step: step(graph, before.state, outcome, facts) };
}

/** Milliseconds of the execution and of those that were interrupted before it. */
const timeOf = ({ clock }: Run, { began }: Execution, { cut_ms = 0 }: RunState): number =>
  cut_ms + Math.round(clock.monotonic() - began);

const stopOf = (executed: Exclude<ExecutionEnd, { kind: 'ended' | 'asks' | 'waits' }>): Stop =>
  executed.kind === 'interrupted'
    ? { do: 'interrupt' }
    : { do: 'finish', ending: { ...failing(executed.reason, executed.disk), ...inBranches(executed) } };

const inBranches = ({ ofBranch, orderly }: EndInBranches): EndInBranches => ({
  ...(ofBranch === undefined ? {} : { ofBranch }),
  ...(orderly === undefined ? {} : { orderly }),
});

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
  return suspendedBy(run.graph, before, outcome, facts, run.parkedBefore, run.caps.max_windows);
}

/** Test only: simulates a crash after a node, so that the end is not recorded. */
export const testStop: RunEnding = failing('test_stop');

/** A run that has ended stays ended, also if a test stops it here. */
async function endOfTest(records: RunRecords, state: RunState): Promise<RunEnd> {
  const ending = state.ended === null ? testStop : endingFromRecord(state.ended);
  return { ...(await records.end(state, { do: 'finish', ending })), ending: testStop };
}
