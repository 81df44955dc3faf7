/** Attributes of nodes that several node types share. */
import { fidelities } from '../fidelity.ts';
import { own } from '../json.ts';
import { managerAttributes, subgraphAttributes } from './calls.ts';
import { forEachAttributes } from './for-each.ts';
import { fraction } from './fraction.ts';
import { floorWords, leastMemory, strengthTexts } from './graph.ts';
import { humanAttributes } from './human.ts';
import { fanOutAttributes, joinAttributes } from './join.ts';
import { shell } from './shell.ts';
import {
  type AttributeSpec,
  type AttributeTable,
  atLeastTwo,
  attr,
  bytes,
  count,
  duration,
  flag,
  flagOrText,
  list,
  number,
  outsidePaths,
  path,
  paths,
  type Settings,
  text,
  trimmed,
  variableNames,
  word,
} from './types.ts';

/** How much a model may think. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const nodeId = () => trimmed('the id of a node');

/** Attributes of every node. */
export const commonAttributes = {
  label: attr(text(), 'The name of the node for people; the prompt of an agent that has no other.'),
  shape: attr(trimmed(), 'The shape, which chooses the node type where `type` does not.', { default: 'box' }),
  type: attr(trimmed(), 'The node type.', { unset: 'by shape, else by id', example: 'verification' }),
  class: attr(
    text(),
    'Names for the rules of model_stylesheet, with commas or blanks between them; the label of a subgraph is one of the nodes in it.',
    { example: 'hard review' },
  ),
  comment: attr(text(), 'A remark; nothing reads it.'),
  goal_gate: attr(
    flagOrText(),
    'Once executed, the node must succeed before the run can. A text is the criterion that its agent is asked about.',
    { default: 'false', example: 'true' },
  ),
  retry_target: attr(nodeId(), 'Where the run goes while this goal gate is unmet.', {
    unset: 'retry_target of the graph, else the run fails',
  }),
  fallback_retry_target: attr(nodeId(), 'Where the run goes if there is no retry_target.'),
  max_visits: attr(count(1), 'How often the node may be executed in one run.', {
    graph: 'default_max_visits',
    default: '50',
    flag: '--max-visits',
  }),
} as const satisfies AttributeTable;

/** Attributes of every node that starts programs or agents. */
export const executableAttributes = {
  timeout: attr(duration(), 'How long one attempt may take; then its processes are ended.', {
    graph: 'default_timeout',
    default: '30m',
    example: '15m',
  }),
  max_retries: attr(
    count(),
    'Attempts after the first: for the outcome `retry` and failures of class `infra`, with `retry_on=fail` for other failures too.',
    { graph: 'default_max_retries', unset: '0; 2 for class `infra` in a codergen node' },
  ),
  retry_delay: attr(duration(), 'The wait before the first repetition.', { default: '500ms' }),
  retry_backoff: attr(number(1), 'The factor of each next wait.', { default: '1' }),
  retry_max_delay: attr(duration(), 'The longest wait.', { default: '60s' }),
  retry_on: attr(word('retry', 'fail'), 'Which outcomes are repeated.', { default: 'retry' }),
  allow_partial: attr(
    flag(),
    'An outcome `retry` without attempts left is a partial success instead of a failure.',
    { default: 'false' },
  ),
  allowed_write_paths: attr(
    paths(),
    'What the node may change in the workspace; anything else is put back, and the node fails (class `guardrail`).',
    { unset: 'everything', example: 'src/, test/' },
  ),
  requires_tool_success: attr(
    flag(),
    'A success counts only while the latest outcome of required_tool_node is `success`.',
    { default: 'false' },
  ),
  required_tool_node: attr(nodeId(), 'The tool that requires_tool_success means.'),
  max_wall: attr(duration(), 'How long all executions of the node may take together.', { unset: 'no limit' }),
  max_cost_usd: attr(number(0), 'What the model calls of the node may cost, in US dollars.', {
    unset: 'no limit',
  }),
  max_tokens: attr(count(), 'How many tokens the model calls of the node may use.', {
    unset: 'no limit',
    example: '200000',
  }),
  env_pass: attr(variableNames(), 'Secret variables that the node gets; `*`: all of them.', {
    graph: 'env_pass',
    joined: true,
    example: 'NPM_TOKEN',
  }),
  access: attr(
    word('run', 'run:ro'),
    'Lets the node use the run directory: `run` for the steps of a build, `run:ro` (read-only in a sandbox) to run the product.',
    { unset: 'no access' },
  ),
  sees_holdout: attr(flag(), 'Whether the holdout scenarios are in the workspace while the node runs.', {
    unset: 'true for a tool or verification without `access`; never for agents',
  }),
  sandbox: attr(
    word('auto', 'bwrap', 'none'),
    'Isolation: `auto` uses bubblewrap if it works, `bwrap` requires it.',
    { graph: 'sandbox', default: 'auto', flag: '--sandbox' },
  ),
  sandbox_bind: attr(
    outsidePaths(),
    'Paths outside the workspace that the node sees in the sandbox, read-only or with `:rw`.',
    { graph: 'sandbox_bind', joined: true, example: '~/.m2:rw' },
  ),
  isolation: attr(
    word('auto', 'required'),
    'Whether a holdout scenario may run without a separate sandbox.',
    {
      graph: 'isolation',
      unset: 'auto',
    },
  ),
  floor: attr(
    word(...floorWords),
    'Whether scenarios that pass are also shown products that do nothing: `false` not, `strict` also fails if all passed before the work, `all` shows them to every scenario.',
    { graph: 'floor', unset: 'true', example: 'strict' },
  ),
  strength: attr(count(1), strengthTexts.strength, {
    graph: 'strength',
    unset: 'not measured',
    example: '60',
  }),
  min_strength: attr(fraction(), strengthTexts.min_strength, {
    graph: 'min_strength',
    unset: 'nothing is required',
  }),
  strength_build: attr(text(), strengthTexts.strength_build, {
    graph: 'strength_build',
    unset: 'none',
    example: 'npm run build',
  }),
  strength_budget: attr(duration(), strengthTexts.strength_budget, {
    graph: 'strength_budget',
    default: '10m',
  }),
  network: attr(word('on', 'off'), 'Whether the node has the network.', {
    graph: 'network',
    unset: 'off for verification, on for tools, as declared for agents',
  }),
  max_memory: attr(bytes(leastMemory), 'Address space of each process.', {
    graph: 'max_memory',
    unset: 'no limit',
    example: '4G',
  }),
  max_processes: attr(count(1), 'How many processes the node may have.', {
    graph: 'max_processes',
    unset: '8192',
  }),
  max_file_size: attr(bytes(1), 'The largest file that the node may write.', {
    graph: 'max_file_size',
    unset: '8G',
  }),
} as const satisfies AttributeTable;

/** When a loop through the node counts as stalled. */
const breaker = attr(
  atLeastTwo(),
  'How many equal failures of the node without a change in between stop its loop; 0: never.',
  { graph: 'breaker', unset: '3, with several models one more than those' },
);

/** Attributes of the node types that check the product with commands. */
export const judgingAttributes = {
  judge: attr(flag(), 'The commands decide about the product, as holdout scenarios do.', {
    default: 'false',
  }),
  allow_no_tests: attr(
    flag(),
    'Whether a test runner that ran no test, or whose output has no summary, counts as a success.',
    { default: 'false' },
  ),
  'verification.may_change': attr(
    paths(),
    'Files that the checks of the node may change, of those that they run and that agents wrote.',
    { unset: 'none', example: 'test/golden/' },
  ),
  rerun: attr(flag(), 'Whether a failed scenario is run once more in a clean copy.', { default: 'true' }),
  breaker,
} as const satisfies AttributeTable;

/** Attributes of the type `exit`. */
export const exitAttributes = {
  outcome: attr(word('success', 'fail'), 'A run that reaches this exit has succeeded or failed.', {
    default: 'success',
  }),
} as const satisfies AttributeTable;

/** Attributes of the type `tool`. */
export const toolAttributes = {
  tool_command: attr(
    text(),
    'Shell text, run by `shell` in the workspace; absolute paths and `..` are refused (class `guardrail`), `/tmp`, `~` and `$HOME` only without a sandbox.',
    { unset: 'required', example: 'npm test' },
  ),
  sets_plan: attr(
    flag(),
    'Whether the tool may set the plan of a verification in `$FACTORY_OUTPUT`: every program that it starts can write there, the product too.',
    { default: 'false' },
  ),
  shell: attr(
    shell(),
    'The shell of tool_command with its options. With `bash -eo pipefail` a command fails at its first part that fails, also in a pipe; `head` and `grep -q`, which end early, may then give their writer exit code 141.',
    { graph: 'shell', default: 'sh', example: 'bash -eo pipefail' },
  ),
  needs_setup: attr(
    flag(),
    'Whether the setup commands of the project (`factory.json`) must have succeeded before it, for the lock files as they are; `false` for a tool that repairs lock files or runs before anything can be installed.',
    { default: 'true' },
  ),
} as const satisfies AttributeTable;

const planKey = attr(
  trimmed('a context key'),
  'The context key of the verification plan; on an agent, the key for the plan in its answer.',
  { default: 'verification.plan' },
);

const allowedCommands = attr(
  list(),
  'Prefixes of the commands that may run; `=npm test`: exactly this command; `@plan`: exactly the plan of a tool. On an agent: those that its prompt names.',
  {
    unset: 'required for verification; on an agent, those of the next verification',
    example: 'npm test, node --test',
  },
);

/** Attributes of the type `verification`. */
export const verificationAttributes = {
  'verification.allowed_commands': allowedCommands,
  'verification.plan_context_key': planKey,
  // Existence is checked when the node runs: an earlier node may create the folder.
  'verification.workdir': attr(path(), 'Where the commands run.', { default: '.' }),
} as const satisfies AttributeTable;

const opens = (agent: string) =>
  attr(flag(), `The agent ${agent} may read the holdout scenarios of this node.`, { default: 'false' });

/** Each of them lets a node's agent read the holdout. */
const holdoutAttribute = {
  'codex.allow_read_scenarios': opens('`codex`'),
  'claude.allow_read_scenarios': opens('`claude`'),
  'command.allow_read_scenarios': opens('`command`'),
  'acp.allow_read_scenarios': opens('`acp`'),
  'openai.allow_read_scenarios': opens('`openai`'),
} as const satisfies AttributeTable;

/** The write scope of nodes that only read: nothing, whatever defaults of other nodes say. */
export const writesNothing: AttributeSpec<readonly string[], readonly string[]> = {
  ...executableAttributes.allowed_write_paths,
  does: 'The node changes nothing in the workspace but its response_file; a change is undone, and the node fails (class `guardrail`).',
  unset: 'nothing',
  otherwise: [],
  read: () => ({ ok: true, value: [] }),
};

/** Whether the run must not end before the node has succeeded. */
export const isGoalGate = ({ goal_gate: gate = false }: Partial<NodeSettings>): boolean => gate !== false;

/** Whether the strength of the scenarios that the node runs is measured. */
export const measuresStrength = ({
  strength,
  min_strength: required,
}: Pick<Partial<NodeSettings>, 'strength' | 'min_strength'>): boolean =>
  strength !== undefined || required !== undefined;

/** Whether the node only reads: its scope is empty. */
export const isReadOnly = ({ allowed_write_paths: paths }: Partial<NodeSettings>): boolean =>
  paths?.length === 0;

/** Whether the node lets its agent read the holdout. */
export const mayReadHoldout = ({ settings }: { readonly settings: NodeSettings }): boolean =>
  (Object.keys(holdoutAttribute) as (keyof typeof holdoutAttribute)[]).some((key) => settings[key]);

/** Whether the holdout is in the workspace while a tool runs, if the run has one. Tools with `access` do not see it by default: they
 *  record, compare and restore the part of the workspace that the builder may see. */
export const toolSeesHoldout = ({
  sees_holdout: sees,
  access,
}: Pick<NodeSettings, 'sees_holdout' | 'access'>): boolean => sees ?? access === undefined;

/** Whether it did when these attributes were recorded: a changed pipeline may have others. */
export const couldReadHoldout = (recorded: Readonly<Record<string, string>>): boolean =>
  Object.keys(holdoutAttribute).some((key) => /^\s*(?:1|t|true)\s*$/i.test(own(recorded, key) ?? ''));

/** Attributes of the type `codergen`, whatever agent answers. */
export const codergenAttributes = {
  prompt: attr(
    text(),
    "The task as text, or `@file` relative to the pipeline's file, read at the start of the run.",
    {
      unset: 'the label',
      example: '@prompts/build.md',
    },
  ),
  prompt_file: attr(path(), 'A file of the workspace with the task, read when the node starts.'),
  // False for a prompt that is only data.
  prompt_expand: attr(flag(), 'Whether `${…}` in the prompt is replaced by its value.', { default: 'true' }),
  failure_feedback: attr(flag(), 'Whether the prompt ends with the latest failure.', { default: 'true' }),
  response_file: attr(path(), 'A file of the workspace for the answer; always in the write scope.'),
  response_schema: attr(
    text(),
    'The JSON schema of the answer: `@file`, or `work-plan`, `proposal` or `spec-questions`; it is sent to the model.',
  ),
  response_check: attr(
    word('strict', 'none'),
    '`strict`: an answer that does not match the schema is a failure.',
    { default: 'none' },
  ),
  auto_status: attr(
    flag(),
    'Whether an agent program that ended in order, with prose instead of an outcome, has succeeded; not at a goal gate.',
    { default: 'false' },
  ),
  'agent.backend': attr(trimmed(), 'The agent, or several that are asked in order.', {
    unset: 'see "Agents"',
    flag: '--agent',
    example: 'codex,claude',
  }),
  llm_model: attr(list(), 'The model; of several, each product failure takes the next.', {
    unset: "the agent's own",
    flag: '--model',
    example: 'small,large',
  }),
  llm_provider: attr(
    trimmed('the name of a provider'),
    'The provider of the model: without agent.backend and --agent it chooses the agent, `openai` (or `codex`) or `claude`.',
    { unset: 'none', example: 'anthropic' },
  ),
  reasoning_effort: attr(word(...efforts), 'How much the model may think.', {
    unset: "the agent's own",
    flag: '--effort',
  }),
  max_tokens: attr(
    count(1),
    'How many tokens the model calls of the node may use; also the limit of one session with tools.',
    { unset: 'no limit', example: '200000' },
  ),
  'verification.allowed_commands': allowedCommands,
  fidelity: attr(word(...fidelities), 'What the agent is given of the run besides its prompt.', {
    graph: 'default_fidelity',
    flag: '--fidelity',
    unset: 'nothing',
    example: 'compact',
  }),
  thread_id: attr(trimmed(), 'The conversation that `fidelity=full` continues.', {
    unset: 'that of the edge, of the graph, of the subgraph, of the previous node',
  }),
  uses_reserve: attr(flag(), 'The node may use the budget that verify_reserve keeps.', { default: 'false' }),
  read_scope: attr(paths(), 'The only paths of the workspace that the agent sees.', { unset: 'everything' }),
  'verification.plan_context_key': planKey,
  breaker,
  stall_timeout: attr(duration(), 'An agent without any output for this long is stopped.', {
    graph: 'stall_timeout',
    unset: 'never',
  }),
  max_same_calls: attr(
    count(),
    'An agent that repeats the same call this often without a change in the workspace is stopped; 0: never.',
    { graph: 'max_same_calls', default: '10' },
  ),
  ...holdoutAttribute,
} as const satisfies AttributeTable;

/** All attributes of this file: the settings that every node has, those of other types with their defaults. */
export const nodeAttributes = {
  ...humanAttributes,
  ...fanOutAttributes,
  ...joinAttributes,
  ...forEachAttributes,
  ...subgraphAttributes,
  ...managerAttributes,
  ...commonAttributes,
  ...executableAttributes,
  ...judgingAttributes,
  ...exitAttributes,
  ...toolAttributes,
  ...verificationAttributes,
  ...codergenAttributes,
} as const satisfies AttributeTable;

/** The settings of a node: its own, else those of the graph, else the defaults. */
export type NodeSettings = Settings<typeof nodeAttributes>;
