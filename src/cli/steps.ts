/** The steps of a plan and of a build that are not a model's. Each is a tool of a pipeline, and works by hand too. */
import type { Option } from 'commander';
import type { StepVerdict } from '../core/contracts/step.ts';
import { inWorkspace } from '../core/records/layout.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { json, option, wholeNumber } from './options.ts';
import type { Verb } from './verb.ts';

type Step = (options: never, io: CommandIo) => Promise<StepVerdict>;

/** Steps are started often: each loads what it needs, and not the engine. */
const step = (
  usage: string,
  about: string,
  options: () => readonly Option[],
  load: () => Promise<Step>,
): Verb => ({
  usage,
  about,
  options,
  load: async () => {
    const run = await load();
    const { conclude } = await import('./conclude.ts');
    return async (given: { readonly json?: boolean }, io: CommandIo) =>
      conclude(io, given.json, await run(given as never, io));
  },
});

const doctrine = (about: string) => option('--doctrine <file>', about);
const asObject = () => json('print one JSON object');

export const planSteps: readonly Verb[] = [
  step(
    'prompt',
    'Write the planning prompt and start a plan in this workspace',
    () => [
      option('--spec <file>', 'product spec').makeOptionMandatory(),
      option(
        '--template <file>',
        'prompt template with {{PRODUCT_SPEC}} and, optionally, {{REPO_FILES}}',
      ).makeOptionMandatory(),
      doctrine('rules that replace {{WORK_ORDER_RULES}}'),
      option('--repo <dir>', 'list the files of this directory instead of the workspace'),
      option('--model <name>', 'model, for the compile hash'),
      option('--effort <level>', 'reasoning effort, for the compile hash'),
      option('--ask <word>', 'true: ask first what the spec leaves open (the label "ask")'),
      asObject(),
    ],
    async () => (await import('../planner/steps/prompt.ts')).planPrompt,
  ),
  step(
    'ask',
    'Write the prompt that asks a model what the spec leaves open',
    () => [
      option('--spec <file>', 'product spec').makeOptionMandatory(),
      option(
        '--template <file>',
        'prompt template with {{PRODUCT_SPEC}} (default: the bundled questions.md)',
      ),
      asObject(),
    ],
    async () => (await import('../planner/steps/questions.ts')).planAsk,
  ),
  step(
    'select',
    `Select the questions that count in ${inWorkspace.planQuestions}: at most five, each about words of the spec`,
    () => [option('--spec <file>', 'product spec').makeOptionMandatory(), asObject()],
    async () => (await import('../planner/steps/questions.ts')).planSelect,
  ),
  step(
    'answers',
    `Keep the answers of the human gate, and add them to the spec in ${inWorkspace.planSpec}`,
    () => [asObject()],
    async () => (await import('../planner/steps/questions.ts')).planAnswers,
  ),
  step(
    'check',
    `Check the model's answer in ${inWorkspace.planAnswer}`,
    () => [
      option('--attempts <n>', 'answers to check before giving up').default('5'),
      option('--template <file>', 'prompt template for a revision'),
      doctrine('rules to repeat in it'),
      option('--rules <which>', 'strict: also refuse shell syntax and commands that a build would refuse')
        .choices(['strict', 'lenient'])
        .default('lenient'),
      asObject(),
    ],
    async () => (await import('../planner/steps/check.ts')).planCheck,
  ),
  step(
    'emit',
    `Write the work orders of the checked plan to ${inWorkspace.orders}`,
    () => [asObject()],
    async () => (await import('../planner/steps/emit.ts')).planEmit,
  ),
];

const orderStep = (
  usage: string,
  about: string,
  load: () => Promise<Step>,
  options: () => readonly Option[] = () => [],
): Verb =>
  step(
    usage,
    about,
    () => [option('--run <dir>', 'run directory (default: the one of the pipeline)'), json(), ...options()],
    load,
  );

export const orderSteps: readonly Verb[] = [
  orderStep(
    'next',
    'Select the next work order',
    async () => (await import('../builder/steps/next.ts')).orderNext,
    () => [
      option('--allow-verify-exempt', 'honor verify_exempt in any work order'),
      option('--exempt <whom>', 'honor verify_exempt of orders with provenance, or of any order (allow)')
        .choices(['provenance', 'allow'])
        .default('provenance'),
      option(
        '--ahead <n>',
        'how many independent orders to ask for at once; label "ahead" if there are several (default: 1)',
        wholeNumber(1, 1000),
      ),
      option('--ask-node <id>', 'the node that asks for them; its agent must see only the prompt'),
      option('--template <file>', 'prompt template, for --ahead'),
    ],
  ),
  orderStep(
    'prompt',
    'Start an attempt: check preconditions and write the prompt',
    async () => (await import('../builder/steps/prompt.ts')).orderPrompt,
    () => [option('--template <file>', 'prompt template with {{PLACEHOLDERS}}')],
  ),
  orderStep(
    'apply',
    'Check the proposal and write its files',
    async () => (await import('../builder/steps/apply.ts')).orderApply,
  ),
  orderStep(
    'commit',
    'Commit the files of the work order',
    async () => (await import('../builder/steps/commit.ts')).orderCommit,
  ),
  orderStep(
    'rollback',
    'Undo the attempt and decide whether to retry',
    async () => (await import('../builder/steps/rollback.ts')).orderRollback,
    () => [option('--attempts <n>', 'attempts per work order', wholeNumber(1)).default(5)],
  ),
  orderStep(
    'mend',
    'Create a work order from failed holdout scenarios',
    async () => (await import('../builder/steps/fix-order.ts')).fixOrder,
    () => [option('--fixes <n>', 'limit of such orders per build', wholeNumber(0, 99)).default(2)],
  ),
  orderStep(
    'proof',
    'Verify the final commit in a fresh checkout',
    async () => (await import('../builder/steps/proof.ts')).orderProof,
  ),
];
