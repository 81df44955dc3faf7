/** What the judge printed lies in the run's directory: an agent that gets it sees what the seal is to keep from it. */
import { present } from '../../model/attribute.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

export const holdoutAccess: Rule = function* (subject) {
  const { graph } = subject;
  if (!['holdout', 'holdout_beside'].some((key) => present(graph.attrs, key) !== undefined)) return;
  for (const node of nodesOf(subject, 'codergen')) {
    const attribute = present(node.attrs, 'access');
    if (attribute === undefined) continue;
    yield finding(graph, 'holdout-access', 'warning', {
      message: `"${node.id}" is an agent, and gets the run's directory, where what the judge printed lies`,
      span: attribute.valueSpan,
      fix: 'take access away, or let a tool read there what the agent needs',
    });
  }
};
