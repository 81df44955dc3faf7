/** Commands that the guardrail refuses in every run. Commands with references are skipped: their values are only known in
 *  the run. */
import { toolCommandProblem, verificationCommandProblem } from '../../core/policy/commands.ts';
import { expand } from '../../core/references.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

const unknown = { goal: undefined, lookup: () => undefined };

function toolProblem({ value }: Attribute): string | undefined {
  const expanded = expand(value.text, unknown, 'shell');
  return 'text' in expanded ? toolCommandProblem(expanded.text) : undefined;
}

/** Each entry is checked as a whole command. */
const allowedProblems = (entries: readonly string[]): readonly string[] =>
  entries
    .filter((entry) => entry !== '@plan')
    .flatMap((entry) => verificationCommandProblem(entry.replace(/^=/, ''), [entry], 'tool') ?? []);

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
    for (const node of nodesOf(subject, 'tool')) {
      const command = present(node.attrs, 'tool_command');
      const problem = command === undefined ? undefined : toolProblem(command);
      if (command === undefined || problem === undefined) continue;
      yield finding(
        graph,
        { ...refusedCommand, severity },
        {
          message: `"${node.id}" will fail: ${problem}`,
          span: command.valueSpan,
          fix: 'name files relative to the workspace, or put the command into a script there',
        },
      );
    }
    for (const node of nodesOf(subject, 'verification')) {
      const { 'verification.allowed_commands': allowed = [] } = node.settings;
      for (const problem of allowedProblems(allowed))
        yield finding(
          graph,
          { ...refusedCommand, severity },
          {
            message: `an entry of verification.allowed_commands on "${node.id}" allows nothing: ${problem}`,
            span: node.attrs.get('verification.allowed_commands')?.valueSpan ?? node.span,
            fix: 'list programs with their first arguments, without shell syntax, assignments and paths outside the workspace',
          },
        );
    }
  },
};
