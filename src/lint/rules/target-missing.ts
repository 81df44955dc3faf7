/** Attributes that name a node name an existing one. */
import type { Graph } from '../../core/graph.ts';
import { nearest } from '../../core/nearest.ts';
import { type Finding, withText } from '../../core/settings/repair.ts';
import { type Attributes, present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

function* missing(graph: Graph, attrs: Attributes, keys: readonly string[]): Generator<Finding> {
  for (const key of keys) {
    const attribute = present(attrs, key);
    const id = attribute?.value.text.trim() ?? '';
    if (attribute === undefined || graph.nodes.has(id)) continue;
    const meant = nearest(id, graph.nodes.keys());
    yield finding(graph, targetMissing, {
      message: `${attribute.written} names "${id}", and there is no such node`,
      span: attribute.valueSpan,
      fix: meant === undefined ? 'name a node of this graph' : `write ${attribute.written}="${meant}"`,
      repairs: meant === undefined ? [] : [{ attribute, instead: withText(attribute, meant) }],
    });
  }
}

export const targetMissing: Rule = {
  code: 'target-missing',
  severity: 'error',
  rule: '`retry_target`, `fallback_retry_target` and `required_tool_node` name a node.',
  wrong: 'start; exit; a [label=a, retry_target=nowhere]; start -> a -> exit',
  fix: 'the id of a node',
  needs: 'whole graph',
  *check({ graph }) {
    yield* missing(graph, graph.attrs, ['retry_target', 'fallback_retry_target']);
    for (const node of graph.nodes.values())
      yield* missing(graph, node.attrs, ['retry_target', 'fallback_retry_target', 'required_tool_node']);
  },
};
