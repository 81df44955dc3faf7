/** The rules for `tool_command`, which a shell runs, and for other texts that a shell gets. */
import { pathProblem, shown } from './path-rules.ts';
import { patternWords, programTexts } from './programs.ts';
import { readShell, type ShellCommand } from './shell.ts';

/** Why a `tool_command` (variables replaced) is refused, undefined when it is allowed. */
export function toolCommandProblem(command: string): string | undefined {
  const found = shellProblem(command);
  return found === undefined ? undefined : `tool_command rejected by guardrail: contains ${found}`;
}

/** The problem in the words of a command line, to follow "contains"; undefined when there is none. `check` is an
 *  additional rule for the words of each command. */
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

/** The scripts that a tool command names: its words that end in `.sh`, each once, in order. Options and words with
 *  a `=` do not count. */
export function scriptsNamed(toolCommand: string): string[] {
  const words = commandsIn(toolCommand).flatMap(({ words, targets }) => [...words, ...targets]);
  const scripts = words.map(({ text }) => text).filter((text) => /^[^-=\s][^=\s]*\.sh$/.test(text));
  return [...new Set(scripts)];
}

/** The commands of a line, and those of the texts after `sh -c` in it. */
function commandsIn(line: string): readonly ShellCommand[] {
  const { commands } = readShell(line);
  const texts = commands.flatMap(({ words }) => programTexts(words.map(({ text }) => text)));
  const nested = texts.filter(({ language }) => language === 'shell').map(({ text }) => text);
  return [...commands, ...nested.flatMap(commandsIn)];
}
