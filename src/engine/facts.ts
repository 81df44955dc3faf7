/** Gathers the facts by which `step` decides what follows a finished node. */
import type { StepFacts } from '../core/decision.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { step } from '../core/step.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { feedback, printable, toolOutput } from './feedback.ts';
import type { Execution, PreparedRun } from './run-context.ts';
import { repeatedFailure } from './stalled-loop.ts';

/** The facts of an execution that ended with `outcome` at the time `at`. */
export async function gatherFacts(
  prepared: PreparedRun,
  execution: Execution,
  before: { readonly state: RunState; readonly snapshot: Snapshot },
  after: Snapshot,
  outcome: Outcome,
  at: string,
): Promise<StepFacts> {
  const { setting } = prepared;
  const { node, kind, nodeDir } = execution;
  const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
  const failure =
    outcome.status === 'fail' ? await printable(await feedback(nodeDir, stage, outcome), setting.leaks) : {};
  const output = kind.type === 'tool' ? await toolOutput(nodeDir, setting.leaks) : undefined;
  const reason = outcome.status === 'fail' ? await setting.leaks?.printable(outcome.reason) : undefined;
  const repeats = await repeatsAfter(prepared, execution, before, after, outcome);
  const testStop = prepared.stopAfter === node.id;
  const facts: StepFacts = { ...stage, feedback: failure, printable: reason, output, repeats, testStop };
  // Of the rest only what may overrule this: an audit reads the whole run.
  const { change, decision } = step(setting.graph, before.state, outcome, facts);
  const endsWell = decision.do === 'finish' && decision.ending.ok;
  const audit = endsWell ? await prepared.audit?.() : undefined;
  return { ...facts, audit, replay: await setting.replay?.checkRoute(change) };
}

const repeatsAfter = (
  { setting, snapshots }: PreparedRun,
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
      workspace: setting.workspace,
      temporary: setting.env['TMPDIR'],
      visit,
      step: before.state.steps + 1,
      outcome,
      before: before.snapshot,
      after,
    },
    (id) => snapshots.load(id),
    (text) => setting.leaks?.printable(text) ?? text,
  );
