/** Commands that only read pipelines and runs. Each is loaded when it is called. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Clock } from '../system/clock.ts';
import type { Io, Raw } from './io.ts';
import { present } from './run-words.ts';

const count = (value: string): number => {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('It must be a whole number, 0 or greater.');
};

const runsdir = () =>
  new Option('--runsdir <dir>', 'directory of the runs (default: .factory/runs)').argParser(present);
const json = (says: string) => new Option('--json', says);
const noColor = () => new Option('--no-color', 'disable colors (also: NO_COLOR)');

/** Registers them; `ended` receives the exit code of the command that ran. */
export function withLookCommands(
  program: Command,
  io: Io & Raw & { readonly clock: Clock },
  ended: (code: number) => void,
): void {
  program
    .command('checkout <run> <dir>')
    .description("Write a run's workspace at any node to a new or empty directory")
    .addOption(
      new Option(
        '--at <node[@visit]>',
        'after that execution (default: the latest of the node; without --at: the latest checkpoint)',
      ).argParser(present),
    )
    .option('--before', 'before that execution')
    .addOption(runsdir())
    .addOption(json('print the result as JSON'))
    .addOption(noColor())
    .action(async (run, dir, options) => {
      const { checkoutCommand } = await import('./checkout.ts');
      ended(await checkoutCommand(run, dir, options, io));
    });
  program
    .command('diff <run> [paths...]')
    .description('Print what a run changed in its workspace, as a patch')
    .addOption(new Option('--at <node[@visit]>', 'only the changes of that execution').argParser(present))
    .addOption(
      new Option(
        '--from <node[@visit]>',
        'compare from after that execution, or from that snapshot',
      ).argParser(present),
    )
    .addOption(
      new Option('--to <node[@visit]>', 'compare to after that execution, or to that snapshot').argParser(
        present,
      ),
    )
    .option('--names', 'print paths only: A added, M modified, D deleted')
    .addOption(runsdir())
    .addOption(json('print paths, kinds, modes and hashes as JSON'))
    .addOption(noColor())
    .action(async (run, paths, options) => {
      const { diffCommand } = await import('./diff.ts');
      ended(await diffCommand(run, paths, options, io));
    });
  program
    .command('validate <pipelines...>')
    .description('Check pipelines without running them')
    .option('--strict', 'treat attributes without effect as errors')
    .addOption(json('print findings as JSON'))
    .addOption(noColor())
    .action(async (pipelines, options) => {
      const { validateCommand } = await import('./validate.ts');
      ended(await validateCommand(pipelines, options, io));
    });
  program
    .command('fmt <pipelines...>')
    .description('Format pipeline files in place, as DOT that Graphviz reads too')
    .option(
      '--check',
      'change nothing; print the files that would change and exit with code 1 if there are any',
    )
    .addOption(noColor())
    .action(async (pipelines, options) => {
      const { fmtCommand } = await import('./fmt.ts');
      ended(await fmtCommand(pipelines, options, io));
    });
  program
    .command('doctor')
    .description('Check the prerequisites: git, a sandbox, disk space, a key store and a configured agent')
    .addOption(
      new Option('--runsdir <dir>', 'directory for the runs (default: .factory/runs)').argParser(present),
    )
    .addOption(json('print findings as JSON'))
    .addOption(noColor())
    .action(async (options) => {
      const { doctorCommand } = await import('./doctor.ts');
      ended(await doctorCommand(options, io));
    });
  program
    .command('runs')
    .description('List the runs, newest first, with their status and the next command')
    .addOption(runsdir())
    .option('--attention', 'list only runs that need attention, each with the next command')
    .addOption(json('print the list as JSON'))
    .addOption(noColor())
    .action(async (options) => {
      const { runsCommand } = await import('./runs.ts');
      ended(await runsCommand(options, io));
    });
  program
    .command('show <run>')
    .description('Show a run: status, agent, sandbox and the outcome of each node')
    .addOption(runsdir())
    .addOption(json('print it as JSON'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { showCommand } = await import('./show.ts');
      ended(await showCommand(run, options, io));
    });
  program
    .command('logs <run>')
    .description('Print the events of a run, finished or running')
    .option('-f, --follow', 'follow until the run ends')
    .addOption(new Option('--last <n>', 'print only the last n lines so far').argParser(count))
    .addOption(new Option('--node <id>', 'print only events of one node').argParser(present))
    .option('-v, --verbose', 'print debug records too')
    .addOption(runsdir())
    .addOption(json('print the recorded events, one JSON object per line'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { logsCommand } = await import('./logs.ts');
      ended(await logsCommand(run, options, io));
    });
  program
    .command('audit <run>')
    .description('Check a run for holdout leaks and changed tests')
    .addOption(runsdir())
    .addOption(json('print findings as JSON'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { auditCommand } = await import('./audit.ts');
      ended(await auditCommand(run, options, io));
    });
  program
    .command('trace <run>')
    .description("Print a run's trace with full contexts, one JSON object per line")
    .addOption(new Option('--node <id>', 'print only records of one node').argParser(present))
    .addOption(new Option('--type <type>', 'print only records of one type').argParser(present))
    .addOption(runsdir())
    .action(async (run, options) => {
      const { traceCommand } = await import('./trace.ts');
      ended(await traceCommand(run, options, io));
    });
}
