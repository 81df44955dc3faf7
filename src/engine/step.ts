/** Decides what follows a finished node. Pure, so that a resume is the same loop entered in the middle. */
import { present } from '../model/attribute.ts';
import { type LastFailure, nodeOutcome, type RunState } from '../model/checkpoint.ts';
import { isGate } from '../model/goal-gate.ts';
import type { Graph } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { reasonOf, toldReason } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { conditionLookup } from './context.ts';
import { type Redirect, redirect, type Unmet, unmetGates } from './gates.ts';
import type { Route } from './route.ts';
import { route } from './route.ts';
import type { Change } from './state.ts';

/** How a run ends. `code` is the process's exit code. */
export type Ending = {
  readonly ok: boolean;
  readonly exitNode: string | null;
  readonly reason: string;
  readonly code: number;
  /** True if a disk error ended the run. */
  readonly disk?: boolean;
};

export type Step = {
  readonly change: Change;
  /** Undefined for an exit node that ends the run. */
  readonly route: Route | undefined;
  readonly decision:
    | { readonly do: 'run'; readonly node: string }
    | { readonly do: 'finish'; readonly ending: Ending };
};

/** The facts about a finished node besides its outcome. */
export type StageFacts = {
  readonly node: string;
  /** The kind's name: `tool`, `exit`, … */
  readonly type: string;
  readonly executable: boolean;
  /** `last_failure.*` for a failed node, read from its artifacts. */
  readonly feedback: { readonly [key: string]: Json };
  /** The end of what a tool printed. */
  readonly output?: string | undefined;
  readonly at: string;
};

/** The change of the state by `outcome`, and the next node or the end. */
export function step(graph: Graph, before: RunState, stage: StageFacts, outcome: Outcome): Step {
  const change = complete(before, stage, outcome);
  if (stage.type === 'exit') return atExit(graph, before, change);
  const way = route(graph, stage.node, outcome, conditionLookup(change.now.context, outcome));
  if (way.edge === undefined) {
    const jump = gateJump(graph, change, outcome);
    if (jump?.target !== undefined) return { ...sentBack(change, jump, stage.node), route: way };
    const because =
      outcome.status === 'fail' ? toldReason(outcome.reason, outcome.attribution) : reasonOf(outcome);
    const noRoute = `no route from node ${stage.node} for outcome ${outcome.status}${because === '' ? '' : `: ${because}`}${jump?.why ?? ''}`;
    // Without an edge to verification the limit ends the run.
    const reason = outcome.status === 'fail' && outcome.class === 'budget' ? outcome.reason : noRoute;
    const ending = { ok: false, exitNode: null, reason, code: failureCode(change.now.last_failure) };
    // A resume executes the node again that no edge could leave.
    return {
      change: leading(change, stage.node, before.arrived),
      route: way,
      decision: { do: 'finish', ending },
    };
  }
  const arrived = { from: stage.node, conditional: way.how === 'condition' };
  return {
    change: leading(change, way.edge.to, arrived),
    route: way,
    decision: { do: 'run', node: way.edge.to },
  };
}

const leading = (change: Change, next_node: string | null, arrived: RunState['arrived']): Change => ({
  ...change,
  now: { ...change.now, next_node, arrived },
});

/** The change without the next node. */
function complete(before: RunState, stage: StageFacts, outcome: Outcome): Change {
  const context = mergedContext(before, stage, outcome);
  const model =
    outcome.status !== 'fail'
      ? undefined
      : // A tool that reports class `agent` has checked a model's answer, which is then the final cause.
        (outcome.model ?? (stage.type === 'tool' && outcome.class === 'agent' ? 'output' : undefined));
  const last: LastFailure | null =
    outcome.status === 'fail' && stage.type !== 'conditional'
      ? {
          node: stage.node,
          node_type: stage.type,
          class: outcome.class,
          class_said: outcome.classSaid === true,
          reason: outcome.reason,
          exit_code: outcome.exitCode ?? null,
          model: model ?? null,
          executable_success_since: false,
          ...(outcome.attribution === undefined ? {} : { attribution: outcome.attribution }),
          ...(outcome.command === undefined ? {} : { command: outcome.command }),
          ...(outcome.judge === true ? { judge: true } : {}),
        }
      : clears(before.last_failure, stage, outcome)
        ? null
        : before.last_failure?.executable_success_since === false &&
            stage.executable &&
            outcome.status === 'success'
          ? { ...before.last_failure, executable_success_since: true }
          : before.last_failure;
  const setter = stage.type === 'tool' ? 'tool' : stage.type === 'codergen' ? 'agent' : 'engine';
  const set = stage.type === 'conditional' ? [] : Object.keys(outcome.updates);
  return {
    node: stage.node,
    visit: (own(before.visits, stage.node) ?? 0) + 1,
    outcome: nodeOutcome(outcome),
    origins: Object.fromEntries(set.map((key) => [key, setter])),
    ...(stage.type === 'codergen' ? { agent: true } : {}),
    now: {
      context,
      steps: before.steps + 1,
      last_completed_node: stage.node,
      last_outcome: outcome,
      last_failure: last,
      next_node: null,
      arrived: before.arrived,
      at: stage.at,
    },
  };
}

/** A later success of the same node clears its failure, and so does any passed verification. */
function clears(last: LastFailure | null, stage: StageFacts, outcome: Outcome): boolean {
  if (last === null || (outcome.status !== 'success' && outcome.status !== 'partial_success')) return false;
  return last.node === stage.node || (stage.type === 'verification' && outcome.status === 'success');
}

/** The keys under which conditions find what the latest tool has printed. */
const outputKeys = ['tool.output', 'tool_stdout'] as const;

function mergedContext(before: RunState, stage: StageFacts, outcome: Outcome): Context {
  const context: Record<string, Json> = { ...before.context, ...outcome.updates };
  const failed = outcome.status === 'fail' && stage.type !== 'conditional';
  // A later failure replaces all keys of an earlier one.
  if (failed || clears(before.last_failure, stage, outcome)) {
    for (const key of Object.keys(context)) if (key.startsWith('last_failure.')) delete context[key];
  }
  if (failed) Object.assign(context, stage.feedback);
  // An output belongs to the latest tool: an empty one must not leave that of an earlier tool.
  if (stage.type === 'tool')
    for (const key of outputKeys) {
      if (own(outcome.updates, key) !== undefined) continue;
      if (stage.output === undefined || stage.output === '') delete context[key];
      else context[key] = stage.output;
    }
  context['current_node'] = stage.node;
  context['outcome'] = outcome.status;
  return context;
}

function atExit(graph: Graph, before: RunState, change: Change): Step {
  const exit = change.node;
  const last = change.now.last_failure;
  const finish = (ok: boolean, reason: string): Step => {
    const ending = { ok, exitNode: exit, reason, code: ok ? 0 : failureCode(last) };
    return { change, route: undefined, decision: { do: 'finish', ending } };
  };
  const node = graph.nodes.get(exit);
  const attribute = (key: string) =>
    node === undefined ? undefined : present(node.attrs, key)?.value.text.trim();
  const cause = last === null ? '' : `: ${last.node}: ${last.reason}`;
  if (attribute('outcome') === 'fail') {
    const label = attribute('label');
    return finish(
      false,
      `${exit}${label === undefined || label === exit ? '' : ` (${label.replaceAll('\n', ' ')})`}${cause}`,
    );
  }
  const unmet = unmetGates(graph, (id) => (id === exit ? change.outcome : own(before.outcomes, id)));
  const ways = unmet.map((one) => ({ ...one, way: redirect(graph, one.gate, change.now.context) }));
  for (const { way } of ways)
    if (way.target !== undefined) return { ...sentBack(change, way, exit), route: undefined };
  const previous = before.last_outcome;
  if (previous?.status === 'fail' && before.arrived?.conditional !== true) {
    return finish(
      false,
      `node ${before.last_completed_node} failed and reached the exit "${exit}" by an unconditional edge${previous.reason === '' ? '' : `: ${previous.reason}`} (a condition such as outcome=fail on the edge forgives it)`,
    );
  }
  const [first] = ways;
  return first === undefined ? finish(true, '') : finish(false, unmetReason(first, first.way));
}

const unmetReason = ({ gate, latest }: Unmet, way: Redirect): string =>
  `goal gate ${gate} is not satisfied: its outcome is ${latest.status}${latest.reason === '' ? '' : `: ${latest.reason}`}${way.target === undefined ? way.why : ''}`;

/** The jump from an exit, or from a gate that no edge leaves, to the gate's target. */
const sentBack = (
  change: Change,
  { target, context }: Extract<Redirect, { readonly target: string }>,
  from: string,
): Pick<Step, 'change' | 'decision'> => ({
  change: leading({ ...change, now: { ...change.now, context } }, target, { from, conditional: true }),
  decision: { do: 'run', node: target },
});

/** The jump of a gate whose failure no edge takes. A cause that every further attempt would meet is final. */
function gateJump(graph: Graph, change: Change, outcome: Outcome): Redirect | undefined {
  if (!isGate(graph.nodes.get(change.node))) return undefined;
  if (outcome.status === 'success' || outcome.status === 'partial_success') return undefined;
  if (outcome.status === 'fail' && (outcome.hopeless === true || outcome.class === 'budget'))
    return undefined;
  return redirect(graph, change.node, change.now.context);
}

/** 3 if a model's API or network is the final cause, 4 if its output is, else 1. */
const failureCode = (last: LastFailure | null): number =>
  last?.model === 'api' ? 3 : last?.model === 'output' ? 4 : 1;
