/** Reads what a node and the environment say about an agent's program: attributes first, then variables. */
import { homedir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import type { AgentPlace, AgentProgramName, AgentTask } from '../../core/contracts/agent.ts';
import type { Environment } from '../../core/contracts/process.ts';
import { splitWords } from '../../core/policy/words.ts';
import type { AttributeSpec, AttributeTable, Settings } from '../../core/settings/types.ts';

/** What is wrong and where; thrown while settings are read, and caught by `settingsOr`. */
export class BadSetting extends Error {}

/** Settings that all agent programs have. */
export type ProgramSettings = {
  /** As configured, and absolute unless it is a name to be searched on PATH. */
  readonly executable: { readonly configured: string; readonly path: string };
  /** Where it starts, absolute. */
  readonly workdir: string;
  readonly model: string | undefined;
  readonly effort: string | undefined;
  /** Further names of variables that hold its keys. */
  readonly envKeys: readonly string[];
  /** Paths that it must not read, relative to the workspace. */
  readonly hidden: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number;
};

/** What counts where the node is silent: `model` and `effort` are the flags'. */
export type ProgramDefaults = {
  readonly env: Environment;
  readonly model?: string;
  readonly effort?: string;
};

/** What decides about an agent's settings. */
export type SettingsTask = Pick<AgentTask, 'settings' | 'model' | 'workspace'>;

/** What a node says about its agent, else what the variables say that stand for its attributes, by the attributes' names
 *  without the agent's. */
type AgentValues<T extends AttributeTable, A extends string> = {
  readonly values: {
    readonly [K in keyof T as K extends `${A}.${infer Name}` ? Name : never]: Settings<T>[K] | undefined;
  };
  /** The attribute or variable that says it, for messages. */
  from(name: string): string;
};

/** `prefix`: of its variables, such as `FACTORY_CLAUDE`. */
export function readSettings<T extends AttributeTable, A extends string>(
  [agent, table, prefix]: readonly [A, T, string],
  { settings }: Pick<AgentTask, 'settings'>,
  env: Environment,
): AgentValues<T, A> {
  const ofNode: Readonly<Record<string, unknown>> = settings;
  const values: Record<string, unknown> = {};
  const variables = new Map<string, string>();
  for (const [key, spec] of Object.entries(table)) {
    if (!key.startsWith(`${agent}.`)) continue;
    const name = key.slice(agent.length + 1);
    const variable = `${prefix}_${name.toUpperCase()}`;
    values[name] = ofNode[key];
    const text = env[variable]?.trim() ?? '';
    // A default, and a time of 0, say nothing.
    const isSet = values[name] !== spec.otherwise && values[name] !== undefined && values[name] !== 0;
    if (isSet || text === '') continue;
    values[name] = readVariable(variable, text, spec);
    variables.set(name, variable);
  }
  return {
    values: values as AgentValues<T, A>['values'],
    from: (name) => variables.get(name) ?? `${agent}.${name}`,
  };
}

function readVariable(variable: string, text: string, spec: AttributeSpec): unknown {
  const written = spec.read({ kind: 'string', text });
  // A variable may say yes and no as well.
  const isYes = /^yes$/i.test(text);
  const isWord = !written.ok && (isYes || /^no$/i.test(text));
  const read = isWord ? spec.read({ kind: 'boolean', text, value: isYes }) : written;
  if (read.ok) return read.value;
  throw new BadSetting(
    read.why.startsWith('"')
      ? `${variable}: ${read.why}`
      : `${variable} is "${text}", which ${read.why}: it takes ${spec.wants}`,
  );
}

/** What all agent programs are asked for. */
type Common = {
  readonly path: string;
  readonly workdir: string | undefined;
  readonly model: string | undefined;
  readonly env_keys: readonly string[] | undefined;
  readonly block_read_paths: readonly string[] | undefined;
  /** Milliseconds; 0 for nothing said. */
  readonly timeout: number | undefined;
  readonly heartbeat: number | undefined;
};

export function programSettings(
  agent: AgentProgramName,
  { values, from }: { readonly values: Common; from(name: string): string },
  { settings, model, workspace }: SettingsTask,
  { env, ...flags }: ProgramDefaults,
): ProgramSettings {
  const { path, workdir } = values;
  const ofNode = from('model') === `${agent}.model` ? values.model : undefined;
  return {
    executable: { configured: path, path: /\/|\.\./.test(path) ? pathIn(workspace, path) : path },
    workdir: workdir === undefined ? workspace : pathIn(workspace, workdir).replace(/(?<=.)\/+$/, ''),
    model: ofNode ?? model ?? flags.model ?? values.model ?? given(env['FACTORY_MODEL']),
    effort: settings.reasoning_effort ?? flags.effort ?? given(env['FACTORY_EFFORT']),
    envKeys: (values.env_keys ?? []).map((name) => {
      if (!/^[A-Za-z_]\w*$/.test(name))
        throw new BadSetting(`${from('env_keys')}: "${name}" is no name of a variable`);
      return name;
    }),
    hidden: [
      ...(settings[`${agent}.allow_read_scenarios`] === true ? [] : [scenarios]),
      ...(values.block_read_paths ?? []).map((path) => hiddenPath(path, from('block_read_paths'))),
    ],
    timeoutMs: values.timeout || undefined,
    heartbeatMs: values.heartbeat || 15_000,
  };
}

/** Hidden from agents unless the node allows it. */
const scenarios = 'scripts/scenarios/';

/** What `read` returns, or the message of the `BadSetting` that it threw. */
export function settingsOr<T>(read: () => T): { readonly settings: T } | { readonly problem: string } {
  try {
    return { settings: read() };
  } catch (error) {
    if (error instanceof BadSetting) return { problem: error.message };
    throw error;
  }
}

/** Undefined for a text that is missing or blank. */
export const given = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** An absolute path, or one relative to the workspace made absolute. */
export const pathIn = (workspace: string, path: string): string =>
  isAbsolute(path) ? normalize(path) : join(workspace, path);

function hiddenPath(path: string, from: string): string {
  if (path.includes('~')) throw new BadSetting(`${from}: "${path}" is not inside the workspace: no "~"`);
  if (/^[./]*$/.test(path)) throw new BadSetting(`${from}: "${path}" is the whole workspace`);
  return path;
}

/** The words of a command line, split without a shell. */
export function wordsIn(text: string, from: string): readonly string[] {
  const split = splitWords(text);
  if ('problem' in split) throw new BadSetting(`${from}: ${split.problem} (at character ${split.at + 1})`);
  return split.words;
}

/** The program that a command line names, and the words after it. */
export function commandIn(
  text: string,
  from: string,
): { readonly path: string; readonly words: readonly string[] } {
  const [path, ...words] = wordsIn(text, from);
  if (path === undefined || path === '') throw new BadSetting(`${from} names no program`);
  if (/\.\.|\/.*~|~.*\//.test(path)) throw new BadSetting(`${from}: "${path}" may have neither "~" nor ".."`);
  return { path, words };
}

/** The user's home. */
export const userHome = (env: Environment): string => given(env['HOME']) ?? homedir();

/** `path` or `path:ro`; `~/` is the user's home. */
export function homePlace(text: string, from: string, env: Environment): AgentPlace {
  const write = !text.endsWith(':ro');
  const path = text.replace(/:(?:ro|rw)$/, '');
  const user = userHome(env);
  const whole = path === '~' ? user : path.startsWith('~/') ? join(user, path.slice(2)) : path;
  if (!isAbsolute(whole) || whole.includes('..'))
    throw new BadSetting(`${from}: "${text}" is neither absolute nor below "~/", or has ".."`);
  return { path: normalize(whole), write };
}
