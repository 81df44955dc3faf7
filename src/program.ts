/** argv → command → exit code. Everything heavy is imported by the command that needs it. */
import { closeSync, existsSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { flagsFirst, missingValue, usageProblem } from './commands/argv.ts';
import { asCalled, programWords, sameAgain } from './commands/called.ts';
import { harmless, type Io, type Raw } from './commands/io.ts';
import { withLookCommands } from './commands/look-words.ts';
import { collect, present, withAnswerers, withRunOptions } from './commands/run-words.ts';
import { realClock } from './system/clock.ts';
import { shutDebugger } from './system/debugger.ts';
import { realEvery } from './system/every.ts';
import { isCode, systemWords } from './system/files.ts';
import { dropEverything } from './system/live.ts';
import { packageVersion } from './system/package.ts';
import { type Reading, untilRead } from './system/readers.ts';
import './system/schemas.ts';

if (process.platform === 'win32') {
  process.stderr.write('factory runs on Linux and macOS; on Windows, run it inside WSL\n');
  process.exit(2);
}

// A reader that went away (`factory … | head`) is no error; a full disk is.
let unwritten = false;
/** Node says of no pipe that it is destroyed. */
let outIsClosed = false;
process.stdout.on('error', (error) => {
  outIsClosed = true;
  // EIO: the terminal went away.
  if (isCode(error, 'EIO')) process.once('exit', leaveTerminal);
  if (isCode(error, 'EPIPE', 'EIO') || unwritten) return;
  unwritten = true;
  process.stderr.write(`factory: standard output cannot be written: ${systemWords(error)}\n`);
  process.exitCode = process.exitCode || 1;
});
process.stderr.on('error', () => {});

/** Where we were started. A shell stays in a folder that somebody has removed; paths mean nothing there. */
function startedIn(): string {
  try {
    return process.cwd();
  } catch (error) {
    const why = isCode(error, 'ENOENT') ? 'does not exist any more' : `cannot be used: ${systemWords(error)}`;
    process.stderr.write(
      `error[cwd]: the folder that factory was started in ${why}\n  = fix: change into one that is there (cd), then the same command again\n`,
    );
    process.exit(2);
  }
}

const cwd = startedIn();
const program = programWords(process.argv[1] ?? '', process.env, cwd);
const given = flagsFirst(process.argv.slice(2));
const again = sameAgain(program, given);

const io: Io = {
  cwd,
  env: process.env,
  out: (text) => void process.stdout.write(harmless(text)),
  err: (text) => void process.stderr.write(harmless(text)),
  outIsTerminal: process.stdout.isTTY === true,
  errIsTerminal: process.stderr.isTTY === true,
  // A terminal that does not know its size says 0. Either of the two may go somewhere else.
  width: process.stderr.columns || process.stdout.columns || 100,
  called: { program, ...(again === undefined ? {} : { again }) },
};

/** The command that goes on with the run under way. */
let resumeWith: string | undefined;

/** Whether signals are ours to answer. */
let heedsSignals = false;

/** Ends us where signals are heeded: left to itself, Node gives signals their usual meaning back while it clears up, and
 *  one that comes then would make a run that has ended, and said so, look like a killed one. */
async function leave(): Promise<void> {
  if (!heedsSignals) return;
  reading = untilRead([process.stdout, process.stderr], asked);
  await reading.over;
  for (const work of last) await work();
  process.exit();
}

let asked: AbortSignal | undefined;
/** Set when all is over but what readers have not taken yet. */
let reading: Reading | undefined;

/** Milliseconds within which the same signal twice is one: `npx` passes on what the terminal has sent to both of us. */
const oneSignalMs = 100;

/** Lets go of a terminal that has hung up: Node would set it to what it was, which cannot be done, and abort for it. */
function leaveTerminal(): void {
  for (const file of [0, 1, 2])
    try {
      closeSync(file);
      openSync('/dev/null', 'r+');
    } catch {
      // It was closed already.
    }
}

/** What ends a process: people and systems that ask, alarms, and a limit on the time of a CPU. */
const endings = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR2',
  'SIGALRM',
  'SIGVTALRM',
  'SIGXCPU',
] as const;

/** Whether Node itself heeds SIGUSR2: it was started with --report-on-signal or --heapsnapshot-signal. */
const nodeReports = process.listenerCount('SIGUSR2') > 0;

/** Fires at the first of these signals: stages are ended and the checkpoint saved. The second one, or SIGQUIT, ends us,
 *  with every stage killed where it stands and nothing half-made left. */
function stopping(): AbortSignal {
  heedsSignals = true;
  void shutDebugger();
  const controller = new AbortController();
  asked = controller.signal;
  let first = Number.NEGATIVE_INFINITY;
  for (const signal of endings) {
    if (signal === 'SIGUSR2' && nodeReports) continue;
    process.on(signal, () => {
      if (signal === 'SIGHUP') process.once('exit', leaveTerminal);
      if (controller.signal.aborted || signal === 'SIGQUIT') {
        if (signal === controller.signal.reason && realClock.monotonic() - first < oneSignalMs) return;
        if (reading !== undefined) return reading.stop();
        dropEverything();
        if (resumeWith !== undefined) io.err(`stopped at once by ${signal}; go on with:\n${resumeWith}\n`);
        process.exit(130);
      }
      first = realClock.monotonic();
      controller.abort(signal);
    });
  }
  return controller.signal;
}

const parting = (command: string): void => {
  resumeWith = command;
};

/** What is done when all is told. */
const last: (() => Promise<void>)[] = [];
const atLast = (work: () => Promise<void>): void => void last.push(work);

let exitCode = 0;

/** Commands of the planner and the builder load their room when they are called. */
const rooms: Readonly<Record<string, (program: Command) => Promise<void>>> = {
  plan: async (program) => {
    const given = await toolIo();
    const plan = (await import('./commands/plan.ts')).planCommand(program, given);
    // The steps of a plan are tools of a pipeline, started often: they do not load the engine.
    const step = process.argv[process.argv.indexOf('plan') + 1] ?? '';
    if (!plan.commands.some((command) => command.name() === step))
      (await import('./commands/compile.ts')).withCompile(plan, { ...given, stopping, atLast });
  },
  order: async (program) => {
    const { orderCommand } = await import('./commands/order.ts');
    const { orderRunCommands } = await import('./commands/order-flags.ts');
    const doors = await toolIo();
    orderRunCommands(orderCommand(program, doors), doors);
  },
  scenario: async (program) => {
    (await import('./commands/scenario.ts')).scenarioCommand(program, await toolIo());
  },
  deliver: async (program) => {
    const words = (text: string) => io.err(asCalled(text, io.called?.program));
    (await import('./commands/deliver.ts')).deliverCommand(program, { ...(await toolIo()), err: words });
  },
  verify: async (program) => {
    (await import('./commands/verify.ts')).withVerify(program, await toolIo());
  },
};

async function toolIo() {
  const { realSpawn } = await import('./system/processes.ts');
  return {
    ...io,
    now: () => realClock.now(),
    spawn: realSpawn,
    clock: realClock,
    every: realEvery,
    signal: stopping,
    exit: (code: number) => {
      exitCode = code;
    },
  };
}

async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('factory')
    .description('Runs pipelines that turn a spec into verified commits.')
    .version(packageVersion())
    .showSuggestionAfterError()
    .enablePositionalOptions(false)
    .exitOverride()
    // What is wrong with the flags is drawn as everything else that is wrong.
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: () => {} });

  withRunOptions(program.command('run [pipeline]'))
    .description('run a pipeline')
    .option('--run-id <id>', 'name of the run (default: a ULID)')
    .option('--resume', 'go on with the run that --run-id names')
    .option('--allow-dirty', 'take uncommitted changes of the workdir as the first commit')
    .option('--holdout <dir>', 'take what judges from this folder: it is sealed, and no agent gets to see it')
    .action(async (pipeline, options) => {
      const { runCommand } = await import('./commands/run.ts');
      exitCode = await runCommand(pipeline, options, {
        ...io,
        clock: realClock,
        every: realEvery,
        signal: stopping(),
        parting,
        atLast,
      });
    });
  withRunOptions(program.command('resume <run>'))
    .description('go on with a run where it stopped')
    .option('--live', 'of a replay: let agents answer where it leaves the record')
    .action(async (run, options) => {
      const { resumeCommand } = await import('./commands/run.ts');
      exitCode = await resumeCommand(run, options, {
        ...io,
        clock: realClock,
        every: realEvery,
        signal: stopping(),
        parting,
        atLast,
      });
    });
  // The other commands are not told of where it is clear that none of them is meant.
  if (argv[0] !== 'run') await withOthers(program, argv);

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
      return main([argv[1]]);
    if (error.code !== 'commander.help') {
      const { refuse } = await import('./commands/refuse.ts');
      await refuse([usageProblem(error, program, argv, (path) => existsSync(resolve(cwd, path)))], io, {
        json: argv.includes('--json'),
      });
    }
    return 2;
  }
}

/** All commands but `run` and `resume`. */
async function withOthers(program: Command, argv: readonly string[]): Promise<void> {
  withAnswerers(
    program
      .command('fork <run>')
      .description('start a new run from a moment of another one, which stays as it is')
      .addOption(
        new Option(
          '--at <node[@visit]>',
          'right after that visit (default: the latest finished one of the node)',
        ).argParser(present),
      )
      .option('--before', 'right before that visit, which is then made again')
      .addOption(
        new Option(
          '--pipeline <file>',
          'a changed pipeline to go on with; its prompts are read anew',
        ).argParser(present),
      )
      .option('--run-id <id>', 'name of the new run (default: a ULID)')
      .addOption(
        new Option(
          '--runsdir <dir>',
          'where the new run is kept (default: where the other one is); the other one is looked for there first, then in .factory/runs',
        ).argParser(present),
      ),
  ).action(async (run, options) => {
    const { forkCommand } = await import('./commands/fork.ts');
    exitCode = await forkCommand(run, options, {
      ...io,
      clock: realClock,
      every: realEvery,
      signal: stopping(),
      atLast,
    });
  });
  withAnswerers(
    program
      .command('replay <run>')
      .description('make a run again from what it recorded, without any model, as far as the record goes')
      .addOption(
        new Option(
          '--from <node[@visit]>',
          'begin right before that visit, which is then made again (default: the whole run)',
        ).argParser(present),
      )
      .option(
        '--set <prompt.node=text>',
        'another prompt for a node, or prompt.NODE=@FILE; repeatable',
        collect,
      )
      .option('--live', 'let agents answer where the run leaves the record (default: it stops there)')
      .option('--run-tools', 'run tools and checks for real (default: the record answers where it fits)')
      .option('--check', 'say whether the two traces are equal, or where they first differ')
      .option('--run-id <id>', 'name of the new run (default: a ULID)')
      .addOption(
        new Option(
          '--runsdir <dir>',
          'where the new run is kept (default: where the other one is)',
        ).argParser(present),
      ),
  ).action(async (run, options) => {
    const { replayCommand } = await import('./commands/replay.ts');
    exitCode = await replayCommand(run, options, {
      ...io,
      clock: realClock,
      every: realEvery,
      signal: stopping(),
      parting,
      atLast,
    });
  });
  program
    .command('record')
    .description('what a run recorded of its agents')
    .command('export <run>')
    .description('write the recorded answers as an agent script, for --agent scripted --script FILE')
    .option('-o, --output <file>', 'where to (default: standard output)')
    .addOption(
      new Option('--runsdir <dir>', 'where runs are kept (default: .factory/runs)').argParser(present),
    )
    .action(async (run, options) => {
      const { recordExport } = await import('./commands/record.ts');
      exitCode = await recordExport(run, options, io);
    });
  const raw: Raw = {
    bytes: (piece) => void process.stdout.write(piece),
    outIsClosed: () => outIsClosed,
  };
  withLookCommands(program, { ...io, ...raw, clock: realClock }, (code) => {
    exitCode = code;
  });
  const wanted = argv.find((word) => rooms[word] !== undefined);
  if (wanted !== undefined && argv.indexOf(wanted) === argv.findIndex((word) => !word.startsWith('-'))) {
    await rooms[wanted]?.(program);
  } else {
    program
      .command('plan <step>')
      .description('compile a spec into work orders (or its steps: prompt, check, emit)');
    program
      .command('order <step>')
      .description(
        'carry out work orders (run, run-all; next, prompt, apply, commit, rollback, mend, proof)',
      );
    program
      .command('scenario <step>')
      .description('judge a product by scenarios that its builder never sees (lint, selftest, run)');
    program.command('deliver <run>').description("put a run's commits on a branch, or into a new folder");
    program.command('verify <run>').description("check a run's directory against its own records");
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

main(given)
  .then(
    (code) => {
      process.exitCode = unwritten && code === 0 ? 1 : code;
    },
    async (error: unknown) => {
      const { tellTrouble } = await import('./commands/trouble.ts');
      process.exitCode = await tellTrouble(error, io, given);
    },
  )
  .finally(leave);
