/** Runs the checks of each node kind on its nodes. */
import { readAttributes } from '../../model/attribute.ts';
import type { Rule } from '../rule.ts';

export const kindCheck: Rule = function* ({ graph, kindOf }) {
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    if (kind?.check === undefined) continue;
    const { values, bad } = readAttributes(node.attrs, kind.attributes);
    for (const found of kind.check(node, values, graph)) {
      // An invalid value looks absent to the kind; another rule reports it.
      if (bad.some(({ attribute }) => found.message.includes(attribute.key))) continue;
      yield found.place === undefined ? { ...found, place: { file: graph.file, span: node.span } } : found;
    }
  }
};
