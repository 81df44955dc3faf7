/** The commands that only look: at pipelines, at runs and what they left. Each is loaded when it is called. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Clock } from '../system/clock.ts';
import type { Io, Raw } from './io.ts';
import { present } from './run-words.ts';

const count = (value: string): number => {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('It is no whole number from 0 on.');
};

const runsdir = () =>
  new Option('--runsdir <dir>', 'where runs are kept (default: .factory/runs)').argParser(present);
const json = (says: string) => new Option('--json', says);
const noColor = () => new Option('--no-color', 'no colours (also: NO_COLOR)');

/** Tells commander of them. `ended` takes the exit code of the one that was called. */
export function withLookCommands(
  program: Command,
  io: Io & Raw & { readonly clock: Clock },
  ended: (code: number) => void,
): void {
  program
    .command('checkout <run> <dir>')
    .description("put a run's workspace, as it was at any moment, into a folder that is missing or empty")
    .addOption(
      new Option(
        '--at <node[@visit]>',
        'right after that visit (default: the latest finished one of the node; without --at: the latest checkpoint)',
      ).argParser(present),
    )
    .option('--before', 'right before that visit')
    .addOption(runsdir())
    .addOption(json('the result as JSON'))
    .addOption(noColor())
    .action(async (run, dir, options) => {
      const { checkoutCommand } = await import('./checkout.ts');
      ended(await checkoutCommand(run, dir, options, io));
    });
  program
    .command('diff <run> [paths...]')
    .description(
      "what has changed in a run's workspace (all of it, or only at these paths) since it began, as a patch",
    )
    .addOption(new Option('--at <node[@visit]>', 'what that visit has changed').argParser(present))
    .addOption(
      new Option(
        '--from <node[@visit]>',
        'since right after that visit, or since that snapshot, not since the beginning',
      ).argParser(present),
    )
    .addOption(
      new Option(
        '--to <node[@visit]>',
        'until right after that visit, or that snapshot, not the latest checkpoint',
      ).argParser(present),
    )
    .option('--names', 'the paths alone: A added, M modified, D deleted')
    .addOption(runsdir())
    .addOption(json('paths, kinds, modes and hashes as JSON'))
    .addOption(noColor())
    .action(async (run, paths, options) => {
      const { diffCommand } = await import('./diff.ts');
      ended(await diffCommand(run, paths, options, io));
    });
  program
    .command('validate <pipelines...>')
    .description('say what is wrong with pipelines')
    .addOption(json('findings as JSON'))
    .addOption(noColor())
    .action(async (pipelines, options) => {
      const { validateCommand } = await import('./validate.ts');
      ended(await validateCommand(pipelines, options, io));
    });
  program
    .command('doctor')
    .description('whether this machine has what runs need: git, a sandbox, room, somebody who answers')
    .addOption(
      new Option('--runsdir <dir>', 'where runs are to be kept (default: .factory/runs)').argParser(present),
    )
    .addOption(json('the findings as JSON'))
    .addOption(noColor())
    .action(async (options) => {
      const { doctorCommand } = await import('./doctor.ts');
      ended(await doctorCommand(options, io));
    });
  program
    .command('runs')
    .description('list the runs, newest first: how each stands, and what to do about it')
    .addOption(runsdir())
    .option('--attention', 'only those that want somebody, each with what to type next')
    .addOption(json('the list as JSON'))
    .addOption(noColor())
    .action(async (options) => {
      const { runsCommand } = await import('./runs.ts');
      ended(await runsCommand(options, io));
    });
  program
    .command('show <run>')
    .description(
      'how a run stands: who answered, what its stages are confined by, each node with its outcome',
    )
    .addOption(runsdir())
    .addOption(json('the same as JSON'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { showCommand } = await import('./show.ts');
      ended(await showCommand(run, options, io));
    });
  program
    .command('logs <run>')
    .description('what happened in a run, event by event, also while it goes')
    .option('-f, --follow', 'go on telling until nobody is at work in the run')
    .addOption(new Option('--last <n>', 'of what has happened so far, the last n lines').argParser(count))
    .addOption(new Option('--node <id>', 'only what is about one node').argParser(present))
    .option('-v, --verbose', 'more records')
    .addOption(runsdir())
    .addOption(json('the events as they were recorded, one JSON record a line'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { logsCommand } = await import('./logs.ts');
      ended(await logsCommand(run, options, io));
    });
  program
    .command('audit <run>')
    .description(
      'whether agents of a run have seen or copied what is sealed, and whether tests were made to say less',
    )
    .addOption(runsdir())
    .addOption(json('the findings as JSON'))
    .addOption(noColor())
    .action(async (run, options) => {
      const { auditCommand } = await import('./audit.ts');
      ended(await auditCommand(run, options, io));
    });
  program
    .command('trace <run>')
    .description("print a run's trace, contexts in full, one JSON record a line")
    .addOption(new Option('--node <id>', 'only the records of one node').argParser(present))
    .addOption(new Option('--type <type>', 'only the records of one type').argParser(present))
    .addOption(runsdir())
    .action(async (run, options) => {
      const { traceCommand } = await import('./trace.ts');
      ended(await traceCommand(run, options, io));
    });
}
