/** What each node kind itself finds wrong with a node of its own. */
import { readAttributes } from '../../model/attribute.ts';
import type { Rule } from '../rule.ts';

export const kindCheck: Rule = function* ({ graph, kindOf }) {
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    if (kind?.check === undefined) continue;
    const { values, bad } = readAttributes(node.attrs, kind.attributes);
    for (const found of kind.check(node, values, graph)) {
      // A value that does not read looks absent to the kind; that it is bad has been said already.
      if (bad.some(({ attribute }) => found.message.includes(attribute.key))) continue;
      yield found.place === undefined ? { ...found, place: { file: graph.file, span: node.span } } : found;
    }
  }
};
