/** Runs the checks of each node kind on its nodes. */
import type { Rule } from '../rule.ts';

export const kindCheck: Rule = function* ({ graph, kindOf, invalid }) {
  for (const node of graph.nodes.values()) {
    for (const found of kindOf.get(node.id)?.check?.(node, graph) ?? []) {
      // An invalid value looks absent to the kind.
      if ([...node.attrs.values()].some((one) => invalid.has(one) && found.message.includes(one.key)))
        continue;
      yield found.place === undefined ? { ...found, place: { file: graph.file, span: node.span } } : found;
    }
  }
};
