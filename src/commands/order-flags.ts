/** The flags of `factory order run` and `factory order run-all`. What they do is loaded when they are called. */
import { type Command, InvalidArgumentError } from 'commander';
import type { OrderRunIo, OrderRunOptions } from './order-run.ts';
import { everyAgent, present, quiet, withBounds } from './run-words.ts';

/** The model that is asked where nobody names one. */
export const defaultModel = 'gpt-5.2';

/** What `order run` does where nobody says otherwise. */
export const orderDefaults = { maxAttempts: 5, timeoutSeconds: 600, push: true } as const;

const whole = (word: string): number => {
  const value = Number(word);
  if (!/^[+-]?\d+$/.test(word)) throw new InvalidArgumentError('a whole number is wanted.');
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('a smaller number is wanted.');
  return value;
};
const number = (word: string): number => {
  if (word.trim() === '' || !Number.isFinite(Number(word)))
    throw new InvalidArgumentError('a number is wanted.');
  return Number(word);
};

const temperature = (word: string): number => {
  const value = number(word);
  if (value < 0 || value > 2) throw new InvalidArgumentError('a number from 0 to 2 is wanted.');
  return value;
};

/** Registers `order run` and `order run-all`; `io.exit` is given the exit code. */
export function orderRunCommands(
  order: Command,
  io: OrderRunIo & { readonly exit: (code: number) => void },
): void {
  const verb = (name: string, what: string): Command =>
    withBounds(order.command(name).description(what))
      .option('--repo <dir>', 'the repository: its tree must be clean', present)
      .option(
        '--artifacts-dir <dir>',
        'root of the artifact tree (default: ARTIFACTS_DIR, else ./artifacts)',
        present,
      )
      .option('--out <dir>', 'a copy of the artifacts, outside the repository', present)
      .option('--runsdir <dir>', 'where runs are kept (default: .factory/runs)', present)
      .option('--max-attempts <n>', 'attempts that an order gets', whole, orderDefaults.maxAttempts)
      .option('--llm-model <name>', `the model that is asked (default: ${defaultModel})`, present)
      .option('--model <name>', 'the same', present)
      .option('--llm-temperature <n>', 'sampling temperature, sent when given', temperature)
      .option(
        '--timeout-seconds <n>',
        'time of each command and model call',
        number,
        orderDefaults.timeoutSeconds,
      )
      .option('--commit-hash <revision>', 'where a new branch begins (default: HEAD)')
      .option('--branch <name>', 'the branch of the commits (default: factory/…)')
      .option('--reuse-branch', 'the branch must be there')
      .option('--create-branch', 'the branch must not be there')
      .option('--no-push', 'do not push to the first remote')
      .option('--allow-verify-exempt', 'orders may be exempt from verification by their own word')
      .option('--python <path>', 'accepted; not needed')
      .option('--agent <name>', `who answers: ${everyAgent}`, present)
      .option('--script <file>', 'an agent script with prepared answers')
      .option('--json', 'the result as JSON on standard output')
      .addOption(quiet('only the verdict and what went wrong'))
      .option('-v, --verbose', 'more records')
      .option('--no-color', 'no colours (also: NO_COLOR)');
  verb('run', 'carry out one work order onto a branch')
    .option('--work-order <file>', 'a work order, or a plan of several', present)
    .option('--run-id <id>', 'name of the run (default: a ULID)')
    .option('--resume', 'go on with the run that --run-id names')
    .option('--wait', 'of a resume: while the run is parked for a quota, wait and go on')
    .option('--now', 'of a resume: go on with a parked run before its time')
    .option(
      '--take-over',
      'of a resume: do not wait although the owner of the run is stopped or out of sight',
    )
    .action(async (options: OrderRunOptions) => {
      const { orderRun } = await import('./order-run.ts');
      io.exit(await orderRun(options, io));
    });
  verb('run-all', 'carry out the work orders of a folder onto one branch')
    .option('--workdir <dir>', 'the folder with WO-*.json', present)
    .action(async (options: OrderRunOptions) => {
      const { orderRunAll } = await import('./order-run.ts');
      io.exit(await orderRunAll(options, io));
    });
}
