/** What a node and the environment say about the agent `command`: attributes first, then `FACTORY_COMMAND_*`. */
import type { AgentTask } from '../core/contracts/agent.ts';
import { own } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import type { NodeSettings } from '../core/settings/node.ts';
import { type AttributeTable, attr, type Settings, text, word } from '../core/settings/types.ts';
import { programAttributes } from './program/attributes.ts';
import type { ResponseFormat } from './program/free-answer.ts';
import {
  BadSetting,
  commandIn,
  homePlace,
  type ProgramDefaults,
  type ProgramSettings,
  programSettings,
  readSettings,
  type SettingsTask,
  settingsOr,
} from './program/settings.ts';

const promptVia = attr(
  word('stdin', 'file', 'arg'),
  'How the program gets the prompt: `arg` is at `{prompt}`, else the last argument.',
  { unset: 'by the placeholder in command.run, else stdin' },
);
const responseVia = attr(
  word('auto', 'file', 'stdout', 'none'),
  'Where its answer is; `none`: exit code 0 is success, `auto`: the response file if there is one, else standard output.',
  { unset: 'file if command.run has {response_file}, else auto' },
);
const responseFormat = attr(
  word('auto', 'json', 'text', 'outcome'),
  'How its answer is read: `json` by the schema that the prompt then asks for, `text` unchanged, `outcome` by its first line, `auto` by what it looks like.',
  { unset: 'auto' },
);

export const commandAttributes = {
  'command.run': attr(text(), 'The program and its arguments, split into words without a shell.', {
    example: 'my-agent --prompt {prompt_file} --out {response_file}',
  }),
  prompt_via: promptVia,
  'command.prompt_via': promptVia,
  response_via: responseVia,
  'command.response_via': responseVia,
  response_format: responseFormat,
  'command.response_format': responseFormat,
  ...programAttributes('command', { model: 'The model in `{model}`.' }),
} as const satisfies AttributeTable;

export type CommandSettings = ProgramSettings & {
  /** The words after the program, placeholders filled in. */
  readonly args: readonly string[];
  readonly promptVia: 'stdin' | 'file' | 'arg';
  /** `auto`: the response file where the program wrote one, else its standard output. */
  readonly responseVia: 'auto' | 'file' | 'stdout' | 'none';
  readonly responseFormat: ResponseFormat;
  readonly home: readonly { readonly path: string; readonly write: boolean }[];
  readonly network: boolean;
};

/** Where what the program is given and gives lies, absolute. */
export type CommandFiles = Readonly<Record<'prompt' | 'response' | 'schema' | 'usage' | 'session', string>>;

/** Linux takes no longer word on a command line. */
const longestWord = 128 * 1024 - 1;

const placeholders = [
  'prompt',
  'prompt_file',
  'response_file',
  'schema_file',
  'usage_file',
  'workspace',
  'node_dir',
  'model',
] as const;
type Placeholder = (typeof placeholders)[number];

const placeholder = /(?<!\$)\{([a-z_]+)\}/g;

type Task = SettingsTask & Pick<AgentTask, 'nodeDir' | 'prompt' | 'expand'>;

/** Everything, or what is wrong and where. Pure. `prompt` is the text that the program gets. */
export const readCommandSettings = (
  task: Task,
  files: CommandFiles,
  defaults: ProgramDefaults,
): { readonly settings: CommandSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const { values, from } = readSettings(
      ['command', commandAttributes, 'FACTORY_COMMAND'],
      task,
      defaults.env,
    );
    if (values.run === undefined)
      throw new BadSetting(
        'command.run is missing: the agent "command" needs a program, e.g. ' +
          'command.run="my-agent --prompt-file {prompt_file}" on the node (or FACTORY_COMMAND_RUN)',
      );
    const run = from('run');
    const { path, words } = commandIn(values.run, run);
    const named = new Set(words.flatMap((word) => placeholdersIn(word, run)));
    const common = programSettings('command', { values: { ...values, path }, from }, task, defaults);
    if (named.has('model') && common.model === undefined)
      throw new BadSetting(
        `${run} has {model}, and no model is named: set llm_model on the node or pass --model`,
      );
    // These are so common that they may be written without the prefix.
    const ofNode: Partial<NodeSettings & Settings<typeof commandAttributes>> = task.settings;
    const plain = <K extends 'prompt_via' | 'response_via' | 'response_format'>(name: K) =>
      ofNode[`command.${name}`] ?? ofNode[name] ?? values[name];
    const byPlaceholder = named.has('prompt') ? 'arg' : named.has('prompt_file') ? 'file' : 'stdin';
    const promptVia = plain('prompt_via') ?? byPlaceholder;
    if (promptVia === 'arg' || named.has('prompt')) checkArgument(task.prompt);
    const args = argsOf(words, run, common.model, task, files);
    const isAppended = promptVia === 'arg' && !named.has('prompt');
    return {
      ...common,
      args: isAppended ? [...args, argumentOf(task.prompt)] : args,
      promptVia,
      responseVia: plain('response_via') ?? (named.has('response_file') ? 'file' : 'auto'),
      responseFormat: plain('response_format') ?? 'auto',
      home: (values.home ?? []).map((one) => homePlace(one, from('home'), defaults.env)),
      network: task.settings.network !== 'off',
    };
  });

function checkArgument(prompt: string): void {
  if (Buffer.byteLength(prompt) > longestWord)
    throw new BadSetting(
      `the prompt has ${Buffer.byteLength(prompt)} bytes, which is more than fits into an argument: ` +
        'give it with prompt_via=stdin or prompt_via=file',
    );
  if (prompt.includes('\0'))
    throw new BadSetting(
      'the prompt has a NUL byte, which no argument can have: give it with prompt_via=stdin or prompt_via=file',
    );
}

const argumentOf = (prompt: string): string => prompt.replace(/\n$/, '');

/** The words with placeholders filled in, all at once: nothing in a value is taken for a placeholder. */
function argsOf(
  words: readonly string[],
  from: string,
  model: string | undefined,
  { prompt, workspace, nodeDir, expand }: Task,
  files: CommandFiles,
): readonly string[] {
  const values: Readonly<Record<Placeholder, string>> = {
    prompt: argumentOf(prompt),
    prompt_file: files.prompt,
    response_file: files.response,
    schema_file: files.schema,
    usage_file: files.usage,
    workspace,
    node_dir: nodeDir,
    model: model ?? '',
  };
  const expanded = (text: string): string => {
    const expanded = expand?.(text) ?? { text };
    if ('unknown' in expanded) throw new BadSetting(`${from} names ${expanded.unknown}, which has no value`);
    return expanded.text;
  };
  return words.map((word) =>
    word
      .split(placeholder)
      .map((part, i) => (i % 2 === 0 ? expanded(part) : (own(values, part) ?? `{${part}}`)))
      .join(''),
  );
}

/** Those that a word has. One that is nearly a known one is a slip; any other braces are the program's own. */
function placeholdersIn(word: string, from: string): readonly Placeholder[] {
  const found: Placeholder[] = [];
  for (const [, name = ''] of word.matchAll(placeholder)) {
    const known = placeholders.find((one) => one === name);
    if (known !== undefined) {
      found.push(known);
      continue;
    }
    const near = nearest(name, placeholders);
    if (near !== undefined) throw new BadSetting(`${from} has {${name}}: did you mean {${near}}?`);
  }
  return found;
}
