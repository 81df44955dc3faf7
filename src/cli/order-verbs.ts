/** The verbs of work orders and of scenarios. */
import {
  compileOptions,
  json,
  milliseconds,
  noColor,
  notEmpty,
  option,
  repeatable,
  runIdOption,
  runsdir,
  wholeNumber,
} from './options.ts';
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

const strengthOptions = () => [
  option('--files <glob>', 'mutate only these files, written as in .gitignore; repeatable', repeatable),
  option('--base <commit>', 'mutate only lines that were changed since this commit', notEmpty),
  option(
    '--build <command>',
    'build each mutant with this command; without it the product must run from its source',
    notEmpty,
  ),
  option('--tests <command>', 'also measure this command, which passes with exit code 0', notEmpty),
  option('--sample <n>', 'judge so many mutants, chosen at random (default: all)', wholeNumber(1)),
  option('--seed <text>', 'choose another sample', notEmpty),
  option(
    '--budget <duration>',
    'end after this time with the number so far',
    milliseconds('--budget', '10m'),
  ),
  option(
    '--jobs <n>',
    'mutants to judge in parallel (default: the number of processors; without a sandbox 1)',
    wholeNumber(1, 1000),
  ),
  option(
    '--isolation <mode>',
    'required, or auto: without a sandbox run mutants as this user, on this machine (default: required)',
  ),
];

export const orderVerbs: readonly Group[] = [
  {
    usage: 'plan <step>',
    about: 'Compile a spec into work orders (steps: ask, select, answers, prompt, check, emit)',
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
    about: 'Accept or reject a product by holdout scenarios (lint, selftest, run, strength, survivors)',
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
      {
        usage: 'strength <dir>',
        about: 'Measure how many small defects (mutants) of a product its scenarios notice',
        examples: ['scenario strength scripts/scenarios --app . --sample 60'],
        exits: {
          0: 'a number, or there was nothing to measure',
          1: 'the number is void: the product without a mutant does not pass',
          2: 'invalid flags, no scenarios or no sandbox; nothing was started',
          86: 'infrastructure failed',
          130: 'interrupted; what was judged is printed and kept',
        },
        options: () => [
          product(),
          ...strengthOptions(),
          json('print the number and the survivors as JSON'),
          noColor(),
        ],
        load: async () => (await import('./strength.ts')).scenarioStrength,
      },
      {
        usage: 'survivors <run>',
        about: 'Print the mutants that the scenarios of a run did not notice (needs the key of its holdout)',
        examples: ['scenario survivors latest'],
        exits: { 0: 'printed, also where there are none', 2: 'nothing was measured, or the key is not here' },
        options: () => [runsdir(), json('print the number and the survivors as JSON'), noColor()],
        load: async () => (await import('./survivors.ts')).scenarioSurvivors,
      },
    ],
  },
];
