/** `factory order …`: the steps of a build that are not a model's. Each is a tool of `build.dot` and works by hand too. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { orderApply } from '../builder/steps/apply.ts';
import { orderCommit } from '../builder/steps/commit.ts';
import { orderMend } from '../builder/steps/fix-order.ts';
import { orderNext } from '../builder/steps/next.ts';
import { orderPrompt } from '../builder/steps/prompt.ts';
import { orderProof } from '../builder/steps/proof.ts';
import { orderRollback } from '../builder/steps/rollback.ts';
import type { Verdict } from '../model/step.ts';
import type { CommandIo } from '../system/command-io.ts';
import { conclude } from './conclude.ts';

function upTo(word: string): number {
  const n = Number(word);
  if (word.trim() === '' || !Number.isSafeInteger(n) || n < 0 || n > 99)
    throw new InvalidArgumentError('a whole number from 0 to 99 is wanted.');
  return n;
}

function count(word: string): number {
  const n = Number(word);
  if (!Number.isSafeInteger(n) || n < 1)
    throw new InvalidArgumentError('a whole number of at least 1 is wanted.');
  return n;
}

/** Registers `order` and its verbs; `io.exit` is given each verb's exit code. */
export function orderCommand(
  program: Command,
  io: CommandIo & { readonly exit: (code: number) => void },
): Command {
  const order = program
    .command('order')
    .description('Build work orders; the steps of a build, as tools of a pipeline');
  const verb = (name: string, what: string): Command =>
    order
      .command(name)
      .description(what)
      .option('--run <dir>', 'run directory (default: the one of the pipeline)')
      .option('--json', 'print the result as JSON');
  const concluding =
    <T>(step: (options: T, io: CommandIo) => Promise<Verdict>) =>
    async (options: T & { readonly json?: boolean }) =>
      io.exit(await conclude(io, options.json, await step(options, io)));
  verb('next', 'Select the next work order')
    .option('--allow-verify-exempt', 'honor verify_exempt in any work order')
    .addOption(
      new Option('--exempt <whom>', 'honor verify_exempt of orders with provenance, or of any order (allow)')
        .choices(['provenance', 'allow'])
        .default('provenance'),
    )
    .action(concluding(orderNext));
  verb('prompt', 'Start an attempt: check preconditions and write the prompt')
    .option('--template <file>', 'prompt template with {{PLACEHOLDERS}}')
    .action(concluding(orderPrompt));
  verb('apply', 'Check the proposal and write its files').action(concluding(orderApply));
  verb('commit', 'Commit the files of the work order').action(concluding(orderCommit));
  verb('rollback', 'Undo the attempt and decide whether to retry')
    .option('--attempts <n>', 'attempts per work order', count, 5)
    .action(concluding(orderRollback));
  verb('mend', 'Create a work order from failed holdout scenarios')
    .option('--fixes <n>', 'limit of such orders per build', upTo, 2)
    .action(concluding(orderMend));
  verb('proof', 'Verify the final commit in a fresh checkout').action(concluding(orderProof));
  return order;
}
