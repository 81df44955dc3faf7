/** Every attribute has a value of its type. */
import { type AttributeTable, readAttributes } from '../../model/attribute.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Attributes, Graph } from '../../model/graph.ts';
import { finding, type Rule } from '../rule.ts';
import { edgeAttributes, graphAttributes } from '../words.ts';

function* badValues(graph: Graph, attrs: Attributes, table: AttributeTable): Generator<Diagnostic> {
  for (const { attribute, why, wants } of readAttributes(attrs, table).bad) {
    const { written, value, valueSpan } = attribute;
    const said = value.text.length > 60 ? `${value.text.slice(0, 60)}…` : value.text;
    yield finding(graph, 'attribute-value', 'error', {
      message: why.startsWith('"') ? `${written}: ${why}` : `${written} "${said}" ${why}`,
      span: valueSpan,
      fix: `${written} takes ${wants}`,
    });
  }
}

export const attributeValue: Rule = function* ({ graph, kindOf }) {
  yield* badValues(graph, graph.attrs, graphAttributes);
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    if (kind !== undefined) yield* badValues(graph, node.attrs, kind.attributes);
  }
  for (const edge of graph.edges) yield* badValues(graph, edge.attrs, edgeAttributes);
};
