/** Counts the product failures by which a node's model is chosen. The count is in the context, so that it survives a resume. */
import type { RunState } from '../model/checkpoint.ts';
import type { Node } from '../model/graph.ts';
import { escalationKey } from '../model/layout.ts';
import { own } from '../model/own.ts';
import { escalationAt, modelsOf } from '../nodes/escalation.ts';

const counted = (state: RunState, node: Node): number => {
  const value = own(state.context, escalationKey(node.id));
  return typeof value === 'number' ? value : 0;
};

const counting = (state: RunState, node: Node, failures: number): RunState => ({
  ...state,
  context: { ...state.context, [escalationKey(node.id)]: failures },
});

/** The state at the start of an execution; unchanged for a node without a list of models. */
export function escalated(state: RunState, node: Node): RunState {
  if (modelsOf(node).length < 2) return state;
  const visits = own(state.visits, node.id) ?? 0;
  return counting(state, node, escalationAt(counted(state, node), visits, state.last_failure));
}

/** Counts one more failure of class `product` before a retry. */
export const oneMore = (state: RunState, node: Node): RunState =>
  modelsOf(node).length < 2 ? state : counting(state, node, counted(state, node) + 1);
