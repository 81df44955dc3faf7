/** What is wrong with a command line before a command sees it. */
import { constants, realpathSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import type { Command, CommanderError } from 'commander';
import { type Diagnostic, wrong } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import { allows } from '../platform/files/read.ts';
import { verbName, verbs } from './index.ts';

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
  if (takesNone === true) return wrong('usage', `option '${flag}' takes no value`, `write ${flag}; ${help}`);
  if (unknown !== undefined && isThere(unknown))
    return wrong('usage', first, `as a name it is written ./${unknown}; ${help}`);
  return wrong(
    'usage',
    first.replace(/\.$/, ''),
    meant === undefined ? help : `did you mean ${meant}? ${help}`,
  );
}

/** How the user called us, so that a command we print can be typed as it stands. */
type Environment = Readonly<Record<string, string | undefined>>;

/** `factory` where PATH has this very program, npx with our package below npx or where a package manager runs a script, else
 *  `node …/dist/cli.js`. `script` is the file that Node was given. */
export function programWords(script: string, env: Environment, cwd: string): string {
  const ours = realOf(script);
  const npx = `npx ${isInstalledPackage(ours) ? 'dotfactory' : 'factory'}`;
  const byNpx =
    env['npm_command'] === 'exec' &&
    /^['"]?(?:dot)?factory['"]?(?:\s|$)/.test(env['npm_lifecycle_script'] ?? '');
  if (byNpx) return npx;
  // A pipeline's tools find us by the folder that the engine puts first, as anybody finds a program.
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => {
    if (folder === '') return false;
    const path = join(folder, 'factory');
    return isProgram(path) && [ours, join(dirname(ours), 'bin/factory')].includes(realOf(path));
  });
  // `npm run` and `yarn` put a project's programs on the PATH of its scripts, and not on that of the user's shell.
  const lent = (folder: string) =>
    env['npm_lifecycle_event'] !== undefined && /node_modules\/\.bin\/?$/.test(folder);
  if (onPath.some((folder) => !lent(folder)) || script === '') return 'factory';
  if (onPath.length > 0) return npx;
  const near = relative(cwd, script);
  return `node ${quoteWord(near.startsWith('..') ? script : near)}`;
}

/** The command line again, for a new run of the same: without the id of this one. Undefined for what begins no run: a
 *  resume does not say what its run was to do. */
export function sameAgain(program: string, argv: readonly string[]): string | undefined {
  if (!/^(?:run|order)$/.test(argv.find((word) => !word.startsWith('-')) ?? '')) return undefined;
  if (argv.some((word) => /^--?resume$/.test(word))) return undefined;
  const words: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (/^--?run-id$/.test(word)) at++;
    else if (!/^--?run-id=/.test(word)) words.push(quoteWord(word));
  }
  return [program, ...words].join(' ');
}

const commands = new RegExp(
  `(?<![\\w/.-])(?<!npx )factory (?=(?:${verbs.map(verbName).join('|')})\\b|--help)`,
  'g',
);

/** A text with the commands it names put as the user must type them, once. */
export const invocationOf = (text: string, program: string | undefined): string =>
  program === undefined ? text : text.replace(commands, () => `${program} `);

/** Not from a clone: there npx takes the clone's own program, elsewhere `npx factory` would be another package. */
const isInstalledPackage = (path: string): boolean => /[\\/]node_modules[\\/]/.test(path);

const isProgram = (path: string): boolean => allows(path, constants.X_OK);

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};
