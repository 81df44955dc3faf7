/** What `validate` finds about a tool. */
import type { CodeDescription, Diagnostic } from '../core/diagnostic.ts';
import type { Graph, Node } from '../core/graph.ts';
import { namesPlan } from '../core/policy/verification-plan.ts';

export const toolCodes: readonly CodeDescription[] = [
  {
    code: 'tool-command',
    severity: 'error',
    rule: 'Every tool has a command.',
    wrong: 'start; exit; a [shape=parallelogram]; start -> a -> exit',
    fix: '`tool_command="npm test"`',
  },
  {
    code: 'sets-plan',
    severity: 'warning',
    rule: 'A tool that sets the plan of a verification declares it.',
    wrong:
      'start; exit; a [shape=parallelogram, tool_command="echo \'{ \\"context_updates\\": { \\"verification.plan\\": {} } }\' > $FACTORY_OUTPUT"]; v [type=verification, verification.allowed_commands="@plan"]; start -> a -> v -> exit',
    fix: '`sets_plan=true` on the tool',
  },
];

export function toolFindings(node: Node, graph: Graph): readonly Diagnostic[] {
  if (namesPlan(node, graph))
    return [
      {
        code: 'sets-plan',
        severity: 'warning',
        message: `tool node "${node.id}" names the plan of a verification in its command, and may set none`,
        fix: 'add sets_plan=true if the command sets the plan in $FACTORY_OUTPUT',
      },
    ];
  if (node.settings.tool_command !== undefined) return [];
  return [
    {
      code: 'tool-command',
      severity: 'error',
      message: `tool node "${node.id}" has no tool_command`,
      fix: 'give it tool_command="…", the shell text to run in the workspace',
    },
  ];
}
