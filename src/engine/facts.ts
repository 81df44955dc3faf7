/** Gathers the facts by which `step` decides what follows a finished node. */
import { callEndedAt } from '../core/call-ends.ts';
import type { StepFacts } from '../core/decision.ts';
import { writtenId } from '../core/graph.ts';
import { latestKeysIn } from '../core/latest-keys.ts';
import type { Outcome } from '../core/outcome.ts';
import { isOverridden } from '../core/overridden.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { step } from '../core/step.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { feedback, latestValues, printable, toolOutput } from './feedback.ts';
import type { Execution, ExecutionEnd, Run } from './run-context.ts';
import { repeatedFailure } from './stalled-loop.ts';

/** The facts of an execution that ended with `outcome` at the time `at`. */
export async function gatherFacts(
  run: Run,
  execution: Execution,
  before: { readonly state: RunState; readonly snapshot: Snapshot },
  executed: Pick<Extract<ExecutionEnd, { kind: 'ended' }>, 'outcome' | 'snapshot' | 'joined' | 'opens'>,
  at: string,
  lane: StepFacts['lane'],
): Promise<StepFacts> {
  const { outcome, snapshot: after, joined, opens } = executed;
  const { node, kind, nodeDir } = execution;
  const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
  const call = callEndedAt(before.state, node.id);
  // What fails is the node that called.
  const failing =
    call === undefined
      ? stage
      : { ...stage, node: call.node, type: run.graph.nodes.get(call.node)?.type ?? '' };
  const failure =
    outcome.status === 'fail'
      ? await printable({ ...(await feedback(nodeDir, failing, outcome)), ...joined?.failure }, run.leaks)
      : {};
  const output = kind.type === 'tool' ? await toolOutput(nodeDir, run.leaks) : undefined;
  const named = latestKeysIn(run.graph, run.prompts);
  const written = { ...stage, node: writtenId(run.graph, node.id) };
  const latest = await latestValues(written, nodeDir, named, run.leaks);
  const reason = outcome.status === 'fail' ? await run.leaks?.printable(outcome.reason) : undefined;
  const repeats = await repeatsAfter(run, execution, before, after, outcome);
  const testStop = run.stopAfter === node.id;
  const facts: StepFacts = {
    ...stage,
    feedback: failure,
    printable: reason,
    output,
    latest,
    repeats,
    testStop,
    ...{ lane, joined, opens },
  };
  // Of the rest only what may overrule this: an audit reads the whole run.
  const { change, decision } = step(run.graph, before.state, outcome, facts);
  const endsWell = decision.do === 'finish' && (decision.ending.ok || isOverridden(decision.ending));
  const audit = endsWell ? await run.audit?.() : undefined;
  return { ...facts, audit, replay: await run.replay?.checkRoute(change) };
}

const repeatsAfter = (
  { workspace, env, leaks, snapshots }: Run,
  { node, kind, nodeDir, visit }: Execution,
  before: { readonly state: RunState; readonly snapshot: Snapshot },
  after: Snapshot,
  outcome: Outcome,
) =>
  repeatedFailure(
    kind.type,
    before.state,
    {
      node,
      nodeDir,
      workspace,
      temporary: env['TMPDIR'],
      visit,
      step: before.state.steps + 1,
      outcome,
      before: before.snapshot,
      after,
    },
    (id) => snapshots.load(id),
    (text) => leaks?.printable(text) ?? text,
  );
