/** What a pipeline asks of its joins and cannot get. */
import { regionsOf } from '../core/branches.ts';
import type { CodeDescription, Diagnostic } from '../core/diagnostic.ts';
import { listOf } from '../core/for-each.ts';
import type { Graph, Node } from '../core/graph.ts';
import { joinRulesIn, nodesWithRules } from '../core/join.ts';
import { present } from '../core/settings/types.ts';

export const joinCodes: readonly CodeDescription[] = [
  {
    code: 'join-count',
    severity: 'error',
    rule: 'A join with `join_policy=k_of_n` has `k`, the number of branches that must succeed: no more than there are.',
    wrong:
      'start; exit; f [shape=component, join_policy=k_of_n]; a [label=a]; b [label=b]; j [shape=tripleoctagon]; start -> f -> a -> j -> exit; f -> b -> j',
    fix: '`k=2`',
  },
];

/** Of a fan-out, whose rules those of its join complete. */
export function joinFindings(node: Node, graph: Graph): readonly Diagnostic[] {
  const region = regionsOf(graph).get(node.id);
  if (region === undefined) return [];
  const { policy, k } = joinRulesIn(graph, region);
  const many = region.branches.length;
  // The length of a list is known only when the run has it.
  const isList = listOf(node) !== undefined;
  if (policy !== 'k_of_n' || (k !== undefined && (k <= many || isList))) return [];
  const written = nodesWithRules(graph, region);
  const attribute = ['k', 'join_policy'].flatMap((key) =>
    written.flatMap(({ attrs }) => present(attrs, key) ?? []),
  )[0];
  const message =
    k === undefined
      ? `the join of "${node.id}" has join_policy=k_of_n, but no k`
      : `the join of "${node.id}" needs ${k} successes of ${many} branch${many === 1 ? '' : 'es'}`;
  return [
    {
      code: 'join-count',
      severity: 'error',
      message,
      place: { file: graph.file, span: attribute?.valueSpan ?? node.span },
      fix: `write k=1 to k=${many}, or another join_policy`,
    },
  ];
}
