/** The verbs of those who write pipelines: create, check, draw, format and explain them. */
import {
  json,
  noColor,
  notEmpty,
  option,
  repeatable,
  runsdir,
  settingOption,
  wholeNumber,
} from './options.ts';
import type { Verb } from './verb.ts';

export const authorVerbs: readonly Verb[] = [
  {
    usage: 'init [name]',
    about: 'Create a project: a pipeline, prompts, scenarios and prepared answers',
    examples: ['init my-pipeline --template build'],
    options: () => [
      option('--template <name>', 'fix-loop (default), build or review').choices([
        'fix-loop',
        'build',
        'review',
      ]),
    ],
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    usage: 'pipelines',
    about: 'List the pipelines of this folder and the bundled ones',
    options: () => [json('print the list as JSON'), noColor()],
    load: async () => (await import('./pipelines.ts')).pipelinesCommand,
  },
  {
    usage: 'estimate <pipeline>',
    about: 'Show what earlier runs of a pipeline have cost and taken',
    examples: ['estimate compile-and-build'],
    exits: { 0: 'also where nothing is known', 2: 'no such pipeline' },
    options: () => [runsdir(), json('print the figures as JSON')],
    load: async () => (await import('./estimate.ts')).estimateCommand,
  },
  {
    usage: 'validate <pipelines...>',
    about: 'Check pipelines without running them',
    examples: ['validate greet.dot', 'validate --watch greet.dot', 'validate --fix greet.dot'],
    exits: { 0: 'no errors; there may be warnings', 2: 'errors', 130: '--watch was ended' },
    options: () => [
      option('--watch', 'check again after each change, until Ctrl-C'),
      option('--fix', 'show the difference that fixes certain mistakes, and ask whether to write it'),
      option('--yes', 'with --fix: write it without asking; otherwise only a terminal is asked'),
      option('--strict', 'treat attributes without effect as errors'),
      json('print findings as JSON'),
      noColor(),
    ],
    load: async () => (await import('./validate.ts')).validateCommand,
  },
  {
    usage: 'simulate <pipeline>',
    about: 'Show the way of a run through a pipeline for given outcomes; nothing is executed',
    examples: ['simulate greet.dot --outcome greet=fail'],
    exits: { 0: 'the run would succeed', 1: 'it would not', 2: 'the pipeline cannot run' },
    options: () => [
      option(
        '--outcome <node=outcomes>',
        'outcomes of a node, one for each attempt, the last one repeated (default: success): NODE=fail,success; with parts: fail+timeout+broke, success+label=again+KEY=VALUE; at a human gate label:OPTION; repeatable',
        repeatable,
      ),
      option('--steps <n>', 'stop after so many executions (default: 200)', wholeNumber(1, 100_000)),
      json('print the steps as JSON'),
      noColor(),
    ],
    load: async () => (await import('./simulate.ts')).simulateCommand,
  },
  {
    usage: 'test [pipelines...]',
    about: 'Check that pipelines take the ways in their NAME.routes.json; nothing is executed',
    examples: ['test greet.dot'],
    exits: {
      0: 'every way was taken',
      1: 'a way was not, or with --every-edge an edge was never walked',
      2: 'a pipeline or a file with ways is invalid',
    },
    options: () => [
      option('--every-edge', 'fail also if an edge is never walked'),
      json('print the ways and edges as JSON'),
      noColor(),
    ],
    load: async () => (await import('./test.ts')).testCommand,
  },
  {
    usage: 'graph <pipeline-or-run>',
    about: 'Draw a pipeline or a run as SVG, PNG, DOT or a Mermaid flowchart',
    examples: ['graph greet.dot -o greet.svg', 'graph latest --timeline'],
    exits: { 1: 'the picture could not be opened' },
    options: () => [
      option(
        '-o, --output <file>',
        'file to write; its ending names the format; - is standard output (default: NAME.svg)',
        notEmpty,
      ),
      option('--format <format>', 'svg, png, dot or mermaid (default: by the ending of the file)').choices([
        ...['svg', 'png', 'dot', 'mermaid'],
      ]),
      option('--timeline', 'draw when each node of a run was executed'),
      option('--open', 'open the file'),
      runsdir(),
    ],
    load: async () => (await import('./graph.ts')).graphCommand,
  },
  {
    usage: 'fmt <pipelines...>',
    about: 'Format pipeline files in place, as DOT that Graphviz reads too',
    examples: ['fmt --check pipelines/*.dot'],
    exits: {
      0: 'the files are formatted',
      1: '--check found a file to change',
      2: 'a file is no pipeline, and was not changed',
    },
    options: () => [
      option(
        '--check',
        'change nothing; print the files that would change and exit with code 1 if there are any',
      ),
      noColor(),
    ],
    load: async () => (await import('./fmt.ts')).fmtCommand,
  },
  {
    usage: 'lsp',
    about: 'Answer an editor about pipelines: a language server on standard input and output',
    examples: ['lsp --stdio'],
    exits: { 0: 'the editor ended the session', 1: 'the editor went away' },
    options: () => [option('--stdio', 'standard input and output, which is the default')],
    load: async () => (await import('./lsp.ts')).lspCommand,
  },
  {
    usage: 'explain [word]',
    about: 'Explain an attribute, a node type, or a code of validate or plan check; or a node of a pipeline',
    examples: ['explain max_retries', 'explain review --pipeline build.dot'],
    options: () => [
      option(
        '--pipeline <file>',
        'explain the node WORD of this pipeline: its settings and its agent',
        notEmpty,
      ),
      ...(['agent', 'agent_script', 'provider', 'model', 'effort', 'max_visits'] as const).map(settingOption),
      json('print it as JSON'),
      noColor(),
    ],
    load: async () => (await import('./explain.ts')).explainCommand,
  },
];
