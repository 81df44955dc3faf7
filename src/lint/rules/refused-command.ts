/** Commands that the guardrail refuses in every run. Commands with references are skipped: their values are only known in
 *  the run. */
import type { HomeAndTmp } from '../../core/contracts/sandbox.ts';
import type { Span } from '../../core/diagnostic.ts';
import type { Node } from '../../core/graph.ts';
import { toolCommandProblem, verificationCommandProblem } from '../../core/policy/commands.ts';
import { expand } from '../../core/references.ts';
import { present } from '../../core/settings/types.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

const unknown = { goal: undefined, lookup: () => undefined };

type RefusedText = {
  readonly of: 'tool_command' | 'verification.allowed_commands';
  readonly problem: string;
  readonly span: Span;
};

/** What the guardrail refuses of the commands in a node's text. Each allowed entry is checked as a whole command. */
export function refusedTexts({ type, attrs, settings, span }: Node, homeAndTmp: HomeAndTmp): RefusedText[] {
  const command = type === 'tool' ? present(attrs, 'tool_command') : undefined;
  const expanded = expand(command?.value.text ?? '', unknown, 'shell');
  const problem = 'text' in expanded ? toolCommandProblem(expanded.text, homeAndTmp) : undefined;
  if (problem !== undefined) return [{ of: 'tool_command', problem, span: command?.valueSpan ?? span }];
  const of = 'verification.allowed_commands';
  const entries = type === 'verification' ? (settings[of] ?? []) : [];
  return entries
    .filter((entry) => entry !== '@plan')
    .map((entry) => [entry.replace(/^=/, ''), [entry], 'tool', undefined, homeAndTmp] as const)
    .flatMap((question) => verificationCommandProblem(...question) ?? [])
    .map((problem) => ({ of, problem, span: attrs.get(of)?.valueSpan ?? span }));
}

export const refusedCommand: Rule = {
  code: 'refused-command',
  severity: 'error',
  rule: 'The guardrail accepts a literal `tool_command` and each entry of `verification.allowed_commands`. `factory run` only warns: the node fails there, and an edge may take the failure.',
  wrong: 'start; exit; a [shape=parallelogram, tool_command="cat /etc/hosts"]; start -> a -> exit',
  fix: 'a path in the workspace',
  *check(subject) {
    const { graph, options } = subject;
    // In a run only the node fails, and an edge may take the failure.
    const severity = options.toRun === true ? 'warning' : 'error';
    for (const node of [...nodesOf(subject, 'tool'), ...nodesOf(subject, 'verification')]) {
      // Without a sandbox what needs one is refused as well.
      const homeAndTmp = node.settings.sandbox === 'none' ? 'shared' : 'private';
      for (const { of, problem, span } of refusedTexts(node, homeAndTmp))
        yield finding(
          graph,
          { ...refusedCommand, severity },
          of === 'tool_command'
            ? {
                message: `"${node.id}" will fail: ${problem}`,
                span,
                fix: 'name files relative to the workspace, or put the command into a script there',
              }
            : {
                message: `an entry of verification.allowed_commands on "${node.id}" allows nothing: ${problem}`,
                span,
                fix: 'list programs with their first arguments, without shell syntax, assignments and paths outside the workspace',
              },
        );
    }
  },
};
