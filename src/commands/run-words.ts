/** Flags that several commands share. */
import { type Command, InvalidArgumentError, Option } from 'commander';

export const collect = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
export const present = (value: string): string => {
  if (value.trim() === '') throw new InvalidArgumentError('The value is empty.');
  return value;
};

/** How much a command that runs nodes prints, and how; `quiet` and `verbose` say what the two flags do there. */
export function withLogOptions(
  command: Command,
  quiet: string,
  verbose = 'print debug records too',
): Command {
  return command
    .addOption(new Option('-q, --quiet', quiet).conflicts('verbose'))
    .option('-v, --verbose', verbose)
    .addOption(
      new Option('--log-level <level>', 'lowest level to log (also: FACTORY_LOG_LEVEL)').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .addOption(
      new Option('--log-format <format>', 'format of log records (also: FACTORY_LOG_FORMAT)').choices([
        'text',
        'json',
      ]),
    )
    .option('--no-color', 'disable colors (also: NO_COLOR)');
}

/** Values of `--agent`. */
export const everyAgent =
  'openai, codex, claude, command, scripted, fake, stub; a comma-separated list is tried in order';

/** Flags of the commands that start or resume a run. */
export function withRunOptions(command: Command): Command {
  return withAnswerers(
    command
      .addOption(
        new Option('--runsdir <dir>', 'directory of the runs (default: .factory/runs)').argParser(present),
      )
      .addOption(
        new Option(
          '--workdir <dir>',
          'directory to copy into the run (default: the graph attribute workdir, else .)',
        ).argParser(present),
      ),
  )
    .option('--accept-changes', 'resume with a changed pipeline, prompts or flags')
    .option('--now', 'resume a suspended run before its time')
    .option('--take-over', 'take over a run whose owner is stopped or on another host, without waiting');
}

/** Flags of every command that runs nodes: variables, agents, limits, output. */
export function withAnswerers(command: Command): Command {
  return withLogOptions(
    withBounds(command)
      .option('--var <name=value>', 'set a variable of the pipeline; repeatable', collect)
      .addOption(new Option('--agent <name>', `agent to use: ${everyAgent}`).argParser(present))
      .addOption(new Option('--model <name>', 'model for nodes without llm_model').argParser(present))
      .addOption(
        new Option(
          '--effort <word>',
          'reasoning effort for nodes without one: none, minimal, low, medium, high, xhigh',
        ).argParser(present),
      )
      .option('--script <file>', 'agent script with prepared answers (implies --agent scripted)')
      .option('--max-steps <n>', 'limit of node executions in the run')
      .option('--max-visits <n>', 'limit of executions per node, instead of the limits in the graph')
      .option('--max-wall <duration>', 'time limit of the run, such as 2h')
      .option(
        '--park-after <duration>',
        'longest wait for a quota or an outage before the run is suspended (default: 2m)',
      )
      .option('--max-outage <duration>', 'with --wait: longest outage that is waited for (default: 8h)')
      .option('--wait', 'wait while the run is suspended, then resume it')
      .option('--json', 'print the result as JSON'),
    'print errors only',
  );
}

/** Flags that limit what a run may spend and reach, of every command that starts one. */
export function withBounds(command: Command): Command {
  return command
    .option('--sandbox <word>', 'sandbox of the nodes: auto, bwrap, none (default: auto)')
    .option('--env-pass <names>', 'secrets that nodes may read, by name (* for all); repeatable', collect)
    .option('--max-cost-usd <usd>', 'cost limit of the model calls, in US dollars')
    .option('--max-tokens <n>', 'token limit of the model calls, input and output together')
    .option('--unknown-cost <word>', 'under a cost limit: stop (default) or allow calls of unknown cost')
    .addOption(
      new Option(
        '--prices <file>',
        'file with prices that replace bundled ones (also: FACTORY_PRICES)',
      ).argParser(present),
    );
}
