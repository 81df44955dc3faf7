/** The verbs of work orders and of scenarios. */
import { compileOptions, json, noColor, notEmpty, option, runIdOption, wholeNumber } from './options.ts';
import { orderOptions } from './order.ts';
import { orderSteps, planSteps } from './steps.ts';
import { exitsOfRun, type Group } from './verb.ts';

const scenarioOptions = () => [
  option('--repeat <n>', 'run each scenario n times and report how often it passed', wholeNumber(1, 1000)),
  option(
    '--jobs <n>',
    'scenarios to run in parallel (default: 4, or the number of processors; those that share the network of the machine run alone)',
    wholeNumber(1, 1000),
  ),
  option('--timeout <duration>', 'time limit of each phase (default: SCENARIO_TIMEOUT, else 15m)'),
  option('--if-any', 'succeed if there are no scenarios'),
  option(
    '--isolation <mode>',
    'auto, or required: refuse to run without sandboxes that separate product and scenario (default: auto)',
  ),
  json('print results as JSON'),
  noColor(),
];
const floor = () =>
  option(
    '--floor <mode>',
    'whether scenarios that pass are also shown products that do nothing: true, false, strict (fail if all passed before the work) or all (list what each rejects) (default: true)',
  );
const product = () =>
  option('--app <dir>', 'product directory; each scenario gets a copy').makeOptionMandatory();

export const orderVerbs: readonly Group[] = [
  {
    usage: 'plan <step>',
    about: 'Compile a spec into work orders (steps: prompt, check, emit)',
    examples: ['plan my-spec.md --outdir orders'],
    exits: {
      1: 'a file or directory is missing or in the way',
      2: 'the last answer had errors',
      3: 'the model could not be asked',
      4: 'its answer was not JSON',
    },
    self: {
      usage: '[spec]',
      about: 'Compile a spec into work orders',
      options: compileOptions,
      load: async () => (await import('./plan.ts')).compileCommand,
    },
    verbs: planSteps,
  },
  {
    usage: 'order <step>',
    about: 'Build work orders (run, run-all; steps: next, prompt, apply, commit, rollback, mend, proof)',
    examples: [
      'order run --repo ../my-project --work-order WO-01.json',
      'order run-all --repo ../my-project --workdir orders',
    ],
    exits: exitsOfRun,
    verbs: [
      ...orderSteps,
      {
        usage: 'run',
        about: 'Build one work order and put its commit on a branch',
        options: () => [
          ...orderOptions(),
          option('--work-order <file>', 'file with the work order', notEmpty),
          runIdOption(),
        ],
        load: async () => (await import('./order-run.ts')).orderRun,
      },
      {
        usage: 'run-all',
        about: 'Build the work orders of a directory and put their commits on one branch',
        options: () => [...orderOptions(), option('--workdir <dir>', 'directory with WO-*.json', notEmpty)],
        load: async () => (await import('./order-run.ts')).orderRunAll,
      },
    ],
  },
  {
    usage: 'scenario',
    about: 'Accept or reject a product by holdout scenarios (lint, selftest, run)',
    examples: ['scenario run scripts/scenarios --app .'],
    exits: {
      0: 'all pass',
      1: 'the product or a scenario fails',
      86: 'nothing but infrastructure is missing',
    },
    verbs: [
      {
        usage: 'lint <dir>',
        about: 'Check scenario scripts',
        options: () => [json('print findings as JSON'), noColor()],
        load: async () => (await import('./scenario.ts')).scenarioLint,
      },
      {
        usage: 'selftest <dir>',
        about: 'Run the self-tests of the scenarios, without the product',
        options: () => [product(), ...scenarioOptions()],
        load: async () => (await import('./scenario.ts')).scenarioSelftest,
      },
      {
        usage: 'run <dir>',
        about: 'Run each scenario by itself and then live against the product',
        options: () => [
          product(),
          option('--live', 'run the live phase even with REQUIRE_LIVE=0'),
          floor(),
          ...scenarioOptions(),
        ],
        load: async () => (await import('./scenario.ts')).scenarioRun,
      },
    ],
  },
];
