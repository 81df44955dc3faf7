/** What a node and the environment say about the agent `command`: attributes first, then `FACTORY_COMMAND_*`. */
import { homedir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import type { AgentTask } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import { own } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import {
  type AttributeTable,
  anyPath,
  attr,
  duration,
  list,
  paths,
  text,
  trimmed,
  word,
} from '../core/settings/types.ts';
import {
  BadSetting,
  type GivenText,
  given,
  listedEntries,
  oneOf,
  type ProgramSettings,
  programSettings,
  settingSource,
  settingsOr,
  wordsIn,
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
  'command.workdir': attr(anyPath(), 'Its working directory; may be absolute.', { unset: 'the workspace' }),
  'command.model': attr(trimmed(), 'The model in `{model}`.', { unset: 'llm_model' }),
  'command.env_keys': attr(list(), 'Secret variables that it gets.', { example: 'GEMINI_API_KEY' }),
  'command.home': attr(list(), 'Paths outside the workspace that it needs, writable or with `:ro`.', {
    example: '~/.config/agent, ~/.cache/agent:ro',
  }),
  'command.timeout': attr(
    duration(),
    "How long it may take; replaces the default timeout of the node, not the node's own.",
  ),
  'command.heartbeat': attr(duration(), 'The interval of log records while it runs.', { unset: '15s' }),
  'command.block_read_paths': attr(paths(), 'Paths of the workspace that the agent cannot read.'),
} as const satisfies AttributeTable;

export type CommandSettings = ProgramSettings & {
  /** The words after the program, placeholders filled in. */
  readonly args: readonly string[];
  readonly promptVia: 'stdin' | 'file' | 'arg';
  /** `auto`: the response file where the program wrote one, else its standard output. */
  readonly responseVia: 'auto' | 'file' | 'stdout' | 'none';
  /** `auto`: an answer that gives an outcome is that, anything else is text. */
  readonly responseFormat: 'auto' | 'json' | 'text' | 'outcome';
  readonly home: readonly { readonly path: string; readonly write: boolean }[];
  readonly network: boolean;
};

export type CommandDefaults = {
  readonly env: Environment;
  /** `--model`. */
  readonly model?: string;
};

/** Where what the program is given and gives lies, absolute. */
export type CommandFiles = Readonly<Record<'prompt' | 'response' | 'schema' | 'usage', string>>;

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

type Task = Pick<AgentTask, 'attributes' | 'workspace' | 'nodeDir' | 'prompt' | 'expand'>;

/** Everything, or what is wrong and where. Pure. `prompt` is the text that the program gets. */
export const readCommandSettings = (
  task: Task,
  files: CommandFiles,
  defaults: CommandDefaults,
): { readonly settings: CommandSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const source = settingSource('command', 'FACTORY_COMMAND', task, defaults.env);
    const { attribute, variable, setting } = source;
    // These are so common that they may be written without the prefix.
    const plain = (name: string) => attribute(`command.${name}`) ?? attribute(name) ?? variable(name);
    const run = setting('run');
    if (run === undefined)
      throw new BadSetting(
        'command.run is missing: the agent "command" needs a program, e.g. ' +
          'command.run="my-agent --prompt-file {prompt_file}" on the node (or FACTORY_COMMAND_RUN)',
      );
    const [program, ...words] = wordsIn(run);
    if (program === undefined || program === '') throw new BadSetting(`${run.from} names no program`);
    const named = new Set(words.flatMap((word) => placeholdersIn(word, run.from)));
    const common = programSettings(source, { text: program, from: run.from }, defaults);
    if (named.has('model') && common.model === undefined)
      throw new BadSetting(
        `${run.from} has {model}, and no model is named: set llm_model on the node or pass --model`,
      );
    const byPlaceholder = named.has('prompt') ? 'arg' : named.has('prompt_file') ? 'file' : 'stdin';
    const promptVia = oneOf(plain('prompt_via'), ['stdin', 'file', 'arg'], byPlaceholder);
    if (promptVia === 'arg' || named.has('prompt')) checkArgument(task.prompt);
    const args = argsOf(words, run.from, common.model, task, files);
    const isAppended = promptVia === 'arg' && !named.has('prompt');
    return {
      ...common,
      args: isAppended ? [...args, argumentOf(task.prompt)] : args,
      promptVia,
      responseVia: oneOf(
        plain('response_via'),
        ['auto', 'file', 'stdout', 'none'],
        named.has('response_file') ? 'file' : 'auto',
      ),
      responseFormat: oneOf(plain('response_format'), ['auto', 'json', 'text', 'outcome'], 'auto'),
      home: listedEntries(setting('home')).map((one) => homePlace(one, defaults.env)),
      network: oneOf(attribute('network'), ['on', 'off'], 'on') === 'on',
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
    const said = expand?.(text) ?? { text };
    if ('unknown' in said) throw new BadSetting(`${from} names ${said.unknown}, which has no value`);
    return said.text;
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

/** `path` or `path:ro`; `~/` is the user's home. */
function homePlace(
  { text, from }: GivenText,
  env: CommandDefaults['env'],
): { readonly path: string; readonly write: boolean } {
  const write = !text.endsWith(':ro');
  const path = text.replace(/:(?:ro|rw)$/, '');
  const user = given(env['HOME'], 'HOME')?.text ?? homedir();
  const whole = path === '~' ? user : path.startsWith('~/') ? join(user, path.slice(2)) : path;
  if (!isAbsolute(whole) || whole.includes('..'))
    throw new BadSetting(`${from}: "${text}" is neither absolute nor below "~/", or has ".."`);
  return { path: normalize(whole), write };
}
