/** The run directory contains output of holdout scenarios: an agent with access to it can read holdout text. */
import { finding, nodesOf, type Rule } from '../rule.ts';

export const holdoutAccess: Rule = function* (subject) {
  const { graph } = subject;
  if (!graph.attrs.has('holdout') && graph.settings.holdout_beside === undefined) return;
  for (const node of nodesOf(subject, 'codergen')) {
    const attribute = node.attrs.get('access');
    if (attribute === undefined || node.settings.access === undefined) continue;
    yield finding(graph, 'holdout-access', 'warning', {
      message: `"${node.id}" is an agent with access to the run directory, which contains output of the holdout scenarios`,
      span: attribute.valueSpan,
      fix: 'remove access, or let a tool read what the agent needs',
    });
  }
};
