/** Every goal gate has a retry target for runs in which it is unmet. */
import { isGate } from '../../core/goal-gates.ts';
import { finding, type Rule } from '../rule.ts';

export const gateWithoutRetry: Rule = {
  code: 'gate-without-retry',
  severity: 'warning',
  rule: 'Every goal gate has a retry target for runs in which it is unmet.',
  wrong: 'start; exit; a [label=a, goal_gate=true]; start -> a -> exit',
  fix: '`retry_target=a`',
  needs: 'whole graph',
  check: ({ graph }) =>
    [...graph.nodes.values()].flatMap((node) => {
      const hasTarget = [node.settings, graph.settings].some(
        ({ retry_target, fallback_retry_target }) => (retry_target ?? fallback_retry_target) !== undefined,
      );
      if (!isGate(node) || hasTarget) return [];
      return [
        finding(graph, gateWithoutRetry, {
          message: `"${node.id}" is a goal gate without a retry target: when it fails, the run does`,
          span: node.attrs.get('goal_gate')?.keySpan ?? node.span,
          fix: 'give it, or the graph, a retry_target',
        }),
      ];
    }),
};
