/** The rules for `tool_command`, which a shell runs, and for what else is handed to a shell. */
import { pathProblem, shown } from './path-rules.ts';
import { patternWords, programTexts } from './programs.ts';
import { readShell, type ShellCommand } from './shell.ts';

/** Why a `tool_command` (with its variables put in) is refused, undefined when it is not. */
export function toolCommandProblem(command: string): string | undefined {
  const found = shellProblem(command);
  return found === undefined ? undefined : `tool_command rejected by guardrail: contains ${found}`;
}

/** What is wrong with the words of a command line, to be read after "contains"; undefined when nothing is. `check` is a
 *  further rule for the words of each command. */
export function shellProblem(
  line: string,
  check: (words: readonly string[]) => string | undefined = () => undefined,
): string | undefined {
  for (const { words, targets } of commandsIn(line)) {
    const texts = words.map(({ text }) => text);
    const patterns = patternWords(texts);
    for (const [at, { text, home }] of [...words, ...targets].entries()) {
      if (home) return `a home reference: ${shown(text)}`;
      const problem = pathProblem(text, patterns.has(at));
      if (problem !== undefined) return problem;
    }
    const problem = check(texts);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The scripts that a tool command names: its words that end in `.sh`, each once, in order. Options and words with a
 *  `=` do not count. */
export function scriptsNamed(toolCommand: string): string[] {
  const words = commandsIn(toolCommand).flatMap(({ words, targets }) => [...words, ...targets]);
  const scripts = words.map(({ text }) => text).filter((text) => /^[^-=\s][^=\s]*\.sh$/.test(text));
  return [...new Set(scripts)];
}

/** The commands of a line, and those of the lines after `sh -c` in it. */
function commandsIn(line: string): readonly ShellCommand[] {
  const { commands } = readShell(line);
  const texts = commands.flatMap(({ words }) => programTexts(words.map(({ text }) => text)));
  const nested = texts.filter(({ language }) => language === 'shell').map(({ text }) => text);
  return [...commands, ...nested.flatMap(commandsIn)];
}
