/** The run directory contains output of holdout scenarios: an agent with access to it can read holdout text. */
import { agentNodes } from '../../core/pipeline.ts';
import { finding, type Rule } from '../rule.ts';

export const holdoutAccess: Rule = {
  code: 'holdout-access',
  severity: 'warning',
  rule: 'No agent has access to the directory of a run with a holdout.',
  wrong: 'holdout="judge/"; start; exit; a [label=a, access=run]; start -> a -> exit',
  fix: 'remove it, or let a tool read what the agent needs',
  *check(subject) {
    const { graph } = subject;
    if (!graph.attrs.has('holdout') && graph.settings.holdout_beside === undefined) return;
    for (const node of agentNodes(graph)) {
      const attribute = node.attrs.get('access');
      if (attribute === undefined || node.settings.access === undefined) continue;
      yield finding(graph, holdoutAccess, {
        message: `"${node.id}" is an agent with access to the run directory, which contains output of the holdout scenarios`,
        span: attribute.valueSpan,
        fix: 'remove access, or let a tool read what the agent needs',
      });
    }
  },
};
