/** What is wrong with a command line before a command sees it. */
import type { Command, CommanderError } from 'commander';
import type { Diagnostic } from '../model/diagnostic.ts';

const anywhere: readonly string[] = ['-q', '--quiet', '-v', '--verbose', '--json', '--no-color'];

/** `-q run x` as `run x -q`: flags that take no value may stand before the command, and before one of two words. */
export function flagsFirst(argv: readonly string[]): readonly string[] {
  const at = argv.findIndex((word) => !anywhere.includes(word));
  const command = argv[at];
  if (at <= 0 || command === undefined || command.startsWith('-')) return argv;
  const behind = at + (argv[at + 1]?.startsWith('-') === false ? 2 : 1);
  return [...argv.slice(at, behind), ...argv.slice(0, at), ...argv.slice(behind)];
}

/** Stops at a flag whose value is missing, because the next word is a flag itself: `--workdir --json`. */
export function missingValue(program: Command, argv: readonly string[]): void {
  let command = program;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '--') return;
    if (!word.startsWith('-')) {
      command = command.commands.find((one) => one.name() === word) ?? command;
      continue;
    }
    const option = command.options.find((one) => one.long === word || one.short === word);
    if (option === undefined || !option.required) continue;
    if (argv[at + 1]?.startsWith('--') === true)
      command.error(`error: option '${option.flags}' argument missing`, {
        code: 'commander.optionMissingArgument',
        exitCode: 2,
      });
    at++;
  }
}

/** What commander says of wrong flags, as a finding. `isThere` tells whether a path names something. */
export function usageProblem(
  error: CommanderError,
  program: Command,
  argv: readonly string[],
  isThere: (path: string) => boolean,
): Diagnostic {
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const meant = /\(Did you mean (?:one of )?(.*?)\?\)/.exec(more.join(' '))?.[1];
  const names: string[] = [];
  let command: Command | undefined = program;
  let last: Command | undefined;
  for (const word of argv) {
    command = command.commands.find((one) => one.name() === word);
    if (command === undefined) break;
    last = command;
    names.push(word);
  }
  const unknown = error.code === 'commander.unknownOption' ? /'(.*)'/s.exec(first)?.[1] : undefined;
  const [flag = '', ...rest] = unknown?.split('=') ?? [];
  const takesNone = rest.length > 0 && last?.options.some((one) => one.long === flag || one.short === flag);
  const help = `${['factory', ...names].join(' ')} --help tells ${names.length === 0 ? 'the commands' : 'its arguments and flags'}`;
  const wrong = (message: string, fix: string): Diagnostic => ({
    code: 'usage',
    severity: 'error',
    message,
    fix,
  });
  if (takesNone === true) return wrong(`option '${flag}' takes no value`, `write ${flag}; ${help}`);
  if (unknown !== undefined && isThere(unknown))
    return wrong(first, `as a name it is written ./${unknown}; ${help}`);
  return {
    code: 'usage',
    severity: 'error',
    message: first.replace(/\.$/, ''),
    fix: meant === undefined ? help : `did you mean ${meant}? ${help}`,
  };
}
