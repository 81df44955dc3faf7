/** What a node and the environment say about the agent `command`: attributes first, then `FACTORY_COMMAND_*`. */
import { homedir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import { nearest } from '../../model/nearest.ts';
import { own } from '../../model/own.ts';
import { splitWords } from '../../policy/words.ts';
import type { AgentTask } from '../agent.ts';
import {
  Bad,
  blocked,
  type Given,
  given,
  isTrue,
  listed,
  oneOf,
  pathIn,
  scenarios,
  settingsOr,
  time,
  variableName,
} from '../program/words.ts';

export type CommandSettings = {
  /** The program as it was written, and absolute unless it is a name to be searched on PATH. */
  readonly executable: { readonly configured: string; readonly path: string };
  /** The words after it, placeholders filled in. */
  readonly args: readonly string[];
  /** Where it starts, absolute. */
  readonly workdir: string;
  readonly model: string | undefined;
  readonly promptVia: 'stdin' | 'file' | 'arg';
  /** `auto`: the response file where the program wrote one, else its standard output. */
  readonly responseVia: 'auto' | 'file' | 'stdout' | 'none';
  /** `auto`: a JSON object with an `outcome` is that, anything else is text. */
  readonly responseFormat: 'auto' | 'json' | 'text' | 'outcome';
  readonly envKeys: readonly string[];
  readonly home: readonly { readonly path: string; readonly write: boolean }[];
  readonly network: boolean;
  /** Relative to the workspace. */
  readonly hidden: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number;
};

export type CommandDefaults = {
  readonly env: Readonly<Record<string, string | undefined>>;
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

/** Everything, or what is wrong and where. Pure. `prompt` is the text that the program is to be given. */
export const readSettings = (
  task: Pick<AgentTask, 'attributes' | 'workspace' | 'nodeDir' | 'prompt' | 'expand'>,
  files: CommandFiles,
  defaults: CommandDefaults,
): { readonly settings: CommandSettings } | { readonly problem: string } =>
  settingsOr(() => read(task, files, defaults));

function read(
  { attributes, workspace, nodeDir, prompt, expand }: Parameters<typeof readSettings>[0],
  files: CommandFiles,
  { env, model: flag }: CommandDefaults,
): CommandSettings {
  const attribute = (name: string): Given | undefined => given(own(attributes, name), name);
  const variable = (name: string): Given | undefined => {
    const from = `FACTORY_COMMAND_${name.toUpperCase()}`;
    return given(env[from], from);
  };
  const either = (name: string): Given | undefined => attribute(`command.${name}`) ?? variable(name);
  // These are so common that they may be said without the prefix.
  const plain = (name: string): Given | undefined =>
    attribute(`command.${name}`) ?? attribute(name) ?? variable(name);

  const run = either('run');
  if (run === undefined) {
    throw new Bad(
      'command.run is missing: the agent "command" needs to be told its program, e.g. ' +
        'command.run="my-agent --prompt-file {prompt_file}" on the node (or FACTORY_COMMAND_RUN)',
    );
  }
  const split = splitWords(run.text);
  if ('problem' in split) throw new Bad(`${run.from}: ${split.problem} (at character ${split.at + 1})`);
  const [program, ...words] = split.words;
  if (program === undefined || program === '') throw new Bad(`${run.from} names no program`);
  const named = new Set(words.flatMap((word) => placeholdersIn(word, run.from)));

  const model =
    attribute('command.model')?.text ??
    attribute('llm_model')?.text ??
    flag ??
    variable('model')?.text ??
    given(env['FACTORY_MODEL'], 'FACTORY_MODEL')?.text;
  if (named.has('model') && model === undefined)
    throw new Bad(
      `${run.from} has {model}, and no model is named: set llm_model on the node or pass --model`,
    );
  const promptVia = oneOf(
    plain('prompt_via'),
    ['stdin', 'file', 'arg'],
    named.has('prompt') ? 'arg' : named.has('prompt_file') ? 'file' : 'stdin',
  );
  const asArgument = promptVia === 'arg' || named.has('prompt');
  if (asArgument && Buffer.byteLength(prompt) > longestWord) {
    throw new Bad(
      `the prompt has ${Buffer.byteLength(prompt)} bytes, which is more than fits into an argument: ` +
        'give it with prompt_via=stdin or prompt_via=file',
    );
  }
  if (asArgument && prompt.includes('\0')) {
    throw new Bad(
      'the prompt has a NUL byte, which no argument can have: give it with prompt_via=stdin or prompt_via=file',
    );
  }
  const argument = prompt.replace(/\n$/, '');
  const values: Readonly<Record<Placeholder, string>> = {
    prompt: argument,
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
    if ('unknown' in said) throw new Bad(`${run.from} names ${said.unknown}, which has no value`);
    return said.text;
  };
  // In one go, so that nothing in a value is taken for a placeholder.
  const args = words.map((word) =>
    word
      .split(placeholder)
      .map((part, i) => (i % 2 === 0 ? expanded(part) : (own(values, part) ?? `{${part}}`)))
      .join(''),
  );
  const executable: Given = { text: program, from: run.from };
  const workdir = either('workdir');
  return {
    executable: {
      configured: program,
      path: program.includes('/') || program.includes('..') ? pathIn(workspace, executable) : program,
    },
    args: promptVia === 'arg' && !named.has('prompt') ? [...args, argument] : args,
    workdir: workdir === undefined ? workspace : pathIn(workspace, workdir).replace(/(?<=.)\/+$/, ''),
    model,
    promptVia,
    responseVia: oneOf(
      plain('response_via'),
      ['auto', 'file', 'stdout', 'none'],
      named.has('response_file') ? 'file' : 'auto',
    ),
    responseFormat: oneOf(plain('response_format'), ['auto', 'json', 'text', 'outcome'], 'auto'),
    envKeys: listed(either('env_keys')).map(variableName),
    home: listed(either('home')).map((one) => homePlace(one, env)),
    network: oneOf(attribute('network'), ['on', 'off'], 'on') === 'on',
    hidden: [
      ...(isTrue(attribute('command.allow_read_scenarios')) ? [] : [scenarios]),
      ...listed(either('block_read_paths')).map(blocked),
    ],
    timeoutMs: time(either('timeout')),
    heartbeatMs: time(either('heartbeat')) ?? 15_000,
  };
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
    if (near !== undefined) throw new Bad(`${from} has {${name}}: did you mean {${near}}?`);
  }
  return found;
}

/** `path` or `path:ro`; `~/` is the user's home. */
function homePlace(
  { text, from }: Given,
  env: CommandDefaults['env'],
): { readonly path: string; readonly write: boolean } {
  const write = !text.endsWith(':ro');
  const path = text.replace(/:(?:ro|rw)$/, '');
  const user = given(env['HOME'], 'HOME')?.text ?? homedir();
  const whole = path === '~' ? user : path.startsWith('~/') ? join(user, path.slice(2)) : path;
  if (!isAbsolute(whole) || whole.includes('..'))
    throw new Bad(`${from}: "${text}" is neither absolute nor below "~/", or has ".."`);
  return { path: normalize(whole), write };
}
