/** The verbs of the command line. Each is loaded when it is called. */
import { authorVerbs } from './author.ts';
import { operateVerbs } from './operate.ts';
import {
  compileOptions,
  detachOptions,
  json,
  looking,
  noColor,
  notEmpty,
  option,
  point,
  repeatable,
  runIdOption,
  runningOptions,
  runOptions,
  runsdir,
  wholeNumber,
} from './options.ts';
import { orderOptions } from './order.ts';
import { serveVerb } from './serve-verb.ts';
import { orderSteps, planSteps } from './steps.ts';
import type { Group, Verb } from './verb.ts';

const at = (about: string) => option('--at <node[@visit]>', about, notEmpty);

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

export const verbs: readonly (Verb | Group)[] = [
  {
    usage: 'run [pipeline]',
    about: 'Run a pipeline',
    options: () => [
      ...runOptions(),
      runIdOption(),
      option('--resume', 'resume the run --run-id'),
      option('--strict', 'treat attributes without effect as errors'),
      option('--allow-dirty', 'commit uncommitted changes of the workdir first'),
      option('--holdout <dir>', 'directory of holdout scenarios, hidden from agents'),
    ],
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    usage: 'build <spec>',
    about: 'Turn a spec into verified commits: short for run compile-and-build --var spec=SPEC',
    options: () => [
      ...runOptions(),
      runIdOption(),
      option('--allow-dirty', 'commit uncommitted changes of the workdir first'),
      option('--holdout <dir>', 'directory of holdout scenarios, hidden from agents'),
    ],
    load: async () => (await import('./run.ts')).buildCommand,
  },
  {
    usage: 'resume <run>',
    about: 'Resume a run',
    options: () => [
      ...runOptions(),
      option('--live', 'of a replay: use the agents where the record does not fit'),
    ],
    load: async () => (await import('./run.ts')).resumeCommand,
  },
  {
    usage: 'fork <run>',
    about: 'Fork a run from a checkpoint of an existing run',
    options: () => [
      option('--at <node[@visit]>', 'after that execution (default: the latest of the node)', point('--at')),
      option('--before', 'before that execution, which then runs again'),
      option('--pipeline <file>', 'use this changed pipeline and its prompts', notEmpty),
      runIdOption('id of the new run (default: a ULID)'),
      runsdir(
        'directory of the new run (default: that of the other); RUN is searched there first, then in .factory/runs',
      ),
      ...detachOptions(),
      ...runningOptions(),
    ],
    load: async () => (await import('./fork.ts')).forkCommand,
  },
  {
    usage: 'replay <run>',
    about: 'Repeat a run from its record, without a model',
    options: () => [
      option(
        '--from <node[@visit]>',
        'start before that execution (default: the whole run)',
        point('--from'),
      ),
      option(
        '--set <prompt.node=text>',
        'replace the prompt of a node (or prompt.NODE=@FILE); repeatable',
        repeatable,
      ),
      option('--live', 'use the agents where the record does not fit (default: end there)'),
      option('--run-tools', 'run tools and verification (default: use the record where it fits)'),
      option('--check', 'compare the two traces and print the first difference'),
      runIdOption('id of the new run (default: a ULID)'),
      runsdir('directory of the new run (default: that of the other)'),
      ...runningOptions(),
    ],
    load: async () => (await import('./replay.ts')).replayCommand,
  },
  {
    usage: 'record',
    about: 'Use the recorded answers of a run',
    verbs: [
      {
        usage: 'export <run>',
        about: 'Write the recorded answers as an agent script for --agent scripted --script FILE',
        options: () => [option('-o, --output <file>', 'output file (default: standard output)'), runsdir()],
        load: async () => (await import('./record.ts')).recordExport,
      },
    ],
  },
  {
    usage: 'checkout <run> <dir>',
    about: "Write a run's workspace at any node to a new or empty directory",
    options: () => [
      at('after that execution (default: the latest of the node; without --at: the latest checkpoint)'),
      option('--before', 'before that execution'),
      ...looking(),
    ],
    load: async () => (await import('./checkout.ts')).checkoutCommand,
  },
  {
    usage: 'diff <run> [paths...]',
    about: 'Print what a run changed in its workspace, as a patch',
    options: () => [
      at('only the changes of that execution'),
      option('--from <node[@visit]>', 'compare from after that execution, or from that snapshot', notEmpty),
      option('--to <node[@visit]>', 'compare to after that execution, or to that snapshot', notEmpty),
      option('--names', 'print paths only: A added, M modified, D deleted'),
      ...looking('print paths, kinds, modes and hashes as JSON'),
    ],
    load: async () => (await import('./diff.ts')).diffCommand,
  },
  ...authorVerbs,
  {
    usage: 'doctor',
    about: 'Check the prerequisites: git, a sandbox, disk space, a key store and a configured agent',
    options: () => [
      runsdir('directory for the runs (default: .factory/runs)'),
      json('print findings as JSON'),
      noColor(),
    ],
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    usage: 'runs',
    about: 'List the runs, newest first, with their status and the next command',
    options: () => [
      runsdir(),
      option('--attention', 'list only runs that need attention, each with the next command'),
      json('print the list as JSON'),
      noColor(),
    ],
    load: async () => (await import('./runs.ts')).runsCommand,
  },
  {
    usage: 'show [run] [node]',
    about: 'Show a run (default: the latest) with its nodes, or an execution: NODE or NODE@N',
    options: () => looking('print it as JSON'),
    load: async () => (await import('./show.ts')).showCommand,
  },
  {
    usage: 'why [run]',
    about: 'Say why a run (default: the latest) failed or waits, with evidence and the next command',
    options: () => looking('print it as JSON'),
    load: async () => (await import('./why.ts')).whyCommand,
  },
  {
    usage: 'logs <run>',
    about: 'Print the events of a run, finished or running',
    options: () => [
      option('-f, --follow', 'follow until the run ends'),
      option('--output', 'print what the nodes print too, each line behind the name of its node').conflicts(
        'json',
      ),
      option('--last <n>', 'print only the last n lines so far', wholeNumber(0)),
      option('--node <id>', 'print only events of one node', notEmpty),
      option('-v, --verbose', 'print debug records too'),
      ...looking('print the recorded events, one JSON object per line'),
    ],
    load: async () => (await import('./logs.ts')).logsCommand,
  },
  serveVerb,
  {
    usage: 'attach <run>',
    about: 'Show the live view of a run that another process executes; Ctrl-C leaves the run alone',
    options: () => [runsdir(), option('-v, --verbose', 'keep every line: fold no work order'), noColor()],
    load: async () => (await import('./attach.ts')).attachCommand,
  },
  {
    usage: 'audit <run>',
    about: 'Check a run for holdout leaks and changed tests',
    options: () => looking('print findings as JSON'),
    load: async () => (await import('./audit.ts')).auditCommand,
  },
  {
    usage: 'trace <run>',
    about: "Print a run's trace with full contexts, one JSON object per line",
    options: () => [
      option('--node <id>', 'print only records of one node', notEmpty),
      option('--type <type>', 'print only records of one type', notEmpty),
      runsdir(),
    ],
    load: async () => (await import('./trace.ts')).traceCommand,
  },
  {
    usage: 'plan <step>',
    about: 'Compile a spec into work orders (steps: prompt, check, emit)',
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
  {
    usage: 'deliver <run>',
    about: "Put a run's commits on a branch or into a new repository",
    options: () => [
      option('--branch <name>', 'new branch in the source repository (default: factory/<run id>)', notEmpty),
      option('--to <dir>', 'create a repository in this new or empty directory', notEmpty),
      option('--reuse', 'fast-forward an existing branch to the commits'),
      option('--push', 'push the branch to the first remote'),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./deliver.ts')).deliverCommand,
  },
  ...operateVerbs,
  {
    usage: 'verify <run>',
    about: 'Check a run directory against its own hashes, from the spec to the commits, offline',
    options: () => [
      option('--repo <dir>', 'repository that the commits were delivered to'),
      option('--branch <name>', 'branch in that repository (default: factory/RUN)'),
      option('--chain <hash>', 'expected hash of the executions (or a prefix), from the summary of the run'),
      ...looking('print the report as JSON'),
    ],
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    usage: 'completion <shell>',
    about: 'Print a script that completes commands, for bash, zsh or fish',
    options: () => [],
    load: async () => (await import('./completion.ts')).completionCommand,
  },
];
