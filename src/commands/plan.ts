/** `factory plan prompt|check|emit`: the steps of a plan that are not a model's. */
import { type Command, Option } from 'commander';
import { inWorkspace } from '../model/layout.ts';
import type { Verdict } from '../model/step.ts';
import { defaultAttempts, planCheck } from '../planner/steps/check.ts';
import { planEmit } from '../planner/steps/emit.ts';
import { planPrompt } from '../planner/steps/prompt.ts';
import type { CommandIo } from '../system/command-io.ts';
import { conclude } from './conclude.ts';

/** Registers `plan` and its verbs; `io.exit` is given each verb's exit code. */
export function planCommand(
  program: Command,
  io: CommandIo & { readonly exit: (code: number) => void },
): Command {
  const plan = program
    .command('plan')
    .description('Compile a spec into work orders, at once or step by step');
  const concluding =
    <T>(step: (options: T, io: CommandIo) => Promise<Verdict>) =>
    async (options: T & { readonly json?: boolean }) =>
      io.exit(await conclude(io, options.json, await step(options, io)));
  plan
    .command('prompt')
    .description('Write the planning prompt and start a plan in this workspace')
    .requiredOption('--spec <file>', 'product spec')
    .requiredOption(
      '--template <file>',
      'prompt template with {{PRODUCT_SPEC}} and, optionally, {{REPO_FILES}}',
    )
    .option('--doctrine <file>', 'rules that replace {{WORK_ORDER_RULES}}')
    .option('--repo <dir>', 'list the files of this directory instead of the workspace')
    .option('--model <name>', 'model, for the compile hash')
    .option('--effort <level>', 'reasoning effort, for the compile hash')
    .option('--json', 'print one JSON object')
    .action(concluding(planPrompt));
  plan
    .command('check')
    .description(`Check the model's answer in ${inWorkspace.planAnswer}`)
    .option('--attempts <n>', 'answers to check before giving up', String(defaultAttempts))
    .option('--template <file>', 'prompt template for a revision')
    .option('--doctrine <file>', 'rules to repeat in it')
    .addOption(
      new Option('--rules <which>', 'strict: also refuse shell syntax and commands that a build would refuse')
        .choices(['strict', 'lenient'])
        .default('lenient'),
    )
    .option('--json', 'print one JSON object')
    .action(concluding(planCheck));
  plan
    .command('emit')
    .description(`Write the work orders of the checked plan to ${inWorkspace.orders}`)
    .option('--json', 'print one JSON object')
    .action(concluding(planEmit));
  return plan;
}
