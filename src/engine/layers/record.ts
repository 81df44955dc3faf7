/** Records what the node and its agent exchange, and what the node changed in the workspace. */
import { sumOfUsages, type Usage } from '../../core/budget/usage.ts';
import type { Agent, AgentAction, CallWait } from '../../core/contracts/agent.ts';
import type { NodeAgent } from '../../core/contracts/node-kind.ts';
import type { JsonObject } from '../../core/json.ts';
import { maskedObject } from '../../core/policy/mask.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import type { SessionLine } from '../../core/records/session.ts';
import { head } from '../../platform/files/read.ts';
import { keepLists } from '../../run/artifacts.ts';
import { unlockNodeDirectory } from '../../run/node-directory.ts';
import { type Recorder, recorder } from '../../run/record.ts';
import { diff } from '../../workspace/diff.ts';
import { type Lookout, lookout } from '../../workspace/walk.ts';
import { markingSecrets } from '../environment.ts';
import { mayShowHoldout, withheldNotice } from '../live-output.ts';
import { type AttemptThread, attemptThread } from '../threads.ts';
import type { Executed, Layer, LayerContext } from './layer.ts';

export const record: Layer = (next) => async (context) => {
  const { run, node, kind, nodeDir, before, secrets } = context;
  const exchange = recorder({
    log: run.exchanges,
    clock: run.clock,
    node,
    nodeDir,
    visit: context.visit,
    attempt: context.attempt.number,
    signal: context.signal,
    mask: secrets.mask,
    hidden: context.hidden,
  });
  const look = lookout(run.workspace);
  const heard = listener(context);
  const thread = attemptThread(context);
  const agent = chosenAgent(context, exchange, look, heard, thread);
  let executed: Executed;
  try {
    executed = await next(context.with({ agent, exchange, lookout: look }));
  } finally {
    await heard.written();
  }
  const { snapshot: after, unreadable } = executed;
  const changes = diff(before, after);
  const shown = (paths: readonly string[]) => paths.map(secrets.mask);
  if (kind.executable) await exchange.save(unreadable === undefined ? { before, after } : undefined);
  await keepLists(nodeLayout(nodeDir).diff, {
    created: shown(changes.created),
    modified: shown(changes.modified),
    deleted: shown(changes.deleted),
  });
  return { ...executed, ...heard.usage(), thread: thread.kept() };
};

/** Actions of an agent per attempt that become events; further ones are only in its log. */
const mostActions = 1000;

/** Writes the actions of an agent as events, one after the other, and adds up what its calls used. */
function listener({ run, node, secrets: { mask }, writer }: LayerContext) {
  let usage: Usage | undefined;
  let actions = 0;
  let writing: Promise<void> = Promise.resolve();
  return {
    written: () => writing,
    usage: () => (usage === undefined ? {} : { usage }),
    acted({ action, detail, status }: AgentAction) {
      actions += 1;
      if (actions > mostActions) return;
      const facts = { action, detail: head(mask(detail), 500), status: head(mask(status), 100) };
      writing = writing.then(() => writer.event({ type: 'AgentActed', node_id: node.id, ...facts }));
      // Awaited when the node has ended; until then a rejection must not count as unhandled.
      writing.catch(() => {});
    },
    waits({ attempt, of, cause, reason, delayMs }: CallWait) {
      const facts = {
        attempt,
        ...(of === undefined ? {} : { of }),
        cause,
        reason: head(mask(reason), 500),
        delay_ms: Math.round(delayMs),
      };
      writing = writing.then(() => writer.event({ type: 'CallRetrying', node_id: node.id, ...facts }));
      writing.catch(() => {});
    },
    spent(used: Usage) {
      usage = sumOfUsages(usage, used);
      run.watcher.spent(node.id, used);
    },
  };
}

/** The node's agent: live or from the record of a replayed run, with its calls limited, checked and recorded. */
function chosenAgent(
  context: LayerContext,
  exchange: Recorder,
  look: Lookout,
  heard: ReturnType<typeof listener>,
  thread: AttemptThread,
): NodeAgent | undefined {
  const { run, node, nodeDir, state, signal, secrets, attempt } = context;
  const chosen = agentOf(context, exchange, thread);
  if (chosen === undefined) return undefined;
  const agent = exchange.listening(markingSecrets(chosen, secrets.heldBy));
  return {
    name: agent.name,
    call: attempt.call,
    thread: thread.open,
    async ask(task, stop) {
      await run.leaks?.beforeAsking(node, task.prompt, state.context);
      try {
        const served = run.agentFor(node)?.serving?.(task) ?? task;
        return thread.after(await agent.work(served, AbortSignal.any([signal, stop])));
      } finally {
        unlockNodeDirectory(nodeDir);
      }
    },
    changedSince: (at) => look.changedSince(at),
    acted: heard.acted,
    waits: heard.waits,
    stream: streamTo(context),
    session: sessionTo(context),
    spent: heard.spent,
  };
}

/** Passes on what the model says, masked. */
function streamTo(context: LayerContext): NodeAgent['stream'] {
  const { run, node, secrets } = context;
  if (!mayShowHoldout(context))
    return (text, channel) => run.watcher.streamed(node.id, secrets.stream(text, channel), channel);
  let isReported = false;
  return () => {
    if (!isReported) run.watcher.streamed(node.id, withheldNotice, 'reasoning');
    isReported = true;
  };
}

/** Passes on the steps of the session, masked as a whole: a step is never cut before. Those of a node that sees the holdout are in
 *  its artifacts only. */
function sessionTo(context: LayerContext): NodeAgent['session'] {
  const { run, node, secrets } = context;
  const { watcher } = run;
  if (watcher.session === undefined || mayShowHoldout(context)) return () => {};
  // What JSON can hold, by its schema.
  return (line) => watcher.session?.(node.id, maskedObject(line as JsonObject, secrets.mask) as SessionLine);
}

function agentOf(context: LayerContext, exchange: Recorder, thread: AttemptThread): Agent | undefined {
  const { run, node, visit, snapshots, attempt, budget, hidden, secrets } = context;
  const { mask } = secrets;
  const configured = run.agentFor(node);
  // Only live agents cost: replayed answers were paid for by the recorded run.
  const live =
    configured === undefined
      ? undefined
      : thread.continuing(budget.calls.paying(configured, attempt.number, mask));
  const replayed = (line: number) => exchange.replayed(line);
  return run.replay?.agentFor({ node: node.id, visit, snapshots, live, hidden, mask, replayed }) ?? live;
}
