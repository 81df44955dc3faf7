/** Which commands a pipeline may run: those of tool nodes, which a shell gets, and those of verification nodes. */
import { shellProblem } from './shell-rules.ts';

export {
  parseVerificationCommand,
  plannedCommandProblem,
  verificationCommandProblem,
} from './verification-command.ts';

/** Why a `tool_command` (with its variables put in) is refused, undefined when it is not. */
export function toolCommandProblem(command: string): string | undefined {
  const found = shellProblem([command], () => undefined);
  return found === undefined ? undefined : `tool_command rejected by guardrail: contains ${found}`;
}

/** The scripts that a tool command names: its words that end in `.sh`, each once, in order. Words that are options or
 *  hold a `=` are none. */
export function scriptsNamed(toolCommand: string): string[] {
  const words = toolCommand.split(/[\s;&|()<>]+/).map((word) => word.replace(/^['"]+|['"]+$/g, ''));
  const scripts = words.filter(
    (word) => word.endsWith('.sh') && !word.startsWith('-') && !word.includes('='),
  );
  return [...new Set(scripts)];
}
