/** Makes the workspace ready with the commands of the project: before the first node, and before a tool or a check again when lock
 *  files have changed. They run in the sandbox of a tool, and are part of the execution that they precede. */
import { failureExcerpt, mostReadOfStream } from '../../core/failure-excerpt.ts';
import { isAgentType } from '../../core/graph.ts';
import { failed, type Outcome, succeeded } from '../../core/outcome.ts';
import { commandProblem } from '../../core/policy/commands.ts';
import { nodeLayout, setupOutputs } from '../../core/records/layout.ts';
import type { SetupRecord } from '../../core/records/visit.ts';
import { settingsOfGraph } from '../../core/settings/typing.ts';
import {
  changedLocks,
  isOwnStepText,
  isSetupUndone,
  readyHash,
  setupAfter,
  setupFailureClass,
} from '../../core/setup.ts';
import { StoreTrouble, WorkspaceError } from '../../platform/files/workspace-error.ts';
import { removeNow } from '../../platform/files/write.ts';
import type { Snapshot } from '../../workspace/snapshot.ts';
import { beginningIn } from '../execute-node.ts';
import { attemptContext } from '../node-context.ts';
import type { Run } from '../run-context.ts';
import { type Execute, type Layer, type LayerContext, LimitReached } from './layer.ts';

type Due = NonNullable<Run['setup']> & {
  /** Lock files that have changed; undefined before the first time. */
  readonly locks: readonly string[] | undefined;
};

type Done = {
  readonly record: SetupRecord;
  /** The workspace with which the node begins. */
  readonly ready: Snapshot;
  /** Why it does not begin. */
  readonly failure?: Outcome;
};

/** `commands` runs them. What they leave is no change of the node. */
export const setup =
  (commands: Execute): Layer =>
  (next) =>
  async (context) => {
    const due = await dueIn(context);
    if (due === undefined) return next(context);
    const { record, ready, failure } = (await fromRecord(context)) ?? (await setUp(context, due, commands));
    const done = { setup: { record, ready } };
    if (failure !== undefined) return { outcome: failure, snapshot: ready, ...done };
    const { run, state } = context;
    const prepared = { ...state, ...setupAfter(state, record, ready.id) };
    const begins = beginningIn(run, prepared, ready);
    return { ...(await next(context.with({ state: prepared, ...begins }))), ...done };
  };

async function dueIn({ run, node, kind, state, before, snapshots }: LayerContext): Promise<Due | undefined> {
  const { setup, files } = run;
  // A branch without a folder has only texts.
  if (setup === undefined || !kind.executable || files !== undefined) return undefined;
  if (!node.settings.needs_setup) return undefined;
  if (state.setup === undefined) return { ...setup, locks: undefined };
  // An agent that has broken a lock file must be able to fix it.
  if (isAgentType(kind.type) || isOwnStepText(node.settings.tool_command ?? '')) return undefined;
  const { sha256, snapshot, before: from } = state.setup;
  const isSame = readyHash(setup.commands, before.tree) === sha256;
  if (isSame && (before.id === snapshot || from === undefined)) return undefined;
  const was = await snapshots.load(snapshot);
  if (isSame && from !== undefined)
    if (!isSetupUndone((await snapshots.load(from)).tree, was.tree, before.tree)) return undefined;
  return { ...setup, locks: changedLocks(was.tree, before.tree) };
}

/** What they left in the replayed run, where the workspace before them is the same. */
async function fromRecord({ run, node, visit, before, snapshots }: LayerContext): Promise<Done | undefined> {
  const was = run.replay?.setupAt(node.id, visit);
  if (was?.record.before !== before.id) return undefined;
  try {
    await snapshots.restore(await snapshots.load(was.ready), undefined, { times: 'now' });
    const ready = await snapshots.take(before);
    if (ready.id === was.ready) return { record: was.record, ready };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble) throw error;
  }
  await snapshots.restore(before);
  return undefined;
}

async function setUp(context: LayerContext, due: Due, commands: Execute): Promise<Done> {
  const { run, node, visit, before, snapshots, signal, clock, writer } = context;
  const kind = run.kinds.find(({ type }) => type === 'tool');
  if (kind === undefined) throw new Error('Internal: no node type "tool"');
  const settings = settingsOfGraph(run.graph, kind, { sees_holdout: false });
  run.log('info', 'setup runs', { node: node.id, commands: due.commands, locks: due.locks ?? [] });
  const began = clock.monotonic();
  const executed = await commands(
    context.with({ node: { ...node, type: kind.type, settings }, kind, isSetup: true }),
  );
  const facts = {
    before: before.id,
    ...(due.locks === undefined ? {} : { locks: due.locks.slice(0, 20) }),
    commands: [...(executed.commands ?? [])],
  };
  const ok = executed.outcome.status === 'success' && executed.unreadable === undefined;
  if (!signal.aborted)
    await writer.event({
      type: 'SetupRan',
      ...{ node_id: node.id, visit, ok, commands: [...due.commands] },
      ...(facts.locks === undefined ? {} : { locks: facts.locks }),
      took_ms: Math.round(clock.monotonic() - began),
    });
  if (ok && !signal.aborted) {
    const { snapshot: ready } = executed;
    return { record: { ...facts, ready_sha256: readyHash(due.commands, ready.tree) }, ready };
  }
  // Half an installation is none.
  await snapshots.restore(before);
  const { unreadable } = executed;
  const failure =
    unreadable === undefined
      ? causedBy(executed.outcome, due)
      : failed(`setup: the workspace cannot be recorded after it: ${unreadable}`, 'config', { broke: true });
  return { record: facts, ready: before, failure };
}

/** Where a node of the run has changed the lock files, that node has to fix what follows. */
function causedBy(outcome: Outcome, { locks = [] }: Due): Outcome {
  if (outcome.status !== 'fail' || outcome.class !== 'config' || locks.length === 0) return outcome;
  const reason = `${outcome.reason}\nchanged since the last time: ${locks.slice(0, 5).join(', ')} (an agent can repair them, or a tool with needs_setup=false)`;
  const { exitCode } = outcome;
  return failed(reason, 'product', exitCode === undefined ? {} : { exitCode });
}

/** The commands run as one attempt at a tool. */
export const setupAttempt: Layer = (next) => async (context) => {
  const { node, nodeDir, budget } = context;
  const left = Math.max(0, budget.timeLeft());
  const { timeout } = node.settings;
  const limit = { ms: Math.min(timeout, left), explicit: left < timeout, runLeftMs: left };
  const executed = await next(
    attemptContext(context, { number: 1, call: 0, repeats: undefined, timeout: limit }),
  );
  const isCut = executed.outcome.status === 'fail' && executed.outcome.class === 'timeout';
  const over = isCut ? budget.outOfTime() : undefined;
  if (over !== undefined) throw new LimitReached(over);
  // What they have written for the engine says nothing of the node.
  const { output, toolState } = nodeLayout(nodeDir);
  for (const path of [output, toolState]) removeNow(path);
  return executed;
};

/** Innermost: the commands in their order, to the first that fails. */
export const runSetup: Execute = async (context) => {
  const { run, before } = context;
  for (const [n, command] of (run.setup?.commands ?? []).entries()) {
    const failure = await failureOf(context, command, n);
    if (failure !== undefined) return { outcome: failure, snapshot: before };
  }
  return { outcome: succeeded(), snapshot: before };
};

async function failureOf(
  { run, processes, files }: LayerContext,
  command: string,
  n: number,
): Promise<Outcome | undefined> {
  const broke = true;
  const what = `setup: ${JSON.stringify(command)} of ${run.setup?.path ?? ''}`;
  const problem = commandProblem(command, processes.homeAndTmp);
  if (problem !== undefined) return failed(`${what} is ${problem}`, 'guardrail', { broke });
  const output = setupOutputs(n);
  const ended = await processes.run({ argv: ['sh', '-c', command], ...output });
  const seconds = ended.kind === 'timed_out' ? Math.round(ended.afterMs / 1000) : 0;
  switch (ended.kind) {
    case 'cancelled':
      return failed('cancelled', 'cancelled', { broke });
    case 'timed_out':
      return failed(
        `${what} was still running after ${seconds}s (default_timeout of the graph is its limit)`,
        'timeout',
        { broke },
      );
    case 'not_found':
      return failed(`${what} cannot start ${ended.program}: ${ended.why}`, 'config', { broke });
    case 'signalled':
      return failed(`${what} was ended by ${ended.signal}`, 'infra', { broke });
    case 'exited': {
      if (ended.code === 0) return undefined;
      const read = async (name: string) => (await files.read(name, mostReadOfStream, 'tail')) ?? '';
      const printed = `${await read(output.stdoutName)}\n${await read(output.stderrName)}`.trim();
      const excerpt = failureExcerpt(printed, { most: 2000, whole: output.stderrName });
      const reason = `${what} ended with exit code ${ended.code}${excerpt === '' ? '' : `:\n${excerpt}`}`;
      return failed(reason, setupFailureClass(printed), { broke, exitCode: ended.code });
    }
  }
}
