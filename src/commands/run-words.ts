/** The flags that several commands share, as commander is told of them. */
import { type Command, InvalidArgumentError, Option } from 'commander';

export const collect = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
export const present = (value: string): string => {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty.');
  return value;
};

/** `--quiet` of a command that has `--verbose` too. */
export const quiet = (says: string): Option => new Option('-q, --quiet', says).conflicts('verbose');

/** What `--agent` may be given. */
export const everyAgent =
  'openai, codex, claude, command, scripted, fake, stub; several with commas are asked in order';

/** The flags of whatever begins or resumes a run. */
export function withRunOptions(command: Command): Command {
  return withAnswerers(
    command
      .addOption(
        new Option('--runsdir <dir>', 'where runs are kept (default: .factory/runs)').argParser(present),
      )
      .addOption(
        new Option(
          '--workdir <dir>',
          'the folder that is copied into the run (default: what the pipeline says, else .)',
        ).argParser(present),
      ),
  )
    .option('--accept-changes', 'resume although pipeline, prompts or flags have changed')
    .option('--now', 'resume a parked run before its time')
    .option('--take-over', 'resume without waiting although the owner of the run is stopped or out of sight');
}

/** Who answers, with what, how far, and how it is told: for whatever drives a run to its end. */
export function withAnswerers(command: Command): Command {
  return withBounds(command)
    .option('--var <name=value>', 'sets a variable of the pipeline; repeatable', collect)
    .addOption(new Option('--agent <name>', `who answers: ${everyAgent}`).argParser(present))
    .addOption(new Option('--model <name>', 'the model, for nodes that name none').argParser(present))
    .addOption(
      new Option(
        '--effort <word>',
        'how much the model may think, for nodes that say nothing: none, minimal, low, medium, high, xhigh',
      ).argParser(present),
    )
    .option(
      '--script <file>',
      'an agent script in place of the one that the pipeline bundles; without --agent it answers',
    )
    .option('--env-pass <names>', 'secrets that tools may see, by name; repeatable', collect)
    .option('--max-steps <n>', 'stages that the run may make')
    .option('--max-visits <n>', 'visits that each node may get, whatever nodes and graph say')
    .option('--max-wall <duration>', 'time that the run may take, such as 2h')
    .option('--park-after <duration>', 'the longest wait for a quota within the run (default: 2m)')
    .option('--wait', 'while the run is parked for a quota, wait and go on')
    .option('--json', 'the result as JSON on standard output')
    .addOption(quiet('only what went wrong'))
    .option('-v, --verbose', 'more records')
    .option('--no-color', 'no colours (also: NO_COLOR)');
}

/** What may be spent and reached, on every command that begins a run. */
export function withBounds(command: Command): Command {
  return command
    .option('--sandbox <word>', 'how stages are confined: auto, bwrap, none (default: auto)')
    .option('--max-cost-usd <usd>', 'what its model calls may cost')
    .option('--max-tokens <n>', 'tokens that they may use, input and output together')
    .option('--unknown-cost <word>', 'under such a limit: stop (default) or allow calls of unknown cost')
    .addOption(
      new Option(
        '--prices <file>',
        'prices of models over the bundled ones (also: FACTORY_PRICES)',
      ).argParser(present),
    );
}
