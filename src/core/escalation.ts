/** Chooses one of several models: the next one after each product failure. */
import type { Node } from './graph.ts';
import { own } from './json.ts';
import type { Context } from './outcome.ts';
import type { RunState } from './records/checkpoint.ts';
import { escalationKey } from './records/layout.ts';

/** The models of `llm_model="small,large"`; empty for a node with one model or none. */
export function modelsOf({ settings: { llm_model: models = [] } }: Node): readonly string[] {
  return models.length > 1 ? models : [];
}

/** The model of this attempt and the number of product failures; undefined for a node without a list. After the end of
 *  the list the last model is used. */
export function modelOf(
  node: Node,
  context: Context,
): { readonly model: string; readonly escalation: number } | undefined {
  const models = modelsOf(node);
  const counted = context[escalationKey(node.id)];
  const escalation = typeof counted === 'number' ? counted : 0;
  const model = models[Math.min(escalation, models.length - 1)];
  return model === undefined ? undefined : { model, escalation };
}

/** The number of product failures at the start of an execution. `before` is the number at the last one. It grows by one
 *  if the node has run before and a product failure is unsettled, is reset without an unsettled failure, and is unchanged
 *  for failures of other classes. */
export function escalationAt(
  before: number,
  visits: number,
  failure: { readonly class: string } | null,
): number {
  if (visits === 0 || failure === null) return 0;
  return failure.class === 'product' ? before + 1 : before;
}

/** Counts the product failures by which a node's model is chosen. The count is in the context, so that it survives a resume. */
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
