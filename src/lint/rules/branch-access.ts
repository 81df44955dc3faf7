/** No node of a branch changes the run itself: its files and the state of its orders are one for all branches. */
import { branchAt } from '../../core/branches.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

export const branchAccess: Rule = {
  code: 'branch-access',
  severity: 'error',
  rule: 'No node of a branch has `access="run"` or runs `factory plan` or `factory order`, which change the run itself; with `access="run:ro"` they may.',
  wrong:
    'start; exit; fork [shape=component]; a [shape=parallelogram, access=run, tool_command="factory order next"]; b [label=b]; j [label=j]; start -> fork -> a -> j -> exit; fork -> b -> j',
  fix: 'the node before the fan-out or behind the join',
  needs: 'whole graph',
  *check({ graph }) {
    for (const node of graph.nodes.values()) {
      const { access, tool_command: command = '' } = node.settings;
      const branch = branchAt(graph, node.id);
      if (branch === undefined || access === 'run:ro') continue;
      const own = /\bfactory\s+(?:order|plan)\b/.exec(command)?.[0].replace(/\s+/g, ' ');
      if (access !== 'run' && own === undefined) continue;
      const attribute = present(node.attrs, access === 'run' ? 'access' : 'tool_command');
      yield finding(graph, branchAccess, {
        message: `"${node.id}" is in the branch "${branch}" and ${access === 'run' ? 'has access="run"' : `runs ${own}`}: the run and its orders are one for all branches, and two would take the same`,
        span: attribute?.valueSpan ?? node.span,
        fix:
          own === undefined
            ? 'write access="run:ro" if it only reads, or move the node out of the branches'
            : 'move the node before the fan-out or behind the join; a pipeline that is called there may have it, too',
      });
    }
  },
};
