/** argv → command → exit code, for whichever process calls it. Everything heavy is imported by the command that needs it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { missingValue, usageProblem } from './commands/argv.ts';
import { asCalled } from './commands/called.ts';
import type { Io, Raw } from './commands/io.ts';
import { withLookCommands } from './commands/look-words.ts';
import { collect, present, withAnswerers, withRunOptions } from './commands/run-words.ts';
import type { Clock } from './system/clock.ts';
import type { Every } from './system/every.ts';
import { packageVersion } from './system/package.ts';

/** What commands need from the process that they run in. */
export type CommandDoors = Io &
  Raw & {
    readonly clock: Clock;
    readonly every: Every;
    /** Heeds signals from the call on; the answer fires at the first one. */
    readonly stopping: () => AbortSignal;
    /** See `Doors` in factory/types.ts. */
    readonly parting: (command: string) => void;
    readonly atLast: (work: () => Promise<void>) => void;
  };

/** One command line under way. */
type Call = {
  readonly argv: readonly string[];
  readonly doors: CommandDoors;
  readonly exit: (code: number) => void;
};

/** Commands of the planner and the builder load their room when they are called. */
const rooms: Readonly<Record<string, (program: Command, call: Call) => Promise<void>>> = {
  plan: async (program, call) => {
    const given = await toolIo(call);
    const plan = (await import('./commands/plan.ts')).planCommand(program, given);
    // The steps of a plan are tools of a pipeline, started often: they do not load the engine.
    const step = call.argv[call.argv.indexOf('plan') + 1] ?? '';
    if (!plan.commands.some((command) => command.name() === step))
      (await import('./commands/compile.ts')).withCompile(plan, {
        ...given,
        stopping: call.doors.stopping,
        atLast: call.doors.atLast,
      });
  },
  order: async (program, call) => {
    const { orderCommand } = await import('./commands/order.ts');
    const { orderRunCommands } = await import('./commands/order-flags.ts');
    const doors = await toolIo(call);
    orderRunCommands(orderCommand(program, doors), doors);
  },
  scenario: async (program, call) => {
    (await import('./commands/scenario.ts')).scenarioCommand(program, await toolIo(call));
  },
  deliver: async (program, call) => {
    const { err, called } = call.doors;
    const words = (text: string) => err(asCalled(text, called?.program));
    (await import('./commands/deliver.ts')).deliverCommand(program, { ...(await toolIo(call)), err: words });
  },
  verify: async (program, call) => {
    (await import('./commands/verify.ts')).withVerify(program, await toolIo(call));
  },
};

async function toolIo({ doors, exit }: Call) {
  const { realSpawn } = await import('./system/processes.ts');
  const { clock } = doors;
  return { ...doors, now: () => clock.now(), spawn: realSpawn, signal: doors.stopping, exit };
}

/** Runs `factory …argv` and answers with its exit code. What is thrown is an internal error. */
export async function factory(argv: readonly string[], doors: CommandDoors): Promise<number> {
  let exitCode = 0;
  const exit = (code: number): void => {
    exitCode = code;
  };
  const call: Call = { argv, doors, exit };
  const program = new Command('factory')
    .description('Run pipelines that turn a spec into verified commits.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions(false)
    .exitOverride()
    // What is wrong with the flags is drawn as everything else that is wrong.
    .configureOutput({ writeOut: doors.out, writeErr: doors.err, outputError: () => {} });

  withRunOptions(program.command('run [pipeline]'))
    .description('Run a pipeline')
    .option('--run-id <id>', 'id of the run (default: a ULID)')
    .option('--resume', 'resume the run --run-id')
    .option('--strict', 'treat attributes without effect as errors')
    .option('--allow-dirty', 'commit uncommitted changes of the workdir first')
    .option('--holdout <dir>', 'directory of holdout scenarios, hidden from agents')
    .action(async (pipeline, options) => {
      const { runCommand } = await import('./commands/run.ts');
      exitCode = await runCommand(pipeline, options, { ...doors, signal: doors.stopping() });
    });
  withRunOptions(program.command('resume <run>'))
    .description('Resume a run')
    .option('--live', 'of a replay: use the agents where the record does not fit')
    .action(async (run, options) => {
      const { resumeCommand } = await import('./commands/run.ts');
      exitCode = await resumeCommand(run, options, { ...doors, signal: doors.stopping() });
    });
  // `run` needs no other command.
  if (argv[0] !== 'run') await withOthers(program, call);

  try {
    const words = singleDashes(passedThrough(argv), program);
    missingValue(program, words);
    await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Asked-for help and version are no errors; every other word of commander's is about wrong flags.
    if (error.exitCode === 0) return 0;
    // Commander has shown the help of all commands, and nothing of the one that there is not.
    if (error.code === 'commander.help' && argv[0] === 'help' && argv[1] !== undefined)
      return factory([argv[1]], doors);
    if (error.code !== 'commander.help') {
      const { refuse } = await import('./commands/refuse.ts');
      await refuse(
        [usageProblem(error, program, argv, (path) => existsSync(resolve(doors.cwd, path)))],
        doors,
        {
          json: argv.includes('--json'),
        },
      );
    }
    return 2;
  }
}

/** All commands but `run` and `resume`. */
async function withOthers(program: Command, call: Call): Promise<void> {
  const { argv, doors, exit } = call;
  withAnswerers(
    program
      .command('fork <run>')
      .description('Fork a run from a checkpoint of an existing run')
      .addOption(
        new Option('--at <node[@visit]>', 'after that execution (default: the latest of the node)').argParser(
          present,
        ),
      )
      .option('--before', 'before that execution, which then runs again')
      .addOption(
        new Option('--pipeline <file>', 'use this changed pipeline and its prompts').argParser(present),
      )
      .option('--run-id <id>', 'id of the new run (default: a ULID)')
      .addOption(
        new Option(
          '--runsdir <dir>',
          'directory of the new run (default: that of the other); RUN is searched there first, then in .factory/runs',
        ).argParser(present),
      ),
  ).action(async (run, options) => {
    const { forkCommand } = await import('./commands/fork.ts');
    exit(await forkCommand(run, options, { ...doors, signal: doors.stopping() }));
  });
  withAnswerers(
    program
      .command('replay <run>')
      .description('Repeat a run from its record, without a model')
      .addOption(
        new Option('--from <node[@visit]>', 'start before that execution (default: the whole run)').argParser(
          present,
        ),
      )
      .option(
        '--set <prompt.node=text>',
        'replace the prompt of a node (or prompt.NODE=@FILE); repeatable',
        collect,
      )
      .option('--live', 'use the agents where the record does not fit (default: end there)')
      .option('--run-tools', 'run tools and verification (default: use the record where it fits)')
      .option('--check', 'compare the two traces and print the first difference')
      .option('--run-id <id>', 'id of the new run (default: a ULID)')
      .addOption(
        new Option('--runsdir <dir>', 'directory of the new run (default: that of the other)').argParser(
          present,
        ),
      ),
  ).action(async (run, options) => {
    const { replayCommand } = await import('./commands/replay.ts');
    exit(await replayCommand(run, options, { ...doors, signal: doors.stopping() }));
  });
  program
    .command('record')
    .description('Use the recorded answers of a run')
    .command('export <run>')
    .description('Write the recorded answers as an agent script for --agent scripted --script FILE')
    .option('-o, --output <file>', 'output file (default: standard output)')
    .addOption(
      new Option('--runsdir <dir>', 'directory of the runs (default: .factory/runs)').argParser(present),
    )
    .action(async (run, options) => {
      const { recordExport } = await import('./commands/record.ts');
      exit(await recordExport(run, options, doors));
    });
  withLookCommands(program, doors, exit);
  const wanted = argv.find((word) => rooms[word] !== undefined);
  if (wanted !== undefined && argv.indexOf(wanted) === argv.findIndex((word) => !word.startsWith('-'))) {
    await rooms[wanted]?.(program, call);
  } else {
    program
      .command('plan <step>')
      .description('Compile a spec into work orders (steps: prompt, check, emit)');
    program
      .command('order <step>')
      .description(
        'Build work orders (run, run-all; steps: next, prompt, apply, commit, rollback, mend, proof)',
      );
    program
      .command('scenario <step>')
      .description('Accept or reject a product by holdout scenarios (lint, selftest, run)');
    program.command('deliver <run>').description("Put a run's commits on a branch or into a new repository");
    program.command('verify <run>').description('Check a run directory against its own hashes');
  }
}

/** `order run … -- --no-push`: flags behind a double dash are flags all the same, there being nothing else to pass. */
function passedThrough(argv: readonly string[]): readonly string[] {
  const runs = argv[0] === 'order' && (argv[1] === 'run' || argv[1] === 'run-all');
  return runs ? argv.filter((word, at) => word !== '--' || at !== argv.indexOf('--')) : argv;
}

/** `-workdir W` is read as `--workdir W`: flags with one dash are known from elsewhere. */
function singleDashes(argv: readonly string[], program: Command): string[] {
  const long = new Set(program.commands.flatMap((command) => command.options.map((option) => option.long)));
  return argv.map((word) =>
    /^-[a-z][a-z-]+(=|$)/.test(word) && long.has(`-${word.replace(/=.*$/s, '')}`) ? `-${word}` : word,
  );
}
