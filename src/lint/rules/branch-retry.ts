/** A goal gate in a branch sends back within it; none outside sends into it. */
import { branchAt } from '../../core/branches.ts';
import { retryTarget } from '../../core/goal-gates.ts';
import type { Graph, Node } from '../../core/graph.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

const keys = ['retry_target', 'fallback_retry_target'];

export const branchRetry: Rule = {
  code: 'branch-retry',
  severity: 'error',
  rule: 'The retry target of a goal gate is in the branch of the gate; that of the graph may be outside of all.',
  wrong:
    'start; exit; fork [shape=component]; a [label=a, goal_gate=true, retry_target=plan]; b [label=b]; plan [label=p]; j [label=j]; start -> plan -> fork -> a -> j -> exit; fork -> b -> j',
  fix: '`retry_target=a`, or `retry_target` on the graph',
  needs: 'whole graph',
  *check({ graph }) {
    const reported = new Set<Attribute>();
    for (const node of graph.nodes.values()) {
      const target = retryTarget(graph, node);
      const found = target === undefined ? undefined : crossing(graph, node, target);
      if (found === undefined || reported.has(found.attribute)) continue;
      reported.add(found.attribute);
      yield finding(graph, branchRetry, { ...found, span: found.attribute.valueSpan });
    }
  },
};

function crossing(graph: Graph, { id, attrs }: Node, target: string) {
  const [own, its] = [branchAt(graph, id), branchAt(graph, target)];
  const names = (key: string, of: Node['attrs']): Attribute | undefined => {
    const attribute = present(of, key);
    return attribute?.value.text.trim() === target ? attribute : undefined;
  };
  const ofNode = keys.map((key) => names(key, attrs)).find((one) => one !== undefined);
  const attribute = ofNode ?? keys.map((key) => names(key, graph.attrs)).find((one) => one !== undefined);
  if (own === its || attribute === undefined || (ofNode === undefined && its === undefined)) return undefined;
  const into = its === undefined ? 'outside of every branch' : `in the branch "${its}"`;
  const fix =
    own === undefined
      ? `name a node outside of the branches, such as their fan-out`
      : `name a node of the branch "${own}"${its === undefined ? `, or give the graph retry_target="${target}": it counts where the run ends` : ''}`;
  return {
    attribute,
    message: `${attribute.written} of the goal gate "${id}"${own === undefined ? '' : `, which is in the branch "${own}",`} names "${target}", which is ${into}: a run goes into a branch and out of it by its fan-out and its join only`,
    fix,
  };
}
