/** Which model of several answers a visit: the next one after each product failure. */
import { present } from '../model/attribute.ts';
import type { Node } from '../model/graph.ts';
import { escalationKey } from '../model/layout.ts';
import type { Context } from '../model/outcome.ts';

/** The models of `llm_model="small,large"`; empty for a node that names one or none. */
export function modelsOf(node: Node): readonly string[] {
  const said = present(node.attrs, 'llm_model')?.value.text ?? '';
  if (!said.includes(',')) return [];
  return said
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** The model of this attempt and the product failures that chose it; undefined for a node without a list. The last one
 *  stays however many follow. */
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

/** How many product failures count at the beginning of a visit. `before` is what counted at the last one. A visit that
 *  finds a product failure unsettled after the node has worked already counts one more; one that finds none begins anew;
 *  any other failure changes nothing. */
export function escalationAt(
  before: number,
  visits: number,
  failure: { readonly class: string } | null,
): number {
  if (visits === 0 || failure === null) return 0;
  return failure.class === 'product' ? before + 1 : before;
}
