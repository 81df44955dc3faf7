/** argv → command → exit code, for whichever process calls it. Everything heavy is imported by the command that needs it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import type { Spawn } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { OwnSteps } from '../engine/own-step.ts';
import { Superseded } from '../platform/files/fence.ts';
import { packageVersion } from '../platform/package.ts';
import { missingValue, usageProblem } from './arguments.ts';
import { verbGroups, verbName } from './index.ts';
import { type CliIo, harmless } from './io.ts';
import { BadValue, withOptions } from './options.ts';
import type { Verb } from './verb.ts';

/** What commands need from the process that they run in. */
export type CommandHost = Omit<CliIo, 'now' | 'spawn' | 'ownSteps'>;

/** Runs `factory …argv` and answers with its exit code. What is thrown is an internal error. */
export async function factory(argv: readonly string[], host: CommandHost): Promise<number> {
  let code = 0;
  const exit = (value: number): void => {
    code = value;
  };
  const io: CliIo = {
    ...{ ...host, now: () => host.clock.now(), spawn: lazySpawn, signal: once(host.signal) },
    get width() {
      return host.width;
    },
    ownSteps: ownStepsOf(host),
  };
  const program = new Command('factory')
    .description('Run pipelines that turn a spec into verified commits.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions(false)
    .exitOverride()
    // What is wrong with the flags is printed as everything else that is wrong.
    .configureOutput({ writeOut: host.out, writeErr: host.err, outputError: () => {} });
  register(program, argv, io, exit);
  try {
    const words = beforeAlone(singleDashes(passedThrough(argv), program));
    missingValue(program, words);
    await program.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof BadValue) return refuseUsage(error.problem, argv, io);
    if (!(error instanceof CommanderError)) throw error;
    // Asked-for help and version are no errors; every other word of commander's is about wrong flags.
    if (error.exitCode === 0) return 0;
    // Commander has shown the help of all commands, and nothing of the one that there is not.
    if (error.code === 'commander.help')
      return argv[0] === 'help' && argv[1] !== undefined ? factory([argv[1]], host) : 2;
    const isThere = (path: string): boolean => existsSync(resolve(host.cwd, path));
    const problem = usageProblem(error, program, argv, isThere);
    return refuseUsage(
      ['commander.unknownCommand', 'commander.excessArguments'].includes(error.code)
        ? await withMeant(problem, argv, host)
        : problem,
      argv,
      io,
    );
  }
}

/** An unknown verb with the command that was probably meant. */
async function withMeant(
  problem: Diagnostic,
  argv: readonly string[],
  { cwd }: Pick<CommandHost, 'cwd'>,
): Promise<Diagnostic> {
  const { meantCommand, meantStep } = await import('./meant-command.ts');
  const at = argv.findIndex((word) => !word.startsWith('-'));
  const [verb = '', ...more] = at === -1 ? [] : argv.slice(at);
  const meant = meantStep(verb, more[0] ?? '') ?? meantCommand(verb, more, cwd);
  return meant === undefined
    ? problem
    : { ...problem, fix: `did you mean ${meant}? factory --help tells the commands` };
}

async function refuseUsage(problem: Diagnostic, argv: readonly string[], io: CliIo): Promise<number> {
  const { reportError: refuse } = await import('./report/errors.ts');
  return refuse([problem], io, { json: argv.includes('--json') });
}

/** All verbs by name; only the one that is called, or whose help is asked for, with its options. */
function register(program: Command, argv: readonly string[], io: CliIo, exit: (code: number) => void): void {
  const [first, ...more] = argv.filter((word) => !word.startsWith('-'));
  const [called, step = ''] = first === 'help' ? more : [first, ...more];
  for (const [group, one] of Object.entries(verbGroups).flatMap(([name, all]) =>
    all.map((verb) => [name, verb] as const),
  )) {
    const name = verbName(one);
    const isNamed = name === called;
    const command = program
      .command(isNamed && 'verbs' in one ? name : one.usage)
      .description(one.about)
      .helpGroup(`${group}:`);
    if (!isNamed) continue;
    command.addHelpText('after', afterHelp(one));
    if ('load' in one) carryOut(command, one, argv, io, exit);
    else {
      for (const verb of one.verbs)
        carryOut(command.command(verb.usage).description(verb.about), verb, argv, io, exit);
      const isStep = one.verbs.some((verb) => verbName(verb) === step);
      if (one.self !== undefined && !isStep) {
        const { usage } = one.self;
        const alone = command.enablePositionalOptions();
        carryOut(usage === '' ? alone : alone.arguments(usage), one.self, argv, io, exit);
      }
    }
  }
}

/** Its examples and exit codes, as the end of its help. */
function afterHelp({ examples = [], exits = {} }: Pick<Verb, 'examples' | 'exits'>): string {
  const lines = examples.map((words) => `  factory ${words}`);
  const codes = Object.entries(exits).map(([code, what]) => `  ${code.padEnd(5)}${what}`);
  return [
    ...(lines.length === 0 ? [] : ['', 'Examples:', ...lines]),
    ...(codes.length === 0 ? [] : ['', 'Exit codes:', ...codes]),
  ].join('\n');
}

function carryOut(
  command: Command,
  verb: Verb,
  argv: readonly string[],
  io: CliIo,
  exit: (code: number) => void,
): void {
  withOptions(command, verb.options()).action(async (...given: unknown[]) => {
    // Commander gives the command itself last.
    const typed = given.slice(0, -1);
    const options = command.opts<{ detach?: boolean; json?: boolean; quiet?: boolean }>();
    const ended =
      options.detach === true
        ? await (await import('./detach.ts')).detachCommand(argv, options, io)
        : await (await verb.load())(...([...typed, io] as never[]));
    if (typeof ended === 'number') return exit(ended);
    const { reportError: refuse } = await import('./report/errors.ts');
    exit(await refuse(ended.problems, io, typed.at(-1) ?? {}, ended.code, ended.more));
  });
}

/** Carries out steps of our pipelines, which are verbs too, in this process. */
const ownStepsOf =
  (process: CommandHost): OwnSteps =>
  async (words, { cwd, env, out, err, signal }) => {
    const host: CommandHost = {
      ...{ ...process, cwd, env, outIsTerminal: false, errIsTerminal: false },
      out: (text) => out(harmless(text)),
      err: (text) => err(harmless(text)),
      signal: () => signal,
    };
    try {
      return await factory(words, host);
    } catch (error) {
      if (error instanceof Superseded) throw error;
      return (await import('./report/errors.ts')).reportTrouble(error, host, words);
    }
  };

/** Loads what starts processes when the first one is started. */
const lazySpawn: Spawn = {
  run: async (request) => (await import('../platform/process/spawn.ts')).realSpawn.run(request),
};

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** `order run … -- --no-push`: flags behind a double dash are flags all the same, there being nothing else to pass. */
function passedThrough(argv: readonly string[]): readonly string[] {
  const runs = argv[0] === 'order' && (argv[1] === 'run' || argv[1] === 'run-all');
  return runs ? argv.filter((word, at) => word !== '--' || at !== argv.indexOf('--')) : argv;
}

/** `fork --at NODE --before RUN`: with `--at`, the word behind `--before` is not its node. */
function beforeAlone(argv: readonly string[]): readonly string[] {
  const hasAt = argv[0] === 'fork' && argv.some((word) => /^--at(?:=|$)/.test(word));
  return hasAt ? argv.map((word) => (word === '--before' ? '--before=' : word)) : argv;
}

/** `-workdir W` is read as `--workdir W`: flags with one dash are known from elsewhere. */
function singleDashes(argv: readonly string[], program: Command): string[] {
  const long = new Set(program.commands.flatMap((command) => command.options.map((option) => option.long)));
  return argv.map((word) =>
    /^-[a-z][a-z-]+(=|$)/.test(word) && long.has(`-${word.replace(/=.*$/s, '')}`) ? `-${word}` : word,
  );
}
