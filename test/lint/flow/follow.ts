/** Follows an example run with the engine's step function: each node ends as in the example, and the engine chooses the
 *  edges. */

import { kinds } from '../../../src/app/kinds.ts';
import type { RunEnding, StepFacts } from '../../../src/core/decision.ts';
import type { WitnessStep } from '../../../src/core/diagnostic.ts';
import type { Graph } from '../../../src/core/graph.ts';
import { emptyReport, type FailureClass, failed, type Outcome } from '../../../src/core/outcome.ts';
import { kindOf } from '../../../src/core/pipeline.ts';
import type { RunState } from '../../../src/core/records/checkpoint.ts';
import { step } from '../../../src/core/step.ts';
import { advanced, freshState } from '../../support/graph.ts';

export type Followed = {
  /** The executed nodes, and the next one. */
  readonly route: readonly string[];
  readonly ending: RunEnding | undefined;
  readonly state: RunState;
};

export const typeOf = (graph: Graph, id: string): string => {
  const node = graph.nodes.get(id);
  return (node === undefined ? undefined : kindOf(node, kinds)?.type) ?? '';
};

export function beginning(graph: Graph): RunState {
  const start = [...graph.nodes.keys()].find((id) => typeOf(graph, id) === 'start') ?? '';
  const { completed_nodes: _none, ...state } = freshState(start);
  return state;
}

/** Records by node grow in place. */
const copied = (state: RunState): RunState => ({
  ...state,
  visits: { ...state.visits },
  outcomes: { ...state.outcomes },
  origins: { ...state.origins },
});

/** One execution of the state's next node. `outcome` is ignored if the node's kind determines it. */
export function visit(graph: Graph, state: RunState, outcome: Outcome) {
  const id = state.next_node ?? '';
  const type = typeOf(graph, id);
  const executable = kinds.find((kind) => kind.type === type)?.executable === true;
  const stage: StepFacts = { node: id, type, executable, feedback: {}, at: state.at };
  const passed = state.last_outcome ?? { ...emptyReport, status: 'success' as const };
  const own = { ...emptyReport, status: 'success' as const };
  const actual = type === 'conditional' ? { ...passed, updates: {}, notes: '' } : executable ? outcome : own;
  const next = step(graph, state, actual, stage);
  return { next, actual, state: advanced(copied(state), next, type) };
}

export const outcomeOf = (said: WitnessStep): Outcome => {
  const words = {
    label: said.preferred_label ?? '',
    ...(said.own_word === true ? { ownWord: true as const } : {}),
    suggested: said.suggested_ids ?? [],
    updates: { ...said.sets },
    notes: '',
  };
  const failureClass = (said.failure_class ?? 'product') as FailureClass;
  return said.outcome === 'fail'
    ? failed('as the witness says', failureClass, { ...words, broke: said.broke === true })
    : said.outcome === 'retry'
      ? { ...words, status: 'retry', reason: '' }
      : { ...words, status: said.outcome };
};

export function follow(graph: Graph, witness: readonly WitnessStep[]): Followed {
  let state = beginning(graph);
  const route: string[] = [];
  let ending: RunEnding | undefined;
  for (const said of witness) {
    route.push(state.next_node ?? '');
    const after = visit(graph, state, outcomeOf(said));
    if (after.actual.status !== said.outcome)
      throw new Error(`"${said.node}" ends in ${after.actual.status}, and the witness says ${said.outcome}`);
    state = after.state;
    ending = after.next.decision.do === 'finish' ? after.next.decision.ending : undefined;
    if (ending !== undefined) break;
  }
  if (ending === undefined) route.push(state.next_node ?? '');
  return { route, ending, state };
}

/** The route of an example run. */
export function claimed(witness: readonly WitnessStep[]): readonly string[] {
  const goes = witness.at(-1)?.edge?.to;
  return [...witness.map(({ node }) => node), ...(goes === undefined ? [] : [goes])];
}
