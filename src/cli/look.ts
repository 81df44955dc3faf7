/** The verbs of those who look at runs. */
import {
  dbOption,
  json,
  looking,
  milliseconds,
  noColor,
  notEmpty,
  notifyOption,
  option,
  repeatable,
  runsdir,
  wholeNumber,
} from './options.ts';
import type { Verb } from './verb.ts';

const at = (about: string) => option('--at <node[@visit]>', about, notEmpty);

export const lookVerbs: readonly Verb[] = [
  {
    usage: 'runs',
    about: 'List the runs, newest first, with their status and the next command',
    examples: ['runs --attention', 'runs --since 12h', 'runs --watch', 'runs --days'],
    exits: { 0: 'whatever became of the runs', 130: '--watch was ended' },
    options: () => [
      runsdir(),
      dbOption(),
      option('--watch', 'show the list, and each change, on a terminal until Ctrl-C').conflicts('json'),
      option('--attention', 'list only runs that need attention, each with the next command'),
      option(
        '--since <duration>',
        'list only runs that run, or whose latest record is at most so old',
        milliseconds('--since', '12h'),
      ),
      option(
        '--days [n]',
        'print for each of the last n days (default: 7) how many runs are done, failed or wait, and the cost by model',
        wholeNumber(1, 366),
      ).conflicts(['watch', 'attention', 'since']),
      json('print the list as JSON'),
      noColor(),
    ],
    load: async () => (await import('./runs.ts')).runsCommand,
  },
  {
    usage: 'show [run] [node]',
    about: 'Show a run (default: the latest) with its nodes, or an execution: NODE or NODE@N',
    examples: ['show latest verify@3', 'show latest build --session'],
    exits: { 0: 'whatever became of the run' },
    options: () => [
      option('--session', "print the session of an execution's agent, turn by turn, also while it works"),
      ...looking('print it as JSON'),
      dbOption(),
    ],
    load: async () => (await import('./show.ts')).showCommand,
  },
  {
    usage: 'why [run]',
    about: 'Say why a run (default: the latest) failed or waits, with evidence and the next command',
    examples: ['why latest'],
    exits: { 0: 'whatever became of the run' },
    options: () => [...looking('print it as JSON'), dbOption()],
    load: async () => (await import('./why.ts')).whyCommand,
  },
  {
    usage: 'compare <run> <run>',
    about: 'Compare two runs: where their ways part, outcomes, time, cost and changed files',
    examples: ['compare latest 01JCK0M8ZT'],
    exits: { 0: 'whether they differ or not' },
    options: () => looking('print it as JSON'),
    load: async () => (await import('./compare.ts')).compareCommand,
  },
  {
    usage: 'logs <run>',
    about: 'Print the events of a run, finished or running',
    examples: ['logs latest -f --output'],
    exits: { 0: 'whatever became of the run' },
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
  {
    usage: 'attach <run>',
    about: 'Show the live view of a run that another process executes; Ctrl-C leaves the run alone',
    examples: ['attach latest'],
    exits: { 0: 'the run has ended, whatever became of it', 130: 'a signal; the run continues' },
    options: () => [runsdir(), option('-v, --verbose', 'keep every line: fold no work order'), noColor()],
    load: async () => (await import('./attach.ts')).attachCommand,
  },
  {
    usage: 'serve',
    about: 'Serve a live page and an HTTP API over the runs, on this machine',
    examples: ['serve --port 0'],
    options: () => [
      runsdir(),
      option(
        '--root <dir>',
        'folder in which runs can be started, with its subfolders (default: the current directory); repeatable',
        repeatable,
      ),
      option('--port <n>', 'port; 0 takes a free one (default: 4477)', wholeNumber(0, 65_535)),
      option(
        '--host <address>',
        'address to listen on (default: 127.0.0.1); any that others can reach needs a token of yours',
        notEmpty,
      ),
      option(
        '--token-file <file>',
        'file with the token, 16 characters or more (also: FACTORY_SERVE_TOKEN; default: a random token)',
        notEmpty,
      ),
      option(
        '--public-url <url>',
        'address under which a proxy or tunnel offers this server, such as https://ci.example.org',
        notEmpty,
      ),
      option('--read-only', 'show the runs, and offer nothing that changes them'),
      notifyOption('gets a notice of the runs that the server starts or resumes (see factory run)'),
      dbOption(),
      option('--openapi', 'print the OpenAPI document of the API, and serve nothing'),
    ],
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    usage: 'mcp',
    about:
      'Offer the runs to a model client: a server of the Model Context Protocol on standard input and output',
    examples: ['mcp', 'mcp --allow-acts --root projects'],
    exits: { 0: 'the client ended the session' },
    options: () => [
      runsdir(),
      option(
        '--allow-acts',
        'offer also what changes something: start, answer, stop, resume, fork, deliver, …; without it the tools only read',
      ),
      option(
        '--root <dir>',
        'folder in which runs can be started, with its subfolders (default: the current directory); repeatable',
        repeatable,
      ),
      notifyOption('gets a notice of the runs that are started or resumed (see factory run)'),
      dbOption(),
    ],
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
  {
    usage: 'diff <run> [paths...]',
    about: 'Print what a run changed in its workspace, as a patch',
    examples: ['diff latest --at check@2'],
    exits: { 0: 'whether anything has changed or not' },
    options: () => [
      at('only the changes of that execution'),
      option('--from <node[@visit]>', 'compare from after that execution, or from that snapshot', notEmpty),
      option('--to <node[@visit]>', 'compare to after that execution, or to that snapshot', notEmpty),
      option('--names', 'print paths only: A added, M modified, D deleted'),
      ...looking('print paths, kinds, modes and hashes as JSON'),
    ],
    load: async () => (await import('./diff.ts')).diffCommand,
  },
  {
    usage: 'checkout <run> <dir>',
    about: "Write a run's workspace at any node to a new or empty directory",
    examples: ['checkout latest --at check@2 ../look'],
    options: () => [
      at('after that execution (default: the latest of the node; without --at: the latest checkpoint)'),
      option('--before', 'before that execution'),
      ...looking(),
    ],
    load: async () => (await import('./checkout.ts')).checkoutCommand,
  },
  {
    usage: 'trace <run>',
    about: "Print a run's trace with full contexts, one JSON object per line",
    examples: ['trace latest --node check'],
    options: () => [
      option('--node <id>', 'print only records of one node', notEmpty),
      option('--type <type>', 'print only records of one type', notEmpty),
      runsdir(),
    ],
    load: async () => (await import('./trace.ts')).traceCommand,
  },
];
