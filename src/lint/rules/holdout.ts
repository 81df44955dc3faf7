/** The holdout does not cover the whole workspace. */
import { holdoutPaths } from '../../core/policy/holdout-paths.ts';
import { finding, type Rule } from '../rule.ts';

export const holdoutRule: Rule = {
  code: 'holdout',
  severity: 'error',
  rule: 'The holdout is not the whole workspace, `.git` or `.factory`.',
  wrong: 'holdout="."; start; exit; start -> exit',
  fix: '`holdout="scripts/scenarios/"`',
  check: ({ graph }) => {
    const read = holdoutPaths(graph.settings.holdout);
    if ('paths' in read) return [];
    return [
      finding(graph, holdoutRule, {
        message: `holdout: ${read.problem}`,
        span: graph.attrs.get('holdout')?.valueSpan ?? graph.span,
        fix: 'name the files and folders of the holdout scenarios, such as holdout="scripts/scenarios/"',
      }),
    ];
  },
};
