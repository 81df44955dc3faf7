/** Attributes of a graph and of an edge. */
import { reserve } from '../budget/limits.ts';
import { fidelities } from '../fidelity.ts';
import { fraction } from './fraction.ts';
import { graphLimits } from './limits.ts';
import { shell } from './shell.ts';
import {
  type AttributeTable,
  atLeastTwo,
  attr,
  bytes,
  count,
  duration,
  flag,
  integer,
  list,
  outsidePaths,
  paths,
  type Settings,
  scalar,
  secretNames,
  text,
  trimmed,
  variableNames,
  word,
} from './types.ts';

/** The least bytes with which a shell and a small program can start. */
export const leastMemory = 16 * 1024 * 1024;

/** How a suite of scenarios that passes is shown products that do nothing. */
export const floorWords = ['true', 'false', 'strict', 'all'] as const;
export type FloorWord = (typeof floorWords)[number];

/** What the attributes about the strength of scenarios do, on a node and as the graph's default. */
export const strengthTexts = {
  strength:
    'After scenarios that pass, how many mutants of the product they are measured with at most; the number is information, unless `min_strength` asks for one.',
  min_strength:
    'The share of mutants that the scenarios must notice; the node fails (class `scenario`) where they do not, or where that stays undecided.',
  strength_build:
    'A shell command that builds the product in its folder, run for each mutant; one that it cannot build does not count.',
  strength_budget: 'How long the strength may be measured; it must fit the timeout.',
} as const;

export const graphAttributes = {
  goal: attr(scalar(), 'The purpose of the run, as `$goal` in prompts and commands.'),
  label: attr(text(), 'A title for drawings.'),
  vars: attr(
    text(),
    'Parameters with their defaults; one without a default is required, one that begins with `@` is a file, frozen at the start and placed in the workspace as `.factory/in/NAME`.',
    { flag: '--var', example: 'spec=@spec.md, attempts=5' },
  ),
  inputs: attr(text(), 'Parameters that every run sets, as `vars` without defaults.', {
    flag: '--var',
    example: 'topic, language',
  }),
  model_stylesheet: attr(
    text(),
    'Rules that set llm_model, llm_provider, reasoning_effort, backend, fidelity or max_cost_usd of nodes that do not say it themselves.',
    { example: '* { llm_model: small; } .hard { reasoning_effort: high; } #review { backend: claude; }' },
  ),
  workdir: attr(
    trimmed(),
    "The directory to copy into the run, relative to the pipeline's file; `none`: start with an empty directory.",
    {
      flag: '--workdir <dir>',
      help: 'directory to copy into the run (default: the graph attribute workdir, else .)',
      unset: 'the current directory',
      example: '../app',
    },
  ),
  shell: attr(shell(), 'The shell of tool nodes without their own, with its options.', {
    unset: 'sh',
    example: 'bash -eo pipefail',
  }),
  default_max_visits: attr(count(1), 'The max_visits of nodes without their own.', {
    default: '50',
    flag: '--max-visits',
  }),
  default_max_retries: attr(count(), 'The max_retries of nodes without their own.'),
  default_timeout: attr(duration(), 'The timeout of nodes without their own.', { default: '30m' }),
  default_fidelity: attr(word(...fidelities), 'The fidelity of nodes without their own.', {
    flag: '--fidelity',
  }),
  default_thread: attr(trimmed(), 'The thread_id of nodes and edges without their own.'),
  ...graphLimits,
  verify_reserve: attr(
    reserve(),
    'The part of the limits that only goal gates and nodes with `uses_reserve=true` may use.',
    { unset: 'nothing', example: '20%' },
  ),
  prices: attr(trimmed(), "A price file for models, relative to the pipeline's file.", {
    flag: '--prices <file>',
    help: 'file with prices that replace bundled ones',
    variable: 'FACTORY_PRICES',
    unset: 'the bundled prices',
  }),
  retry_target: attr(trimmed('the id of a node'), 'Where an unmet goal gate sends the run.', {
    unset: 'the run fails',
  }),
  fallback_retry_target: attr(
    trimmed('the id of a node'),
    'Where an unmet goal gate sends the run if it has no retry_target.',
  ),
  max_goal_gate_redirects: attr(count(), 'How often an unmet goal gate sends the run back.', {
    default: '5',
  }),
  loop_restart_persist_keys: attr(
    list(),
    'Keys of the context that an edge with loop_restart keeps; all others are removed.',
    { unset: 'none', example: 'notes, order' },
  ),
  agent_script: attr(
    trimmed(),
    "Prepared answers for the agent `scripted`, relative to the pipeline's file.",
    { flag: '--script <file>', help: 'agent script with prepared answers (implies --agent scripted)' },
  ),
  holdout: attr(
    paths(),
    'Files and directories with the holdout scenarios: no agent can read or change them, tools and verifications see them while they run.',
    { default: 'scripts/scenarios/' },
  ),
  holdout_beside: attr(
    trimmed(),
    'The name of a file variable: the directory `scenarios` next to its file, or in a folder that it names, is the holdout.',
    { example: 'spec' },
  ),
  holdout_from: attr(
    trimmed(),
    "A directory with the holdout scenarios outside the workdir, relative to the pipeline's file.",
    {
      flag: '--holdout <dir>',
      help: 'directory of holdout scenarios, hidden from agents',
      http: true,
      title: 'Holdout',
    },
  ),
  env_pass: attr(variableNames(), 'Secret variables that every node gets; `*`: all of them.', {
    flag: '--env-pass <names>',
    help: 'secrets that nodes may read, by name (* for all); repeatable',
    example: 'NPM_TOKEN',
  }),
  secrets: attr(secretNames(), 'Further variables that are withheld from nodes and masked in every record.', {
    example: 'LOGIN,LICENSE',
  }),
  sandbox: attr(
    word('auto', 'bwrap', 'none'),
    'Isolation of nodes: `auto` uses bubblewrap if it works, `bwrap` requires it.',
    {
      flag: '--sandbox <word>',
      help: 'sandbox of the nodes (default: auto)',
      http: true,
      title: 'Sandbox',
      variable: 'FACTORY_SANDBOX',
      unset: 'auto',
    },
  ),
  sandbox_bind: attr(
    outsidePaths(),
    'Paths outside the workspace that nodes see in the sandbox, read-only or with `:rw`.',
    { example: '~/.m2:rw, /data/models' },
  ),
  isolation: attr(
    word('auto', 'required'),
    'Whether a holdout scenario may run without a separate sandbox.',
    { unset: 'auto' },
  ),
  floor: attr(
    word(...floorWords),
    'Whether scenarios that pass are also shown products that do nothing: `false` not, `strict` also fails if all passed before the work, `all` shows them to every scenario.',
    { unset: 'true', example: 'strict' },
  ),
  strength: attr(count(1), strengthTexts.strength, { unset: 'not measured', example: '60' }),
  min_strength: attr(fraction(), strengthTexts.min_strength, { unset: 'nothing is required' }),
  strength_build: attr(text(), strengthTexts.strength_build, { unset: 'none', example: 'npm run build' }),
  strength_budget: attr(duration(), strengthTexts.strength_budget, { unset: '10m' }),
  network: attr(word('on', 'off'), 'Whether nodes have the network.', {
    unset: 'off for verification, on for tools, as declared for agents',
  }),
  max_memory: attr(bytes(leastMemory), 'Address space of each process of a node.', {
    unset: 'no limit',
    example: '4G',
  }),
  max_processes: attr(count(1), 'How many processes a node may have.', { unset: '8192' }),
  max_file_size: attr(bytes(1), 'The largest file that a node may write.', { unset: '8G' }),
  stall_timeout: attr(duration(), 'An agent without any output for this long is stopped.', {
    unset: 'never',
  }),
  max_same_calls: attr(
    count(),
    'An agent that repeats the same call this often without a change in the workspace is stopped; 0: never.',
    { unset: '10' },
  ),
  breaker: attr(atLeastTwo(), 'How many equal failures without a change in between stop a loop; 0: never.', {
    unset: '3, with several models one more than those',
  }),
  'stack.child_dotfile': attr(
    trimmed('the path of a pipeline file'),
    'The pipeline that managers without their own run.',
    { example: 'child.dot' },
  ),
  audit: attr(
    word('off', 'report', 'strict'),
    'Whether a run that ends is checked for holdout leaks and weakened tests, and with `strict` fails for them.',
    { unset: 'report with a holdout or work orders, else off' },
  ),
} as const satisfies AttributeTable;

export const edgeAttributes = {
  label: attr(text(), 'The name of the edge: a node that answers it as preferred label leaves by it.'),
  condition: attr(text(), 'When the edge can be taken; without it always, if no condition is true.', {
    example: 'outcome=success && context.n<3',
  }),
  weight: attr(integer(), 'Of several edges that can be taken, the one with the highest weight is.', {
    default: '0',
  }),
  fidelity: attr(word(...fidelities), 'The fidelity of the node that it leads to, whatever that says.'),
  thread_id: attr(trimmed(), 'The thread_id of the node that it leads to, if that has none.'),
  loop_restart: attr(
    flag(),
    'A run that takes the edge begins again at its target with a new context, in the same workspace, at most max_restarts times.',
    { default: 'false' },
  ),
  freeform: attr(flag(), 'At a human gate: the edge takes an answer in words.', { default: 'false' }),
} as const satisfies AttributeTable;

/** The settings of a graph. */
export type GraphSettings = Settings<typeof graphAttributes>;
