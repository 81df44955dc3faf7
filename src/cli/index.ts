/** The verbs of the command line. Each is loaded when it is called. */
import { authorVerbs } from './author.ts';
import { lookVerbs } from './look.ts';
import { endVerbs, operateVerbs } from './operate.ts';
import {
  dbOption,
  detachOptions,
  json,
  noColor,
  notEmpty,
  option,
  point,
  repeatable,
  runIdOption,
  runningOptions,
  runOptions,
  runsdir,
  settingOption,
} from './options.ts';
import { orderVerbs } from './order-verbs.ts';
import { queueVerbs } from './queue-verbs.ts';
import { exitsOfRun, type Group, type Verb } from './verb.ts';

const runVerbs: readonly (Verb | Group)[] = [
  {
    usage: 'run [pipeline]',
    about: 'Run a pipeline',
    examples: [
      'run fix-loop.dot --workdir my-project',
      'run compile-and-build --var spec=my-spec.md --detach',
    ],
    exits: exitsOfRun,
    options: () => [
      ...runOptions(),
      runIdOption(),
      option('--resume', 'resume the run --run-id'),
      option('--strict', 'treat attributes without effect as errors'),
      option('--allow-dirty', 'commit uncommitted changes of the workdir first'),
      option(
        '--base <commit>',
        'begin with that commit of the workdir (default: its HEAD); changes of its files are left out',
        notEmpty,
      ),
      option('--holdout-of <run>', 'judge by the scenarios that this run has sealed', notEmpty),
      settingOption('holdout_from'),
      settingOption('labels'),
      settingOption('name'),
    ],
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    usage: 'build <spec>',
    about: 'Turn a spec into verified commits: short for run compile-and-build --var spec=SPEC',
    examples: ['build my-spec.md --workdir ../my-project --wait', 'build specs/001-login'],
    exits: exitsOfRun,
    options: () => [
      ...runOptions(),
      runIdOption(),
      option('--ask', 'ask a person first what the spec leaves open: at most five questions'),
      option('--allow-dirty', 'commit uncommitted changes of the workdir first'),
      settingOption('holdout_from'),
      settingOption('labels'),
      settingOption('name'),
    ],
    load: async () => (await import('./run.ts')).buildCommand,
  },
  {
    usage: 'ask <spec>',
    about: 'Ask what a spec leaves open: at most five questions; the answers are added to a copy',
    examples: ['ask my-spec.md'],
    exits: exitsOfRun,
    options: () => [...runOptions(), runIdOption(), settingOption('labels'), settingOption('name')],
    load: async () => (await import('./run.ts')).askCommand,
  },
  {
    usage: 'resume <run>',
    about: 'Resume a run',
    examples: ['resume latest --wait'],
    exits: exitsOfRun,
    options: () => [
      ...runOptions(),
      option('--live', 'of a replay: use the agents where the record does not fit'),
    ],
    load: async () => (await import('./run.ts')).resumeCommand,
  },
  {
    usage: 'fork <run>',
    about: 'Fork a run from a checkpoint of an existing run',
    examples: [
      'fork latest --at check@2 --before',
      'fork latest --at plan --before --set plan.prompt=@better.md',
      'fork latest --before judge --holdout more-scenarios',
    ],
    exits: exitsOfRun,
    options: () => [
      option('--at <node[@visit]>', 'after that execution (default: the latest of the node)', point('--at')),
      option(
        '--before [node[@visit]]',
        'before that execution, or that of --at; it then runs again',
        (typed) => (typed === '' ? true : point('--before')(typed)),
      ),
      option('--pipeline <file>', 'use this changed pipeline and its prompts', notEmpty),
      option(
        '--set <node.attribute=text>',
        'give a node another prompt, command, llm_model, … (or NODE.ATTRIBUTE=@FILE); repeatable',
        repeatable,
      ),
      option(
        '--accept-changes',
        'use the setup commands that factory.json of the workdir has now (default: those of the run)',
      ),
      option('--note <text>', 'a note for the first agent of the new run, as steer gives it', notEmpty),
      settingOption('holdout_from'),
      settingOption('name'),
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
    examples: ['replay latest --check', 'replay latest --set prompt.plan=@new.md --live'],
    exits: {
      0: 'the replay succeeded; with --check: both traces are equal',
      1: 'it failed; with --check: they are not',
    },
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
];

const machineVerbs: readonly Verb[] = [
  {
    usage: 'doctor',
    about: 'Check the prerequisites: git, a sandbox, disk space, a key store and a configured agent',
    examples: ['doctor', 'doctor --probe', 'doctor --probe --model ollama/qwen3-coder:30b'],
    exits: { 0: 'runs work here', 1: 'they do not' },
    options: () => [
      option(
        '--probe',
        'ask each provider that is set up for two short answers, which costs a few tokens: its API, tools, schema, streaming, price',
      ),
      option('--provider <name>', 'with --probe: ask only this one', notEmpty),
      option(
        '--model <name>',
        'with --probe: ask for this model; PROVIDER/NAME where no provider is named',
        notEmpty,
      ),
      runsdir('directory for the runs (default: .factory/runs)'),
      dbOption(),
      json('print findings as JSON'),
      noColor(),
    ],
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    usage: 'docs [word]',
    about: 'Print a page of the documentation: by its name, or by a word in its title, headings or text',
    examples: ['docs', 'docs resume', 'docs "rate limit"'],
    options: () => [noColor()],
    load: async () => (await import('./docs.ts')).docsCommand,
  },
  {
    usage: 'completion <shell>',
    about: 'Print a script that completes commands, for bash, zsh or fish',
    examples: ['completion bash'],
    options: () => [],
    load: async () => (await import('./completion.ts')).completionCommand,
  },
];

/** All of them: of each group those that belong together, as `factory --help` and README list them. */
export const verbGroups: Readonly<Record<string, readonly (Verb | Group)[]>> = {
  'Run pipelines': runVerbs,
  'Queue runs': queueVerbs,
  'Look at runs': lookVerbs,
  'Operate runs': operateVerbs,
  'What a run made': endVerbs,
  'Write pipelines': authorVerbs,
  'Work orders and scenarios': orderVerbs,
  'This machine': machineVerbs,
};

export const verbs: readonly (Verb | Group)[] = Object.values(verbGroups).flat();

/** The name of a verb: the first word of its usage. */
export const verbName = ({ usage }: Pick<Verb, 'usage'>): string => usage.split(' ', 1)[0] ?? '';
