/** A call reads none of the attributes that hold a node back: its author would trust a limit that nothing checks. */
import { isCallType } from '../../core/calls.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

const guards = [
  'allowed_write_paths',
  'requires_tool_success',
  'max_wall',
  'max_cost_usd',
  'max_tokens',
  'sandbox',
  'network',
] as const;

export const callGuard: Rule = {
  code: 'call-guard',
  severity: 'error',
  rule: 'A node that calls a pipeline sets no limits or guardrails: nothing checks them there.',
  wrong:
    'start; exit; a [type=subgraph, graph_ref="child.dot", allowed_write_paths="src/"]; start -> a -> exit',
  fix: '`allowed_write_paths` at the nodes of the called pipeline',
  *check({ graph }) {
    const nodes = [...graph.nodes.values()];
    for (const node of nodes) {
      if (!isCallType(node.type)) continue;
      for (const key of guards) {
        const attribute = present(node.attrs, key);
        // Of a default for all nodes, each node has the same attribute.
        if (
          attribute === undefined ||
          nodes.some((other) => other !== node && other.attrs.get(key) === attribute)
        )
          continue;
        yield finding(graph, callGuard, {
          message: `${attribute.written} has no effect on "${node.id}", which calls another pipeline: its nodes could do all the same`,
          span: attribute.keySpan,
          fix: `write ${attribute.written} at the nodes of that pipeline, or as its default: node [${attribute.written}=…]`,
        });
      }
    }
  },
};
