/** Something before a verification can set its plan. */
import { isCallType } from '../../core/calls.ts';
import { isAgentType, type Node } from '../../core/graph.ts';
import { finding, nodesBefore, nodesOf, type Rule } from '../rule.ts';

export const planMissing: Rule = {
  code: 'plan-missing',
  severity: 'error',
  rule: 'An agent, or a tool with `sets_plan=true`, comes before every verification: one of them sets its plan (for `@plan` only a tool can). `factory run` only warns.',
  wrong: 'start; exit; v [type=verification, verification.allowed_commands=ls]; start -> v -> exit',
  fix: 'a tool with that command, or a node before it that sets the plan',
  needs: 'whole graph',
  *check(subject) {
    const { graph, options } = subject;
    // In a run only the node fails, and an edge may take the failure.
    const severity = options.toRun === true ? 'warning' : 'error';
    for (const node of nodesOf(subject, 'verification')) {
      const { 'verification.allowed_commands': allowed = [], 'verification.plan_context_key': key } =
        node.settings;
      // Without an entry nothing may run, which is reported.
      if (allowed.length === 0) continue;
      const byTool = allowed.includes('@plan');
      if (isAny(nodesBefore(node, subject), (one) => maySetPlan(one, key, byTool))) continue;
      const [command] = allowed.map((entry) => entry.replace(/^=/, '')).filter((entry) => entry !== '@plan');
      const instead =
        command === undefined
          ? ''
          : `to run a fixed command, make it a tool (shape=parallelogram, tool_command="${command} …"); else `;
      yield finding(
        graph,
        { ...planMissing, severity },
        {
          message: `no node before "${node.id}" can set its plan (the context key "${key}"), without which it fails`,
          span: node.span,
          fix: `${instead}give ${byTool ? '' : 'it an agent before it, or give '}the tool that sets the plan sets_plan=true`,
        },
      );
    }
  },
};

function isAny(nodes: Iterable<Node>, matches: (node: Node) => boolean): boolean {
  for (const node of nodes) if (matches(node)) return true;
  return false;
}

/** Whether a node may set a plan, as far as its text shows. Node types that are not known may do anything. */
function maySetPlan(
  { type, settings: { sets_plan, tool_command = '', returns } }: Node,
  key: string,
  byTool: boolean,
): boolean {
  if (isCallType(type)) return returns?.includes(key) === true;
  if (type !== 'tool') return type === '' || (isAgentType(type) && !byTool);
  // One that writes the file without sets_plan has another finding.
  return sets_plan || tool_command.includes('FACTORY_OUTPUT');
}
