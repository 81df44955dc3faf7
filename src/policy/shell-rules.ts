/** Holds shell text, and the command lines inside it, to the path rules. */
import { pathProblem, shown } from './path-rules.ts';
import { nestedCommandLines, patternWords, printed, readsCommands, startsShell } from './programs.ts';
import { type Dialect, readShell, type ShellCommand } from './shell.ts';

/** A rule of the caller's for every command found. */
export type Check = (command: ShellCommand) => string | undefined;

/** More command lines inside command lines than this are not looked through but refused. */
const mostLines = 500;

/** What is wrong with any of `lines`, to be read after "contains"; undefined when nothing is. Whatever they hold that
 *  a shell would run (`$(…)`, the text after `sh -c`, what is fed to a shell) is looked through as well. */
export function shellProblem(lines: readonly string[], check: Check): string | undefined {
  const found = new Set(lines);
  for (const line of found) {
    if (found.size > mostLines) return 'more nested command lines than can be checked';
    // Shells differ about `$'…'`, `((…))` and `<<`, and with them about where words end: no reading may break a rule.
    for (const dialect of dialectsFor(line)) {
      const { commands, tooDeep } = readShell(line, dialect);
      if (tooDeep) return 'commands nested too deep to be checked';
      // Which pipe leads where is not known: where a shell reads, what goes into one is taken to be for it.
      const isRead = commands.some((command) => readsCommands(command.words.map((word) => word.text)));
      for (const command of commands) {
        const problem = shellCommandProblem(command) ?? check(command);
        if (problem !== undefined) return problem;
        const words = command.words.map((word) => word.text);
        for (const nested of nestedCommandLines(words)) found.add(nested);
        const isFed = isRead && command.piped;
        if (isFed || startsShell(words)) for (const input of command.inputs) found.add(input);
        if (isFed) for (const text of printed(words)) found.add(text);
      }
    }
  }
  return undefined;
}

function dialectsFor(line: string): Dialect[] {
  const others: Dialect[] = line.includes("$'") ? ['posix'] : [];
  if (/\(\(|<</.test(line)) others.push('busybox');
  return ['bash', ...others];
}

function shellCommandProblem(command: ShellCommand): string | undefined {
  const patterns = patternWords(command.words.map((word) => word.text));
  for (const [at, word] of [...command.words, ...command.others].entries()) {
    if (word.variables.includes('HOME')) return `a home reference: ${shown(word.text)}`;
    const problem = pathProblem(word.text, { pattern: patterns.has(at), braces: word.braces });
    if (problem !== undefined) return problem;
  }
  return undefined;
}
